"""MariaDB, by PyMySQL: a database of its own on the server of the address."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.constants import CR, ER

from protocols.recording.database import Aborted, Database, NoAnswer, Promise, RecordingError
from protocols.recording.sql import PLACE, Row, SqlConnection, table

REFUSALS = {ER.LOCK_DEADLOCK, ER.LOCK_WAIT_TIMEOUT, ER.CHECKREAD, ER.DUP_ENTRY, ER.QUERY_INTERRUPTED, 1969}
"""After these, nothing of a transaction that is rolled back was done; 1969: max_statement_time."""

LOST = {CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, ER.SERVER_SHUTDOWN, 1927}
"""The connection is gone; 1927: it was killed."""

PREPARED = ("SET max_statement_time = 20", "SET innodb_lock_wait_timeout = 5")


class MariaDbConnection(SqlConnection):
    """A connection of PyMySQL. MariaDB has RETURNING for INSERT and DELETE, not for UPDATE."""

    mark = "%s"
    appends = (
        "INSERT INTO items (k, v, n) VALUES (?, ?, 1) "
        "ON DUPLICATE KEY UPDATE v = CONCAT(v, ',', VALUES(v)), n = n + 1 RETURNING n"
    )
    writes = (
        "INSERT INTO items (k, v, n) VALUES (?, ?, 1) "
        "ON DUPLICATE KEY UPDATE v = VALUES(v), n = n + 1 RETURNING n"
    )

    def __init__(self, connection: Any, level: str) -> None:
        """Takes over a connection whose transactions shall have an isolation level."""
        self.connection = connection
        self.begins = (f"SET TRANSACTION ISOLATION LEVEL {level}", "BEGIN")

    def execute(self, text: str, values: Sequence[object] = ()) -> Sequence[Row]:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(text, values or None)
                return tuple(cursor.fetchall())
        except (pymysql.Error, OSError) as error:
            code = error.args[0] if error.args else 0
            if code in REFUSALS:
                raise Aborted(str(code)) from error
            if code in LOST or not self.connection.open or isinstance(error, OSError):
                raise NoAnswer(str(code or "connection lost")) from error
            raise RecordingError(f"MariaDB refuses a statement of the recorder: {_line(error)}") from error

    def update(self, key: int, value: int) -> int | None:
        rows = self._asked("SELECT n + 1 FROM items WHERE k = ? FOR UPDATE", key)
        self._asked("UPDATE items SET v = ?, n = n + 1 WHERE k = ?", value, key)
        return int(rows[0][0]) if rows else None

    def sever(self) -> None:
        with suppress(OSError, AttributeError):
            self.connection._sock.shutdown(socket.SHUT_RDWR)  # noqa: SLF001  # it has no public name

    def close(self) -> None:
        with suppress(pymysql.Error, OSError):
            self.connection.close()


@dataclass(slots=True)
class MariaDbServer(Database):
    """A server, by a URL."""

    name: ClassVar[str] = "MariaDB"
    levels: ClassVar[Mapping[str, Promise]] = MappingProxyType(
        {
            "serializable": Promise.SERIALIZABLE,
            "snapshot": Promise.SNAPSHOT,
            "repeatable-read": Promise.COMMITTED,
            "read-committed": Promise.COMMITTED,
            "read-uncommitted": Promise.UNCOMMITTED,
        }
    )

    @contextmanager
    def place(self, *, lists: bool) -> Iterator[None]:
        with closing(self._connected()) as connection, connection.cursor() as cursor:
            try:
                cursor.execute(f"CREATE DATABASE {PLACE}")
            except pymysql.err.ProgrammingError:
                fact = f"{self.name} has a database {PLACE} already, of another run or of yours"
                raise RecordingError(f"{fact}; it is not touched: DROP or rename it") from None
            except pymysql.Error as error:
                raise RecordingError(f"{self.name} makes no database {PLACE}: {_line(error)}") from None
        try:
            with closing(self.session()) as session:
                session.execute(f"{table(lists=lists)} ENGINE = InnoDB")
            yield
        finally:
            with closing(self._connected()) as other, other.cursor() as cursor:
                cursor.execute(f"DROP DATABASE {PLACE}")

    def session(self) -> MariaDbConnection:
        snapshot = self.isolation == "snapshot"
        connection = self._connected(PLACE)
        session = MariaDbConnection(
            connection, "REPEATABLE READ" if snapshot else self.isolation.replace("-", " ")
        )
        for text in (*PREPARED, *(["SET innodb_snapshot_isolation = ON"] if snapshot else [])):
            session.execute(text)
        return session

    def _connected(self, database: str | None = None) -> Any:
        parts = urlsplit(self.where)
        try:
            return pymysql.connect(
                host=parts.hostname, port=parts.port or 3306, user=unquote(parts.username or "") or None,
                password=unquote(parts.password or ""), database=database, autocommit=True, connect_timeout=5,
            )  # fmt: skip
        except (pymysql.Error, ValueError) as error:
            raise RecordingError(f"{self.name} cannot be reached: {_line(error)}") from None


def _line(error: Exception) -> str:
    return str(error.args[-1] if error.args else error).splitlines()[0]
