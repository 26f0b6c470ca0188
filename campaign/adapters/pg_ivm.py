"""PostgreSQL with pg_ivm, as PGlite: tables maintained by triggers within every transaction."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import ClassVar

import psycopg
from psycopg import sql

from campaign.adapters.contract import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from campaign.adapters.pg_ivm_gaps import LIMITS
from campaign.adapters.pglite.packages import needed
from campaign.adapters.pglite.server import server_of_thread
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect, type_name
from workload.types import Row


class PgIvm(Adapter):
    """A schema of its own on this thread's server. A refresh has nothing to do: the commit did it."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.POSTGRES, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Raises PgliteMissing where there is no Node.js or no PGlite."""
        needed(os.environ)

    def __init__(self) -> None:
        self._server = server_of_thread()
        self._server.names += 1
        self._schema = f"dvs{self._server.names}"
        self._dynamic: list[str] = []
        self._run(f"CREATE SCHEMA {self._schema}")

    def create_table(self, table: Table, sql: str) -> None:
        """A table."""
        self._run(sql)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """An incrementally maintained materialized view, with its contents."""
        name, text = (sql.Literal(each).as_string(self._server.connection) for each in (table.name, query))
        try:
            self._run(f"SELECT pgivm.create_immv({name}, {text})")
        except psycopg.errors.FeatureNotSupported as error:
            raise Unsupported(_first_line(error)) from error
        self._dynamic.append(table.name)

    def commit(self, transaction: Transaction) -> None:
        """One transaction. It fails in maintenance if the same runs without the views."""
        try:
            with self._connection().transaction():
                self._run_all(transaction.sql)
        except psycopg.Error as error:
            if self._server.alive and self._runs_without_views(transaction):
                raise RefreshFailed(_first_line(error)) from error
            raise

    def refresh(self, table: str, timestamp: int) -> None:
        """Nothing."""

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """The rows, without the columns that pg_ivm adds, as the types that the definition has."""
        return self._select(name, columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """PostgreSQL itself."""
        return self._select(f"({query}) AS q", columns)

    def interrupt(self) -> None:
        """Ends the server: it runs one query at a time and listens to nothing meanwhile."""
        self._server.kill()

    def close(self) -> None:
        """Drops the schema, unless all of it has gone with the server."""
        if self._server.alive:
            self._run(f"DROP SCHEMA {self._schema} CASCADE")

    def _runs_without_views(self, transaction: Transaction) -> bool:
        try:
            with self._connection().transaction(force_rollback=True):
                self._run_all([f"DROP TABLE {name}" for name in self._dynamic])
                self._run_all(transaction.sql)
        except psycopg.Error:
            return False
        return True

    def _select(self, relation: str, columns: Sequence[Column]) -> list[Row]:
        items = ", ".join(f"CAST({c.name} AS {type_name(c.type, Dialect.POSTGRES)})" for c in columns)
        cursor = self._connection().execute(f"SELECT {items} FROM {relation}")
        return cursor.fetchall()

    def _connection(self) -> psycopg.Connection:
        """The server's, with this schema before all others."""
        server = self._server
        if server.schema != self._schema:
            server.connection.execute(f"SET search_path = {self._schema}")
            server.schema = self._schema
        return server.connection

    def _run(self, text: str) -> None:
        self._connection().execute(text)

    def _run_all(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._run(text)


def _first_line(error: psycopg.Error) -> str:
    return str(error).split("\n", 1)[0]
