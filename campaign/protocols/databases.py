"""The databases that can be recorded, by the scheme of an address. Each is imported when it is asked for."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from protocols.recording.database import Database, RecordingError
from servers.own import Server, ServerMissing


def _postgresql() -> type[Database]:
    from protocols.recording.postgres import PostgresServer

    return PostgresServer


def _mariadb() -> type[Database]:
    try:
        from protocols.recording.mariadb import MariaDbServer
    except ModuleNotFoundError:
        raise RecordingError("MariaDB needs the driver PyMySQL: pip install 'dvs-harness[mariadb]'") from None

    return MariaDbServer


def _sqlite() -> type[Database]:
    from protocols.recording.sqlite import Sqlite

    return Sqlite


def _duckdb() -> type[Database]:
    from protocols.recording.duck import DuckDb

    return DuckDb


def _delta_rs() -> type[Database]:
    from protocols.recording.delta_rs import DeltaRs

    return DeltaRs


def _delta_spark() -> type[Database]:
    from dynamic_tables.errors import SessionError
    from dynamic_tables.session import Settings, open_session
    from protocols.recording.delta_spark import DeltaSpark

    class DeltaOnOwnSpark(DeltaSpark):
        def spark(self) -> Any:
            try:
                return open_session(app_name="dvs record", settings=Settings.TUNED)
            except SessionError as error:
                raise RecordingError(str(error)) from error

    return DeltaOnOwnSpark


KINDS: Mapping[str, Callable[[], type[Database]]] = {
    "postgresql": _postgresql,
    "mariadb": _mariadb,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "delta-rs": _delta_rs,
    "delta-spark": _delta_spark,
}
"""The kinds by the word with which an address begins; the word alone is a database started for the run."""


def _own_postgresql() -> AbstractContextManager[Server]:
    from servers.postgres import started

    return started()


def _own_mariadb() -> AbstractContextManager[Server]:
    from servers.mariadb import started

    return started()


SERVERS = {"postgresql": _own_postgresql, "mariadb": _own_mariadb}
"""The kinds that are processes of their own, with the function that starts one, or raises ServerMissing."""


def kind(scheme: str) -> type[Database]:
    """Returns the class of a kind of databases. Raises RecordingError: the kind is unknown."""
    scheme = {"postgres": "postgresql"}.get(scheme, scheme)
    if scheme not in KINDS:
        if scheme in ("account", "pg_ivm"):
            fact = f"of {scheme} only its dynamic tables are recorded"
            raise RecordingError(
                f"{fact}: --workload views; its tables are those of delta-spark or postgresql"
            )
        fact = f"{scheme} names no database that can be recorded"
        raise RecordingError(
            f"{fact}; take {', '.join(KINDS)}, alone or as an address such as postgresql://HOST"
        )
    return KINDS[scheme]()


@contextmanager
def opened(address: str, isolation: str | None) -> Iterator[Database]:
    """Yields a database at an isolation level, by default its first one; a new one for a word alone.

    Raises RecordingError: there is no such database or level, or it does not start.
    """
    scheme, separator, rest = address.partition("://")
    database = kind(scheme)
    level = _level(database, isolation)
    started = SERVERS.get("postgresql" if scheme == "postgres" else scheme)
    if started is None:
        if separator and rest in ("", "/"):
            raise RecordingError(f"{address} names no file; write {scheme}:///FILE, or {scheme} alone")
        with tempfile.TemporaryDirectory(prefix="dvs-record-") as folder:
            # Four slashes for a path from the root on, as SQLAlchemy has it; three for one from here.
            yield database(rest.removeprefix("/") if separator else f"{folder}/recording.{scheme}", level)
    elif separator:
        yield database(address, level)
    else:
        try:
            with started() as server:
                yield database(server.address, level, crash=lambda: crash(server))
        except ServerMissing as missing:
            raise RecordingError(str(missing)) from missing


def crash(server: Server) -> None:
    """Kills a server and starts it again. Raises ServerMissing."""
    server.kill()
    server.start()


def _level(database: type[Database], isolation: str | None) -> str:
    """Returns a level of a database, by default the first. Raises RecordingError: it has no such level."""
    levels = database.levels
    if isolation is not None and isolation not in levels:
        raise RecordingError(
            f"{database.name} has no isolation level {isolation}; take one of {', '.join(levels)}"
        )
    return isolation or next(iter(levels))
