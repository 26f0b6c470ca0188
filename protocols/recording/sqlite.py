"""SQLite, by Python's own module: a new file, in WAL mode."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from protocols.recording.database import Aborted, Database, Promise, RecordingError
from protocols.recording.sql import Row, SqlConnection, table

REFUSALS = {"SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CONSTRAINT", "SQLITE_INTERRUPT"}
"""After these, nothing of a transaction that is rolled back was done."""


class SqliteConnection(SqlConnection):
    """A connection to the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Takes over a connection."""
        self.connection = connection

    def execute(self, text: str, values: Sequence[object] = ()) -> Sequence[Row]:
        try:
            return self.connection.execute(text, values).fetchall()
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if "_".join(name.split("_")[:2]) in REFUSALS:
                raise Aborted(name) from error
            raise RecordingError(f"SQLite refuses a statement of the recorder: {error}") from error

    def rollback(self) -> None:
        if self.connection.in_transaction:
            self.execute("ROLLBACK")

    def sever(self) -> None:
        self.connection.interrupt()

    def close(self) -> None:
        self.connection.close()


@dataclass(slots=True)
class Sqlite(Database):
    """A new file."""

    name: ClassVar[str] = "SQLite"
    levels: ClassVar[Mapping[str, Promise]] = MappingProxyType({"serializable": Promise.SERIALIZABLE})

    @contextmanager
    def place(self, *, lists: bool) -> Iterator[None]:
        if Path(self.where).exists():
            raise RecordingError(f"{self.where} is there already, and is not touched; name a new file")
        try:
            with closing(self._connected()) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(table(lists=lists))
                yield
        except sqlite3.Error as error:
            raise RecordingError(f"SQLite makes no table in {self.where}: {error}") from None
        finally:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self.where}{suffix}").unlink(missing_ok=True)

    def session(self) -> SqliteConnection:
        return SqliteConnection(self._connected())

    def _connected(self) -> sqlite3.Connection:
        try:
            # The clients of a run are threads; each has its own connection, and the last one may close all.
            return sqlite3.connect(self.where, timeout=1, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise RecordingError(f"SQLite does not open {self.where}: {error}") from None
