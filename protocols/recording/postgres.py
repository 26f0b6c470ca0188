"""PostgreSQL, by psycopg: a schema of its own in the database of the address."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import ClassVar

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from protocols.recording.database import Aborted, Database, NoAnswer, Promise, RecordingError
from protocols.recording.sql import PLACE, Row, SqlConnection, table

REFUSALS = ("40", "23", "55P03", "57014")
"""Classes and codes of SQLSTATE after which nothing of a transaction was done: serialization, a deadlock,
constraints, time-outs of locks and statements."""

INT8 = psycopg.adapters.types["int8"].oid

PREPARED = (f"SET search_path = {PLACE}", "SET statement_timeout = '20s'", "SET lock_timeout = '5s'")


class PostgresConnection(SqlConnection):
    """A connection of psycopg."""

    def __init__(self, connection: psycopg.Connection[Row], level: str) -> None:
        """Takes over a connection whose transactions shall have an isolation level."""
        self.connection = connection
        self.begins = (f"BEGIN ISOLATION LEVEL {level}",)
        self.names: dict[str, bytes] = {}

    def execute(self, text: str, values: Sequence[object] = ()) -> Sequence[Row]:
        try:
            cursor = self.connection.execute(text.encode(), values or None)
            return cursor.fetchall() if cursor.description else ()
        except psycopg.Error as error:
            raise self._refusal(error) from error

    def _asked(self, text: str, *values: object) -> Sequence[Row]:
        # Prepared, and by libpq itself: a cursor of psycopg costs more than all the rest of the client.
        try:
            libpq = self.connection.pgconn
            if text not in self.names:
                name, places = f"dvs_{len(self.names)}".encode(), count(1)
                numbered = re.sub(r"\?", lambda _: f"${next(places)}", text)
                _rows(libpq.prepare(name, numbered.encode()))
                self.names[text] = name
            return _rows(libpq.exec_prepared(self.names[text], [str(each).encode() for each in values]))
        except psycopg.Error as error:
            raise self._refusal(error) from error

    def _refusal(self, error: psycopg.Error) -> Exception:
        """Returns what an error means for the transaction that is open."""
        state = error.sqlstate or ""
        if state.startswith(REFUSALS):
            return Aborted(state)
        if self.connection.broken or self.connection.closed or state.startswith(("08", "57P")):
            return NoAnswer(state or "connection lost")
        return RecordingError(f"PostgreSQL refuses a statement of the recorder: {_line(error)}")

    def sever(self) -> None:
        # Of a copy, so that psycopg finds its own descriptor open and broken.
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self.connection.fileno())) as copy,
        ):
            copy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.connection.close()


@dataclass(slots=True)
class PostgresServer(Database):
    """A server, by a URL."""

    name: ClassVar[str] = "PostgreSQL"
    levels: ClassVar[Mapping[str, Promise]] = MappingProxyType(
        {
            "serializable": Promise.SERIALIZABLE,
            "repeatable-read": Promise.SNAPSHOT,
            "read-committed": Promise.COMMITTED,
            "read-uncommitted": Promise.COMMITTED,
        }
    )

    @contextmanager
    def place(self, *, lists: bool) -> Iterator[None]:
        with closing(self._connected()) as connection:
            try:
                connection.execute(f"CREATE SCHEMA {PLACE}".encode())
            except psycopg.errors.DuplicateSchema:
                fact = f"{self.name} has a schema {PLACE} already, of another run or of yours"
                raise RecordingError(f"{fact}; it is not touched: DROP or rename it") from None
            except psycopg.Error as error:
                raise RecordingError(f"{self.name} makes no schema {PLACE}: {_line(error)}") from None
            try:
                connection.execute(f"SET search_path = {PLACE}".encode())
                connection.execute(table(lists=lists).encode())
                yield
            finally:
                with closing(self._connected()) as other:
                    other.execute(b"SET client_min_messages = warning")
                    other.execute(f"DROP SCHEMA {PLACE} CASCADE".encode())

    def session(self) -> PostgresConnection:
        session = PostgresConnection(self._connected(), self.isolation.replace("-", " "))
        for text in PREPARED:
            session.execute(text)
        return session

    def _connected(self) -> psycopg.Connection[Row]:
        try:
            return psycopg.connect(self.where, autocommit=True, connect_timeout=5)
        except psycopg.Error as error:
            raise RecordingError(f"{self.name} cannot be reached: {_line(error)}") from None


def _rows(result: PGresult) -> Sequence[Row]:
    """Returns the rows of an answer: numbers and texts. Raises what psycopg would raise."""
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise error_from_result(result)
    kinds = [int if result.ftype(each) == INT8 else bytes.decode for each in range(result.nfields)]
    return [
        [kind(result.get_value(row, column) or b"") for column, kind in enumerate(kinds)]
        for row in range(result.ntuples)
    ]


def _line(error: psycopg.Error) -> str:
    return (error.diag.message_primary or str(error).strip() or "no reason given").splitlines()[-1]
