"""DuckDB, in this process: a new file, and a cursor for each client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import duckdb

from protocols.recording.database import Aborted, Database, Promise, RecordingError
from protocols.recording.sql import Row, SqlConnection, table


class DuckConnection(SqlConnection):
    """A cursor, which is a connection of its own to the same database."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Takes over a cursor."""
        self.connection = connection

    def execute(self, text: str, values: Sequence[object] = ()) -> Sequence[Row]:
        try:
            return self.connection.execute(text, values or None).fetchall()
        except (duckdb.TransactionException, duckdb.ConstraintException, duckdb.InterruptException) as error:
            raise Aborted(type(error).__name__) from error
        except duckdb.Error as error:
            raise RecordingError(f"DuckDB refuses a statement of the recorder: {error}") from error

    def rollback(self) -> None:
        # A COMMIT that was refused has ended the transaction already.
        with suppress(Aborted):
            self.execute("ROLLBACK")

    def sever(self) -> None:
        self.connection.interrupt()

    def close(self) -> None:
        self.connection.close()


@dataclass(slots=True)
class DuckDb(Database):
    """A new file. `opened`: the database, while a run goes on."""

    name: ClassVar[str] = "DuckDB"
    levels: ClassVar[Mapping[str, Promise]] = MappingProxyType({"snapshot": Promise.SNAPSHOT})
    opened: duckdb.DuckDBPyConnection | None = field(default=None, init=False)

    @contextmanager
    def place(self, *, lists: bool) -> Iterator[None]:
        if Path(self.where).exists():
            raise RecordingError(f"{self.where} is there already, and is not touched; name a new file")
        try:
            with duckdb.connect(self.where) as self.opened:
                self.opened.execute(table(lists=lists))
                yield
        except duckdb.IOException as error:
            raise RecordingError(f"DuckDB does not make {self.where}: {error}") from None
        finally:
            for suffix in ("", ".wal"):
                Path(f"{self.where}{suffix}").unlink(missing_ok=True)

    def session(self) -> DuckConnection:
        assert self.opened is not None
        return DuckConnection(self.opened.cursor())
