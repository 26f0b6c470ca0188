"""A PostgreSQL server of our own."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg

from servers.own import START_LIMIT_S, Program, Server, ServerMissing, started as started_program

USER = "dvs"

SETTINGS = (
    # A deadlock is found in milliseconds, because scripts are waited for.
    "deadlock_timeout=20ms",
    # Nothing may run that a script does not name.
    "autovacuum=off",
    # A statement that never ends must not hold up a script for ever.
    "statement_timeout=60s",
    # The folder is thrown away. What was committed survives the server nevertheless, not the machine.
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "max_connections=80",
    "listen_addresses=127.0.0.1",
)


def programs() -> Path:
    """Returns the folder with initdb and postgres. Raises ServerMissing."""
    found = shutil.which("initdb")
    if found and shutil.which("postgres", path=str(Path(found).parent)):
        return Path(found).parent
    versions = [each for each in Path("/usr/lib/postgresql").glob("*/bin") if (each / "initdb").exists()]
    if not versions:
        raise ServerMissing("there is no PostgreSQL server; install one: apt-get install postgresql")
    return max(versions, key=lambda each: int(each.parent.name) if each.parent.name.isdecimal() else 0)


def started(seconds: float = START_LIMIT_S) -> AbstractContextManager[Server]:
    """Returns the context of a server in a temporary folder, which ends with it. Raises ServerMissing."""
    binaries = programs()
    options = [part for setting in SETTINGS for part in ("-c", setting)]
    program = Program(
        name="PostgreSQL",
        users=("postgres", "nobody"),
        stop="INT",
        make=lambda folder: (
            str(binaries / "initdb"), "-D", str(folder / "data"), "-U", USER, "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync",
        ),
        serve=lambda folder, port: (
            str(binaries / "postgres"), "-D", str(folder / "data"), "-p", str(port), *options,
            "-c", f"unix_socket_directories={folder}",
        ),
        address=lambda port: f"postgresql://{USER}@127.0.0.1:{port}/postgres?connect_timeout=5",
        connect=lambda address: psycopg.connect(address).close(),
        refused=psycopg.OperationalError,
    )  # fmt: skip
    return started_program(program, seconds)
