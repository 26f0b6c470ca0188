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

from engines.adapter import Capabilities
from engines.errors import EngineError
from engines.sql_adapter import SqlAdapter
from engines.values import typed_rows
from servers.mariadb import programs, started
from servers.own import Server, ServerMissing
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.schema import Column
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


class MariaDb(SqlAdapter):
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
        self.run(f"CREATE DATABASE {self._database} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin")
        self.run(f"USE {self._database}")
        self._prepared: set[str] = set()

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        """Runs a statement."""
        with self._connection.cursor() as cursor:
            cursor.execute(text)
            return list(cursor.fetchall())

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table or view."""
        if name not in self._prepared:
            self.run(f"PREPARE rows_of_{name} FROM 'SELECT * FROM {name}'")
            self._prepared.add(name)
        return typed_rows(self.run(f"EXECUTE rows_of_{name}"), columns)

    def restart(self) -> None:
        """Kills the server and starts it again: it recovers what was committed, as after a crash."""
        self._connection.close()
        _server().kill()
        _server().start()
        self._connection = self._connected()
        self._prepared.clear()
        self.run(f"USE {self._database}")

    def close(self) -> None:
        """Drops the database."""
        self.run(f"DROP DATABASE {self._database}")
        self._connection.close()

    def _connected(self) -> Any:
        # Imported here: it is an extra.
        import pymysql

        self.errors = (pymysql.Error,)
        parts = urlsplit(_server().address)
        connection = pymysql.connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, autocommit=True
        )
        with connection.cursor() as cursor:
            for text in SESSION:
                cursor.execute(text)
        return connection


@cache
def _server() -> Server:
    """Returns the server of this process, started on first use."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(started(LIMIT_S))
