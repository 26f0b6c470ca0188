"""After a ROLLBACK on a database with a view, the next COMMIT says that there is no transaction."""

import turso

db = turso.connect(":memory:", experimental_features="views", isolation_level=None)
db.cursor().execute("CREATE TABLE r (a INTEGER)")
db.cursor().execute("CREATE MATERIALIZED VIEW v AS SELECT a FROM r")
seen = "committed"
for end in ("ROLLBACK", "COMMIT"):
    for text in ("BEGIN", "INSERT INTO r VALUES (1)", end):
        try:
            db.cursor().execute(text)
        except turso.Error as error:
            seen = str(error)
print("seen:", seen)
print("expected: committed")
