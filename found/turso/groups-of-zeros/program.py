"""GROUP BY and DISTINCT tell -0.0 from 0.0, which are equal."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a REAL)")
QUERY = "SELECT a, COUNT(*) AS n FROM r GROUP BY a"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
db.execute("INSERT INTO r VALUES (0.0), (-0.0)")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
