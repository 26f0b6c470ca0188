"""WHERE over a join reads the column of that name in the first table, whichever table is named."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (k INTEGER, a INTEGER)")
db.execute("CREATE TABLE s (k INTEGER, a INTEGER)")
QUERY = "SELECT r.k AS x, s.k AS y FROM r JOIN s ON r.a = s.a WHERE s.k > 2"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
db.execute("INSERT INTO r VALUES (1, 5)")
db.execute("INSERT INTO s VALUES (3, 5)")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
