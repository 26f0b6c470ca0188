"""PostgreSQL with pg_ivm, as PGlite: the adapter `pg_ivm`. Triggers maintain tables in every transaction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import ClassVar

import psycopg
from psycopg import sql

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.others.node.packages import needed
from engines.others.node.pglite import server_of_thread
from engines.others.pg_ivm_gaps import LIMITS
from engines.values import cast_items
from workload.errors import first_line
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Row


class PgIvm(Adapter):
    """A schema of its own on the server of this thread."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.POSTGRES, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that Node.js and PGlite are installed. Raises NodeMissing."""
        needed(os.environ)

    def __init__(self) -> None:
        self._server = server_of_thread()
        self._server.names += 1
        self._schema = f"dvs{self._server.names}"
        self._dynamic: list[str] = []
        self._run(f"CREATE SCHEMA {self._schema}")

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._run(sql)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates an incrementally maintained materialized view with its contents. Raises Unsupported."""
        name, text = (sql.Literal(each).as_string(self._server.connection) for each in (table.name, query))
        try:
            self._run(f"SELECT pgivm.create_immv({name}, {text})")
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.SyntaxError) as error:
            # A semi or anti join, beyond the limits of this engine, has no text in PostgreSQL.
            raise Unsupported(first_line(error)) from error
        self._dynamic.append(table.name)

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction. Raises RefreshFailed if it fails, and succeeds without the views."""
        self._transact(transaction, rolled_back=False)

    def roll_back(self, transaction: Transaction) -> None:
        """Runs a transaction and rolls it back. Raises RefreshFailed as `commit` does."""
        self._transact(transaction, rolled_back=True)

    def _transact(self, transaction: Transaction, *, rolled_back: bool) -> None:
        try:
            with self._connection().transaction(force_rollback=rolled_back):
                self._run(*transaction.sql)
        except psycopg.Error as error:
            if self._server.alive and self._runs_without_views(transaction):
                raise RefreshFailed(first_line(error)) from error
            raise

    def refresh(self, table: str, timestamp: int) -> None:
        """Does nothing: the commit has maintained the table already."""

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows, without the columns that pg_ivm adds, cast to the types of the definition."""
        return self._select(name, columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns PostgreSQL's own answer; pg_ivm takes no part."""
        return self._select(f"({query}) AS q", columns)

    def interrupt(self) -> None:
        """Ends the server, which cannot be interrupted: it runs one query and reads nothing meanwhile."""
        self._server.kill()

    def close(self) -> None:
        """Drops the schema, unless the server has ended and the schema with it."""
        if self._server.alive:
            self._run(f"DROP SCHEMA {self._schema} CASCADE")

    def _runs_without_views(self, transaction: Transaction) -> bool:
        try:
            with self._connection().transaction(force_rollback=True):
                self._run(*(f"DROP TABLE {name}" for name in self._dynamic), *transaction.sql)
        except psycopg.Error:
            return False
        return True

    def _select(self, relation: str, columns: Sequence[Column]) -> list[Row]:
        items = cast_items(columns, Dialect.POSTGRES)
        cursor = self._connection().execute(f"SELECT {items} FROM {relation}")
        return cursor.fetchall()

    def _connection(self) -> psycopg.Connection:
        """Returns the connection of the server, with this schema as its search path."""
        server = self._server
        if server.schema != self._schema:
            server.connection.execute(f"SET search_path = {self._schema}")
            server.schema = self._schema
        return server.connection

    def _run(self, *texts: str) -> None:
        for text in texts:
            self._connection().execute(text)
