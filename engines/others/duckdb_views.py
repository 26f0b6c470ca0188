"""DuckDB with its optimizer: the adapter `duckdb`, whose tables are computed anew.

The oracle computes without the optimizer, and so does this adapter's own third vote: a difference is a bug of
the optimizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import duckdb

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import shown
from workload.limits import Limits
from workload.scenario import Definition, DynamicTable, View
from workload.schema import Column, Table
from workload.sql import Dialect, column_name, type_name
from workload.types import Row


class DuckDb(Adapter):
    """A database in memory. A refresh computes a table in full."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits(drops=True, failures=True)
    )

    def __init__(self) -> None:
        self._db = duckdb.connect(config={"threads": 1})
        self._db.execute("SET TimeZone = 'UTC'")
        self._queries: dict[str, str] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._db.execute(sql)

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        self._define(f"CREATE VIEW {name} AS {query}")

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a table without contents. Raises Unsupported."""
        self._define(f"CREATE TABLE {table.name} AS SELECT * FROM ({query}) LIMIT 0")
        self._queries[table.name] = query

    def drop(self, definition: Definition) -> None:
        """Drops a view or a table."""
        self._db.execute(f"DROP {'VIEW' if isinstance(definition, View) else 'TABLE'} {definition.name}")

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction."""
        for text in ("BEGIN", *transaction.sql, "COMMIT"):
            self._db.execute(text)

    def refresh(self, table: str, timestamp: int) -> None:
        """Computes a table in full. Raises RefreshFailed."""
        try:
            self._db.execute(f"CREATE OR REPLACE TEMP TABLE computed AS {self._queries[table]}")
        except duckdb.Error as error:
            raise RefreshFailed(shown(error)) from error
        for text in ("BEGIN", f"DELETE FROM {table}", f"INSERT INTO {table} FROM computed", "COMMIT"):
            self._db.execute(text)

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table, cast to the types of the definition."""
        return self._select(name, columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns DuckDB's own answer to a query, without its optimizer."""
        self._db.execute("PRAGMA disable_optimizer")
        return self._select(f"({query})", columns)

    def interrupt(self) -> None:
        """Ends the query under way."""
        self._db.interrupt()

    def close(self) -> None:
        """Closes the database."""
        self._db.close()

    def _select(self, relation: str, columns: Sequence[Column]) -> list[Row]:
        items = ", ".join(
            f"CAST({column_name(c.name, Dialect.DUCKDB)} AS {type_name(c.type, Dialect.DUCKDB)})"
            for c in columns
        )
        return self._db.execute(f"SELECT {items} FROM {relation}").fetchall()

    def _define(self, text: str) -> None:
        try:
            self._db.execute(text)
        except duckdb.Error as error:
            raise Unsupported(shown(error)) from error
