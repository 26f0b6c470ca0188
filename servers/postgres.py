"""A PostgreSQL server of our own: Debian's programs, a folder of its own, the loopback address.

It ends with the process that started it, however that one ends.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

START_LIMIT_S = 60
END_LIMIT_S = 20
USER = "dvs"

SETTINGS = (
    # A deadlock is found in milliseconds, because scripts are waited for.
    "deadlock_timeout=20ms",
    # Nothing may run that a script does not name.
    "autovacuum=off",
    # A statement that never ends must not hold up a script for ever.
    "statement_timeout=60s",
    # The folder is thrown away.
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "shared_buffers=16MB",
    "max_connections=20",
)


WATCHED = """
exec 3<&0
folder=$1; shift
"$@" </dev/null 3<&- &
server=$!
( cat <&3 >/dev/null; kill -INT $server ) 2>/dev/null &
watcher=$!
wait $server
kill $watcher 2>/dev/null
rm -rf "$folder"
"""
"""Runs a server until the input is closed, also because the parent was killed; then removes its folder.

SIGINT: connections are ended at once.
"""


class PostgresMissing(Exception):
    """There is no PostgreSQL to start, or it did not start; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. `address`: what psycopg connects to."""

    address: str


def programs() -> Path:
    """Returns the folder with initdb and postgres. Raises PostgresMissing."""
    found = shutil.which("initdb")
    if found and shutil.which("postgres", path=str(Path(found).parent)):
        return Path(found).parent
    versions = [each for each in Path("/usr/lib/postgresql").glob("*/bin") if (each / "initdb").exists()]
    if not versions:
        raise PostgresMissing("there is no PostgreSQL server; install one: apt-get install postgresql")
    return max(versions, key=lambda each: int(each.parent.name) if each.parent.name.isdecimal() else 0)


@contextmanager
def started(seconds: float = START_LIMIT_S) -> Iterator[Server]:
    """Starts a server in a temporary folder and ends it. Raises PostgresMissing."""
    binaries = programs()
    folder = Path(tempfile.mkdtemp(prefix="dvs-postgres-"))
    user = _owner(folder)
    process: subprocess.Popen[bytes] | None = None
    try:
        data, log = folder / "data", folder / "log"
        _run([str(binaries / "initdb"), "-D", str(data), "-U", USER, "-A", "trust", "-E", "UTF8",
              "--locale=C", "--no-sync"], user, seconds)  # fmt: skip
        port = _free_port()
        options = [each for setting in SETTINGS for each in ("-c", setting)]
        options += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["sh", "-c", WATCHED, "sh", str(folder),
                 str(binaries / "postgres"), "-D", str(data), "-p", str(port), *options],
                stdin=subprocess.PIPE, stdout=output, stderr=output, user=user, cwd=folder,
                # Ctrl-C is for this process, which ends the server itself.
                start_new_session=True,
            )  # fmt: skip
        address = f"host=127.0.0.1 port={port} user={USER} dbname=postgres connect_timeout=5"
        _wait(process, address, log, seconds)
        yield Server(address)
    finally:
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _owner(folder: Path) -> str | None:
    """Gives a folder to a user that may run a server: PostgreSQL refuses root. None: the user of now."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        return name
    raise PostgresMissing("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _run(command: list[str], user: str | None, seconds: float) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, user=user, cwd="/", check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PostgresMissing(f"{Path(command[0]).name} does not run: {error}") from error
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise PostgresMissing(f"{Path(command[0]).name} fails: {words[-1] if words else 'no reason given'}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str, log: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)
    words = log.read_text(errors="replace").strip().splitlines()
    raise PostgresMissing(f"PostgreSQL did not start: {words[-1] if words else 'it says nothing'}")
