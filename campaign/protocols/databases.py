"""The databases that can be recorded, by the scheme of an address. Each is imported when it is asked for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from protocols.recording.database import Database, RecordingError

SCHEMES = ("postgresql", "sqlite", "duckdb")
"""The words with which an address begins; one alone stands for a database that is started for the run."""


@contextmanager
def opened(address: str, isolation: str | None) -> Iterator[Database]:
    """A database at an isolation level, or at its default one; without an address behind the word, a new one.

    Raises RecordingError: there is no such database or level, or it does not start.
    """
    scheme, separator, rest = address.partition("://")
    scheme = {"postgres": "postgresql"}.get(scheme, scheme)
    if scheme not in SCHEMES:
        fact = f"{address} names no database that can be recorded"
        raise RecordingError(
            f"{fact}; take {', '.join(SCHEMES)}, alone or as an address such as postgresql://HOST"
        )
    if scheme == "postgresql":
        with _postgres(address if separator else "", isolation) as server:
            yield server
        return
    with tempfile.TemporaryDirectory(prefix="dvs-record-") as folder:
        # Four slashes for a path from the root on, as SQLAlchemy has it; three for one from here.
        path = Path(rest.removeprefix("/")) if separator else Path(folder) / f"recording.{scheme}"
        if separator and rest in ("", "/"):
            raise RecordingError(f"{address} names no file; write {scheme}:///FILE, or {scheme} alone")
        yield _in_file(scheme, path, isolation)


@contextmanager
def _postgres(address: str, isolation: str | None) -> Iterator[Database]:
    from protocols.recording.postgres import PostgresServer
    from servers.postgres import PostgresMissing, started

    level = _level(PostgresServer, isolation)
    if address:
        yield PostgresServer(address, level)
        return
    try:
        with started() as server:
            yield PostgresServer(server.address, level)
    except PostgresMissing as missing:
        raise RecordingError(str(missing)) from missing


def _in_file(scheme: str, path: Path, isolation: str | None) -> Database:
    if scheme == "sqlite":
        from protocols.recording.sqlite import Sqlite

        return Sqlite(path, _level(Sqlite, isolation))
    from protocols.recording.duck import DuckDb

    return DuckDb(path, _level(DuckDb, isolation))


def _level(database: type[Database], isolation: str | None) -> str:
    """Returns a level of a database, by default the first one. Raises RecordingError: it has none such."""
    levels = database.levels
    if isolation is not None and isolation not in levels:
        raise RecordingError(
            f"{database.name} has no isolation level {isolation}; take one of {', '.join(levels)}"
        )
    return isolation or next(iter(levels))
