"""Base tables of an engine without DML: DuckDB keeps them, and says what a transaction changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from engines.adapter import Transaction
from engines.others.duckdb_databases import Database
from workload.schema import Table
from workload.types import Row


class BaseTables:
    """The base tables of one database, as bags. `held`: the rows of each, as read after its last change."""

    def __init__(self) -> None:
        self.database = Database()
        self.database.connection.execute("PRAGMA disable_optimizer")
        self.tables: dict[str, Table] = {}
        self.held: dict[str, list[Row]] = {}

    def create(self, table: Table, sql: str) -> None:
        """Creates an empty table; `sql` is its statement in DuckDB's dialect."""
        self.database.connection.execute(sql)
        self.tables[table.name], self.held[table.name] = table, []

    def commit(self, transaction: Transaction) -> Mapping[str, Counter[Row]]:
        """Applies a transaction; returns how many copies of each row came (or, below 0, went), by table."""
        self.database.connection.execute("; ".join(("BEGIN", *transaction.sql, "COMMIT")))
        changes = {}
        for name in dict.fromkeys(statement.table for statement in transaction.statements):
            before = self.bag(name)
            # Its columns have the types of the table: nothing has to be cast.
            self.held[name] = self.database.connection.execute(f"FROM {name}").fetchall()
            changes[name] = self.bag(name)
            changes[name].subtract(before)
        return changes

    def bag(self, name: str) -> Counter[Row]:
        """Returns the rows of a table with their numbers of copies."""
        return Counter(self.held[name])
