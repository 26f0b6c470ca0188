"""MariaDB, whose tables are computed anew: the adapter `mariadb`, by which the dialect MYSQL is tested.

It has no materialized views, so only dialects and its own computation can differ. Tables are read by
statements that are prepared once, as clients prepare them.
"""

from __future__ import annotations

import atexit
import itertools
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any, ClassVar
from urllib.parse import urlsplit

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import EngineError, shown
from engines.values import typed_rows
from servers.mariadb import programs, started
from servers.own import Server, ServerMissing
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.scenario import Definition, DynamicTable, View
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Row

ABSENT = frozenset(
    {
        Operator.FULL_JOIN,
        Operator.SEMI_JOIN,
        Operator.ANTI_JOIN,
        Operator.EXPLODE,
        Operator.GROUPING_SETS,
        Operator.WINDOW,
    }
)

SESSION = (
    # Text is compared by code points, with the blanks at its end; literals too.
    "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin",
    # All columns of an UPDATE get their values at once; what does not fit is an error.
    "SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,SIMULTANEOUS_ASSIGNMENT'",
)

LIMIT_S = 240.0
"""Seconds that the server may take to start: making its first tables takes minutes on a busy machine."""

numbers = itertools.count()
"""Numbers the databases of this process's server."""


class MariaDb(Adapter):
    """A database of its own on the server of this process. A refresh computes a table in full."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.MYSQL,
        limits=Limits(operators=OPERATORS - ABSENT, drops=True, restarts=True, rollbacks=True),
    )

    @classmethod
    def ready(cls) -> None:
        """Checks that there is a MariaDB server to start, and its driver. Raises EngineError."""
        try:
            programs()
            import pymysql  # noqa: F401  # an extra, looked for before anything starts
        except ServerMissing as error:
            raise EngineError(str(error)) from error
        except ModuleNotFoundError as error:
            raise EngineError("MariaDB needs its driver: pip install 'dvs-harness[mariadb]'") from error

    def __init__(self) -> None:
        self._database = f"dvs{next(numbers)}"
        self._connection = self._connected()
        self._run(
            f"CREATE DATABASE {self._database} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
            f"USE {self._database}",
        )
        self._queries: dict[str, str] = {}
        self._prepared: set[str] = set()

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._run(sql)

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        self._define(f"CREATE VIEW {name} AS {query}")

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a table without contents. Raises Unsupported."""
        self._define(f"CREATE TABLE {table.name} AS SELECT * FROM ({query}) AS q LIMIT 0")
        self._queries[table.name] = query

    def drop(self, definition: Definition) -> None:
        """Drops a view or a table."""
        self._run(f"DROP {'VIEW' if isinstance(definition, View) else 'TABLE'} {definition.name}")

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction."""
        self._run("BEGIN", *transaction.sql, "COMMIT")

    def roll_back(self, transaction: Transaction) -> None:
        """Runs a transaction and rolls it back."""
        self._run("BEGIN", *transaction.sql, "ROLLBACK")

    def refresh(self, table: str, timestamp: int) -> None:
        """Computes a table in full. Raises RefreshFailed."""
        try:
            self._run(
                "BEGIN", f"DELETE FROM {table}", f"INSERT INTO {table} {self._queries[table]}", "COMMIT"
            )
        except self._error as error:
            self._run("ROLLBACK")
            raise RefreshFailed(shown(error)) from error

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table or view."""
        if name not in self._prepared:
            self._run(f"PREPARE rows_of_{name} FROM 'SELECT * FROM {name}'")
            self._prepared.add(name)
        return typed_rows(self._run(f"EXECUTE rows_of_{name}"), columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns MariaDB's own answer to a query."""
        return typed_rows(self._run(query), columns)

    def restart(self) -> None:
        """Kills the server and starts it again: it recovers what was committed, as after a crash."""
        self._connection.close()
        _server().kill()
        _server().start()
        self._connection = self._connected()
        self._prepared.clear()
        self._run(f"USE {self._database}")

    def close(self) -> None:
        """Drops the database."""
        self._run(f"DROP DATABASE {self._database}")
        self._connection.close()

    def _connected(self) -> Any:
        # Imported here: it is an extra.
        import pymysql

        self._error: type[Exception] = pymysql.Error
        parts = urlsplit(_server().address)
        connection = pymysql.connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, autocommit=True
        )
        with connection.cursor() as cursor:
            for text in SESSION:
                cursor.execute(text)
        return connection

    def _define(self, text: str) -> None:
        try:
            self._run(text)
        except self._error as error:
            raise Unsupported(shown(error)) from error

    def _run(self, *texts: str) -> list[tuple[Any, ...]]:
        """Runs statements; returns the rows of the last one."""
        with self._connection.cursor() as cursor:
            for text in texts:
                cursor.execute(text)
            return list(cursor.fetchall())


@cache
def _server() -> Server:
    """Returns the server of this process, started on first use."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(started(LIMIT_S))
