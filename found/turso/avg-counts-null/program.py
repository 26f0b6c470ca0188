"""AVG divides by the number of all rows, those with NULL among them."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a INTEGER, b INTEGER)")
QUERY = "SELECT b, AVG(a) AS x FROM r GROUP BY b"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
db.execute("INSERT INTO r VALUES (1, 1), (2, 1), (NULL, 1)")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
