"""A toy engine of about 25 lines: dynamic tables on DuckDB, computed anew when their sources have changed."""

from __future__ import annotations

import duckdb

from dvs import Adapter, Capabilities, Dialect


class Toy(Adapter):
    """Its bug: it treats its sources as unchanged when the number of rows is the same as before."""

    capabilities = Capabilities(dialect=Dialect.DUCKDB)

    def __init__(self):
        # DuckDB 2.0.0 has a bug of its own in this optimizer.
        self.db = duckdb.connect(config={"disabled_optimizers": "statistics_propagation", "threads": 1})
        self.base, self.queries, self.seen = [], {}, {}

    def create_table(self, table, sql):
        self.db.execute(sql)
        self.base.append(table.name)

    def create_view(self, name, query):
        self.db.execute(f"CREATE VIEW {name} AS {query}")

    def create_dynamic_table(self, table, query):
        self.db.execute(f"CREATE TABLE {table.name} AS SELECT * FROM ({query}) LIMIT 0")
        self.queries[table.name] = query

    def commit(self, transaction):
        for statement in transaction.sql:
            self.db.execute(statement)

    def state(self):
        return [len(self.db.execute(f"FROM {name}").fetchall()) for name in self.base]

    def refresh(self, table, timestamp):
        if self.seen.get(table) != self.state():
            self.db.execute(f"DELETE FROM {table}")
            self.db.execute(f"INSERT INTO {table} {self.queries[table]}")
            self.seen[table] = self.state()

    def rows(self, name, columns):
        return self.db.execute(f"FROM {name}").fetchall()


class MendedToy(Toy):
    """The same with the whole contents as the state."""

    def state(self):
        return [sorted(map(str, self.db.execute(f"FROM {name}").fetchall())) for name in self.base]
