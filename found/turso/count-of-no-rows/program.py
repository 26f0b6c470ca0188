"""COUNT(*) without GROUP BY has no row where the table has none."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a INTEGER, b INTEGER)")
QUERY = "SELECT COUNT(*) AS n FROM r"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
