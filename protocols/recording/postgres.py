"""PostgreSQL, by psycopg: a schema of its own in the database of the address."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import psycopg

from protocols.recording.database import Aborted, Database, NoAnswer, Promise, RecordingError
from protocols.recording.sql import PLACE, Row, SqlConnection, table

REFUSALS = ("40", "23", "55P03", "57014")
"""Classes and codes of SQLSTATE after which nothing of a transaction was done: serialization, a deadlock,
constraints, time-outs of locks and statements."""

PREPARED = (f"SET search_path = {PLACE}", "SET statement_timeout = '20s'", "SET lock_timeout = '5s'")


class PostgresConnection(SqlConnection):
    """A connection of psycopg."""

    mark = "%s"

    def __init__(self, connection: psycopg.Connection[Row], level: str) -> None:
        """Takes over a connection whose transactions shall have an isolation level."""
        self.connection = connection
        self.begins = (f"BEGIN ISOLATION LEVEL {level}",)

    def execute(self, text: str, values: Sequence[object] = ()) -> Sequence[Row]:
        try:
            cursor = self.connection.execute(text.encode(), values or None)
            return cursor.fetchall() if cursor.description else ()
        except psycopg.Error as error:
            state = error.sqlstate or ""
            if state.startswith(REFUSALS):
                raise Aborted(state) from error
            if self.connection.broken or self.connection.closed or state.startswith(("08", "57P")):
                raise NoAnswer(state or "connection lost") from error
            raise RecordingError(f"PostgreSQL refuses a statement of the recorder: {_line(error)}") from error

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


def _line(error: psycopg.Error) -> str:
    return (error.diag.message_primary or str(error).strip() or "no reason given").splitlines()[-1]
