"""Turso, the rewrite of SQLite in Rust: the adapter `turso`. Its views are maintained in every commit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import EngineError
from engines.values import typed_rows
from workload.limits import Limits, Timestamps
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Kind, Row

LIMITS = Limits.only(
    *("inner join", "distinct", "union", "union all", "group by", "aggregates without group by", "filter"),
    # Its compiler of views knows fewer expressions than its queries; it refused 468 of 1,278 random ones.
    "what it takes",
    types=frozenset({Kind.INT, Kind.BIGINT, Kind.STRING, Kind.DOUBLE}),
    timestamps=Timestamps.COMMIT,
    restarts=True,
    rollbacks=True,
    # Read inexactly (found/turso/number-in-a-text): no view would be compared.
    stores=lambda value, type_: value != -1e-300,
)


class Turso(Adapter):
    """A database in a file of its own."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.SQLITE, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that Turso is installed. Raises EngineError."""
        try:
            import turso  # noqa: F401
        except ImportError as error:
            raise EngineError("Turso is not installed; pip install 'dvs-harness[turso]'") from error

    def __init__(self) -> None:
        import turso

        self._folder = tempfile.TemporaryDirectory(prefix="dvs-turso-")
        self._database = self._opened()
        # The same tables without a view: whether a transaction fails because of one.
        self._plain = turso.connect(":memory:", isolation_level=None)

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._run(sql)
        self._plain.cursor().execute(sql)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a materialized view with its contents. Raises Unsupported."""
        try:
            self._run(f"CREATE MATERIALIZED VIEW {table.name} AS {query}")
        except Exception as error:
            raise Unsupported(str(error)) from error

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction, which maintains the views. Raises RefreshFailed if these make it fail."""
        self._transact(transaction, "COMMIT")

    def roll_back(self, transaction: Transaction) -> None:
        """Runs a transaction and rolls it back. Raises RefreshFailed as `commit` does."""
        self._transact(transaction, "ROLLBACK")

    def _transact(self, transaction: Transaction, end: str) -> None:
        for text in ("BEGIN", *transaction.sql, end):
            self._plain.cursor().execute(text)
        try:
            for text in ("BEGIN", *transaction.sql, end):
                self._run(text)
        except Exception as error:
            # Some errors have ended the transaction already; then Turso refuses the ROLLBACK.
            with suppress(Exception):
                self._run("ROLLBACK")
            raise RefreshFailed(str(error)) from error

    def refresh(self, table: str, timestamp: int) -> None:
        """Does nothing: the commit has maintained the table already."""

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table or a view."""
        return self._select(f"SELECT * FROM {name}", columns)

    def restart(self) -> None:
        """Opens the file again. Raises RefreshFailed."""
        try:
            self._database.close()
            self._database = self._opened()
        except Exception as error:
            raise RefreshFailed(f"the database cannot be opened again: {error}") from error

    def close(self) -> None:
        """Closes the databases and removes the file."""
        with suppress(Exception):
            self._database.close()
        self._folder.cleanup()

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns Turso's own answer to a query, without a view."""
        return self._select(query, columns)

    def _opened(self) -> Any:
        import turso

        return turso.connect(f"{self._folder.name}/db", experimental_features="views", isolation_level=None)

    def _select(self, text: str, columns: Sequence[Column]) -> list[Row]:
        return typed_rows(self._run(text).fetchall(), columns)

    def _run(self, text: str) -> Any:
        return self._database.cursor().execute(text)
