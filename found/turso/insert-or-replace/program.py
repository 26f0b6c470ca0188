"""A row that INSERT OR REPLACE has replaced is missing."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a INTEGER PRIMARY KEY, b INTEGER)")
QUERY = "SELECT a, b FROM r"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
db.execute("INSERT INTO r VALUES (1, 1)")
db.execute("INSERT OR REPLACE INTO r VALUES (1, 2)")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
