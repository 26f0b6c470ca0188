"""Runs a PGlite server as a child process, with the one connection that it accepts; one for each thread."""

from __future__ import annotations

import atexit
import os
import selectors
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from engines.others.node.packages import needed, node

START_LIMIT_S = 120
SOCKET = ".s.PGSQL.5432"
"""The name of the socket that libpq looks for in a folder."""


class ServerDied(RuntimeError):
    """Raised where the server did not start, or ended."""


@dataclass(slots=True)
class Server:
    """A running PostgreSQL, whose one session several databases share.

    `schema`: the schema in the search path of the session now. `names`: how many schemas were named.
    """

    process: subprocess.Popen[str]
    folder: Path
    connection: psycopg.Connection
    schema: str = ""
    names: int = field(default=0)

    @classmethod
    def start(cls) -> Server:
        """Starts a server, which takes about 5 s. Raises NodeMissing, ServerDied."""
        cache = needed(os.environ)
        folder = Path(tempfile.mkdtemp(prefix="dvs-pg-"))
        process = subprocess.Popen(
            [node(os.environ.get("PATH")), str(cache.server("pglite.mjs")), str(folder / SOCKET)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            _wait_until_ready(process)
            connection = psycopg.connect(
                host=str(folder),
                user="postgres",
                dbname="postgres",
                sslmode="disable",
                autocommit=True,
                prepare_threshold=None,
            )
        except BaseException:
            _end(process, folder)
            raise
        atexit.register(_end, process, folder)
        return cls(process, folder, connection)

    @property
    def alive(self) -> bool:
        """Whether process and connection are still open, as far as is known without a query."""
        return self.process.poll() is None and not self.connection.closed and not self.connection.broken

    def kill(self) -> None:
        """Ends the server, also in the middle of a query."""
        self.process.kill()


def _wait_until_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(START_LIMIT_S):
            raise ServerDied(f"PGlite did not start within {START_LIMIT_S} s")
    if process.stdout.readline().strip() != "ready":
        raise ServerDied("PGlite ended before it was ready")


def _end(process: subprocess.Popen[str], folder: Path) -> None:
    process.kill()
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


_of_thread = threading.local()


def server_of_thread() -> Server:
    """Returns the server of this thread, started on first use and again after it has died."""
    server: Server | None = getattr(_of_thread, "server", None)
    if server is None or not server.alive:
        if server is not None:
            _end(server.process, server.folder)
        server = Server.start()
        _of_thread.server = server
    return server
