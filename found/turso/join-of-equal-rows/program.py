"""A join of tables with equal rows has one row instead of all pairs."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a INTEGER, b INTEGER)")
db.execute("CREATE TABLE s (a INTEGER)")
QUERY = "SELECT r.a AS a FROM r JOIN s ON r.a = s.a"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
db.execute("INSERT INTO r VALUES (1, 1), (1, 1)")
db.execute("INSERT INTO s VALUES (1), (1)")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
