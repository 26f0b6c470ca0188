"""Turso, the rewrite of SQLite in Rust: the adapter `turso`. Its views are maintained in every commit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from engines.adapter import Capabilities, RefreshFailed, Transaction
from engines.errors import EngineError
from engines.sql_adapter import SqlAdapter
from workload.limits import Limits, Timestamps
from workload.schema import Table
from workload.sql import Dialect
from workload.types import Kind

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


class Turso(SqlAdapter):
    """A database in a file of its own."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.SQLITE, limits=LIMITS)
    creates = ("CREATE MATERIALIZED VIEW {name} AS {query}",)
    refreshes = ()

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
        super().create_table(table, sql)
        self._plain.cursor().execute(sql)

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs a statement."""
        rows: list[Sequence[Any]] = self._database.cursor().execute(text).fetchall()
        return rows

    def _transact(self, transaction: Transaction, end: str) -> None:
        """Runs a transaction, which maintains the views. Raises RefreshFailed if these make it fail."""
        for text in ("BEGIN", *transaction.sql, end):
            self._plain.cursor().execute(text)
        try:
            super()._transact(transaction, end)
        except Exception as error:
            raise RefreshFailed(str(error)) from error

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

    def _opened(self) -> Any:
        import turso

        return turso.connect(f"{self._folder.name}/db", experimental_features="views", isolation_level=None)
