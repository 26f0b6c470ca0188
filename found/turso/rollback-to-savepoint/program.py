"""What ROLLBACK TO a savepoint has undone stays in the view."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None).cursor()
db.execute("CREATE TABLE r (a INTEGER, b INTEGER)")
QUERY = "SELECT a FROM r"
db.execute(f"CREATE MATERIALIZED VIEW v AS {QUERY}")
db.execute("BEGIN")
db.execute("SAVEPOINT x")
db.execute("INSERT INTO r VALUES (1, 1)")
db.execute("ROLLBACK TO x")
db.execute("COMMIT")
print("seen:", sorted(db.execute("SELECT * FROM v").fetchall(), key=repr))
print("expected:", sorted(db.execute(QUERY).fetchall(), key=repr))
