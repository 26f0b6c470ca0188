"""UNION ALL over rows that were there before loses some of them."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a INTEGER, b INTEGER)")
db.execute("INSERT INTO r VALUES (1, 1), (2, 1)")
QUERY = "SELECT a FROM r UNION ALL SELECT b FROM r"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
