"""The first COMMIT after a database with a view is opened says that there is no transaction."""

import tempfile

import turso

MADE = ("CREATE TABLE r (a INT)", "CREATE MATERIALIZED VIEW v AS SELECT a FROM r")
seen = "committed"
with tempfile.TemporaryDirectory() as folder:
    for texts in (MADE, ("BEGIN", "INSERT INTO r VALUES (1)", "COMMIT")):
        database = turso.connect(f"{folder}/db", experimental_features="views", isolation_level=None)
        try:
            for text in texts:
                database.cursor().execute(text)
        except turso.Error as error:
            seen = str(error)
        database.close()
print("seen:", seen)
print("expected: committed")
