"""Base tables of an engine without DML: DuckDB keeps them, and says what a transaction changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import duckdb

from engines.adapter import Transaction
from workload.schema import Column, Table
from workload.sql import Dialect, column_name, type_name
from workload.types import Row


class BaseTables:
    """The base tables of one database, as bags."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("PRAGMA disable_optimizer")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.tables: dict[str, Table] = {}

    def create(self, table: Table, sql: str) -> None:
        """Creates an empty table; `sql` is its statement in DuckDB's dialect."""
        self.connection.execute(sql)
        self.tables[table.name] = table

    def commit(self, transaction: Transaction) -> Mapping[str, Counter[Row]]:
        """Applies a transaction; returns how many copies of each row came (or, below 0, went), by table."""
        names = dict.fromkeys(statement.table for statement in transaction.statements)
        before = {name: self.bag(name) for name in names}
        self.connection.execute("BEGIN")
        for text in transaction.sql:
            self.connection.execute(text)
        self.connection.execute("COMMIT")
        changes = {}
        for name in names:
            changes[name] = self.bag(name)
            changes[name].subtract(before[name])
        return changes

    def bag(self, name: str) -> Counter[Row]:
        """The rows of a table with their numbers of copies."""
        return Counter(self.rows(name, self.tables[name].columns))

    def rows(self, name: str, columns: Sequence[Column]) -> list[Row]:
        """The rows of a table."""
        items = ", ".join(
            f"CAST({column_name(c.name, Dialect.DUCKDB)} AS {type_name(c.type, Dialect.DUCKDB)})"
            for c in columns
        )
        return self.connection.execute(f"SELECT {items} FROM {name}").fetchall()
