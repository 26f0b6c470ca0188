"""COUNT(a) counts rows whose a is NULL."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a INTEGER, b INTEGER)")
QUERY = "SELECT b, COUNT(a) AS n FROM r GROUP BY b"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
db.execute("INSERT INTO r VALUES (1, 1), (NULL, 1)")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
