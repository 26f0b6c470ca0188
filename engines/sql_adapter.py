"""An engine that takes SQL: how it opens, how it runs a statement, and what it says in its own way."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar

from engines.adapter import Adapter, RefreshFailed, Transaction, Unsupported
from engines.errors import shown
from engines.values import typed_rows
from workload.scenario import Definition, DynamicTable, View
from workload.schema import Column, Table
from workload.types import Row


class SqlAdapter(Adapter):
    """The adapter of an engine that takes SQL; `run` and `capabilities` are all that it must have.

    As it stands, a refresh computes a table in full. An engine that maintains its views in every commit has
    other statements:

        class Mine(SqlAdapter):
            capabilities = Capabilities(dialect=Dialect.SQLITE, limits=Limits(timestamps=Timestamps.COMMIT))
            creates = ("CREATE MATERIALIZED VIEW {name} AS {query}",)
            refreshes = ()

            def __init__(self):
                self.db = mine.connect(":memory:")

            def run(self, text):
                return self.db.execute(text).fetchall()
    """

    creates: ClassVar[Sequence[str]] = ("CREATE TABLE {name} AS SELECT * FROM ({query}) AS q LIMIT 0",)
    """The statements that make a dynamic table `{name}` of a `{query}`."""
    refreshes: ClassVar[Sequence[str]] = (
        "BEGIN",
        "DELETE FROM {name}",
        "INSERT INTO {name} {query}",
        "COMMIT",
    )
    """The statements that refresh it; none where every commit maintains the tables."""
    errors: tuple[type[Exception], ...] = (Exception,)
    """What `run` raises where the engine refuses a statement. Other exceptions mean that the engine broke."""
    kind: ClassVar[str] = "TABLE"
    """What DROP calls a dynamic table."""

    @abstractmethod
    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs one statement, BEGIN and COMMIT too; returns the rows of a query."""

    @cached_property
    def queries(self) -> dict[str, str]:
        """The query of each dynamic table, by the name of the table."""
        return {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self.run(sql)

    def create_view(self, name: str, query: str) -> None:
        """Creates a view, and reads it: SQLite looks at its query no earlier. Raises Unsupported."""
        self.define(f"CREATE VIEW {name} AS {query}", f"SELECT * FROM {name} LIMIT 0")

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a dynamic table by `creates`. Raises Unsupported."""
        self.queries[table.name] = query
        self.define(*(text.format(name=table.name, query=query) for text in self.creates))

    def drop(self, definition: Definition) -> None:
        """Drops a view or a dynamic table."""
        self.run(f"DROP {'VIEW' if isinstance(definition, View) else self.kind} {definition.name}")

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction."""
        self._transact(transaction, "COMMIT")

    def roll_back(self, transaction: Transaction) -> None:
        """Runs a transaction and rolls it back."""
        self._transact(transaction, "ROLLBACK")

    def _transact(self, transaction: Transaction, end: str) -> None:
        """Runs a transaction. `end`: COMMIT or ROLLBACK."""
        try:
            for text in ("BEGIN", *transaction.sql, end):
                self.run(text)
        except self.errors:
            self._end_transaction()
            raise

    def _end_transaction(self) -> None:
        """Rolls back what is left of a transaction; some errors have ended it already, and it is refused."""
        with suppress(*self.errors):
            self.run("ROLLBACK")

    def refresh(self, table: str, timestamp: int) -> None:
        """Refreshes a table by `refreshes`. Raises RefreshFailed, after a ROLLBACK where there is a BEGIN."""
        try:
            for text in self.refreshes:
                self.run(text.format(name=table, query=self.queries[table]))
        except self.errors as error:
            if "BEGIN" in self.refreshes:
                self._end_transaction()
            raise RefreshFailed(shown(error)) from error

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table or view."""
        return self.select(name, columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the engine's own answer to a query, by which a wrong refresh is told from a dialect."""
        return self.select(f"({query}) AS q", columns)

    def select(self, relation: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of what may stand in FROM, with the values that the columns have."""
        return typed_rows(self.run(f"SELECT * FROM {relation}"), columns)

    def define(self, *texts: str) -> None:
        """Runs the statements of a definition. Raises Unsupported."""
        try:
            for text in texts:
                self.run(text)
        except self.errors as error:
            raise Unsupported(shown(error)) from error
