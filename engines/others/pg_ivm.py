"""PostgreSQL with pg_ivm, as PGlite: the adapter `pg_ivm`. Triggers maintain tables in every transaction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import psycopg
from psycopg import sql

from engines.adapter import Capabilities, RefreshFailed, Transaction, Unsupported
from engines.others.node.packages import needed
from engines.others.node.pglite import server_of_thread
from engines.others.pg_ivm_gaps import LIMITS
from engines.sql_adapter import SqlAdapter
from engines.values import cast_items
from workload.errors import first_line
from workload.scenario import DynamicTable
from workload.schema import Column
from workload.sql import Dialect
from workload.types import Row


class PgIvm(SqlAdapter):
    """A schema of its own on the server of this thread."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.POSTGRES, limits=LIMITS)
    refreshes = ()

    @classmethod
    def ready(cls) -> None:
        """Checks that Node.js and PGlite are installed. Raises NodeMissing."""
        needed(os.environ)

    def __init__(self) -> None:
        self._server = server_of_thread()
        self._server.names += 1
        self._schema = f"dvs{self._server.names}"
        self._dynamic: list[str] = []
        self.run(f"CREATE SCHEMA {self._schema}")

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs a statement."""
        found = self._connection().execute(text)
        return found.fetchall() if found.description else ()

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates an incrementally maintained materialized view with its contents. Raises Unsupported."""
        name, text = (sql.Literal(each).as_string(self._server.connection) for each in (table.name, query))
        try:
            self.run(f"SELECT pgivm.create_immv({name}, {text})")
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.SyntaxError) as error:
            # A semi or anti join, beyond the limits of this engine, has no text in PostgreSQL.
            raise Unsupported(first_line(error)) from error
        self._dynamic.append(table.name)

    def _transact(self, transaction: Transaction, end: str) -> None:
        """Runs a transaction. Raises RefreshFailed if it fails, and succeeds without the views."""
        try:
            super()._transact(transaction, end)
        except psycopg.Error as error:
            if self._server.alive and self._runs_without_views(transaction):
                raise RefreshFailed(first_line(error)) from error
            raise

    def select(self, relation: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns rows without the columns that pg_ivm adds, cast to the types of the columns."""
        items = cast_items(columns, Dialect.POSTGRES)
        return self._connection().execute(f"SELECT {items} FROM {relation}").fetchall()

    def interrupt(self) -> None:
        """Ends the server, which cannot be interrupted: it runs one query and reads nothing meanwhile."""
        self._server.kill()

    def close(self) -> None:
        """Drops the schema, unless the server has ended and the schema with it."""
        if self._server.alive:
            self.run(f"DROP SCHEMA {self._schema} CASCADE")

    def _runs_without_views(self, transaction: Transaction) -> bool:
        try:
            with self._connection().transaction(force_rollback=True):
                for text in (*(f"DROP TABLE {name}" for name in self._dynamic), *transaction.sql):
                    self.run(text)
        except psycopg.Error:
            return False
        return True

    def _connection(self) -> psycopg.Connection:
        """Returns the connection of the server, with this schema as its search path."""
        server = self._server
        if server.schema != self._schema:
            server.connection.execute(f"SET search_path = {self._schema}")
            server.schema = self._schema
        return server.connection
