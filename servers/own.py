"""A database server of our own: a program of Debian's, a folder that is thrown away, the loopback address.

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

START_LIMIT_S = 60
END_LIMIT_S = 20

WATCHED = """
exec 3<&0
folder=$1; stop=$2; shift 2
"$@" </dev/null 3<&- &
server=$!
echo $server > "$folder/pid"
( cat <&3 >/dev/null; kill -0 $server && : > "$folder/ended" && kill -$stop $server ) 2>/dev/null &
watcher=$!
wait $server
kill $watcher 2>/dev/null
[ -e "$folder/ended" ] && rm -rf "$folder"
"""
"""Runs a server until the input is closed, also because the parent was killed; then removes its folder.

A server that ends by itself, or is killed, leaves it, to be started again: the input is then closed after the
server's end, and a watcher that is still there must not take that for the end of the parent.
"""


class ServerMissing(Exception):
    """Raised where a server is not installed or does not start; the message says which, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How servers of a kind are started.

    `users`: who may run one where we are root, the first that exists; empty: root may. `stop`: the
    signal that ends it and its connections at once. `make`: the command that makes its data in a folder;
    `serve`: the one that runs it at a port. `address`: what clients connect to. `connect`: connects and
    closes, or raises `refused`.
    """

    name: str
    users: Sequence[str]
    stop: str
    make: Callable[[Path], Sequence[str]]
    serve: Callable[[Path, int], Sequence[str]]
    address: Callable[[int], str]
    connect: Callable[[str], None]
    refused: type[Exception]


@dataclass(slots=True)
class Server:
    """A running server. `address`: what clients connect to. `seconds`: how long a start may take."""

    address: str
    program: Program
    folder: Path
    port: int
    user: str | None
    seconds: float
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, also again after `kill`. Raises ServerMissing."""
        log, end = self.folder / "log", time.monotonic() + self.seconds
        # What a killed server has left, such as processes that still end, may refuse the first attempts.
        while self.process is None or time.monotonic() < end:
            self._launch(log)
            if self._answers(end):
                return
        words = log.read_text(errors="replace").strip().splitlines()
        name = self.program.name
        raise ServerMissing(f"{name} did not start: {words[-1] if words else 'it says nothing'}")

    def kill(self) -> None:
        """Kills it at once, as a crash does: what the operating system has been given stays."""
        assert self.process is not None
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)
        self.process.wait(END_LIMIT_S)
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> None:
        """Ends it."""
        if self.process is None:
            return
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _launch(self, log: Path) -> None:
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["sh", "-c", WATCHED, "sh", str(self.folder), self.program.stop,
                 *self.program.serve(self.folder, self.port)],
                stdin=subprocess.PIPE, stdout=output, stderr=output, user=self.user, cwd=self.folder,
                # Ctrl-C is for this process, which ends the server itself.
                start_new_session=True,
            )  # fmt: skip

    def _answers(self, end: float) -> bool:
        """Waits until clients can connect, the server has ended or `end` is over; tells whether they can."""
        assert self.process is not None
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.program.connect(self.address)
            except self.program.refused:
                time.sleep(0.05)
            else:
                return True
        return False


@contextmanager
def started(program: Program, seconds: float = START_LIMIT_S) -> Iterator[Server]:
    """Starts a server in a temporary folder for the block, then removes both. Raises ServerMissing."""
    folder = Path(tempfile.mkdtemp(prefix="dvs-server-"))
    port = _free_port()
    try:
        user = _owner(program, folder)
        server = Server(program.address(port), program, folder, port, user, seconds)
        _run(program.make(folder), user, seconds)
        try:
            server.start()
            yield server
        finally:
            server.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _owner(program: Program, folder: Path) -> str | None:
    """Gives a folder to a user that may run the server, because root may not, and returns that user.

    None: the present user may. Raises ServerMissing: there is no such user.
    """
    if os.geteuid() != 0 or not program.users:
        return None
    for name in program.users:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            return name
    raise ServerMissing(
        f"{program.name} does not run as root, and there is no user {' or '.join(program.users)}"
    )


def _run(command: Sequence[str], user: str | None, seconds: float) -> None:
    """Runs a command to its end. Raises ServerMissing where it fails or takes longer."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, user=user, cwd="/", check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerMissing(f"{Path(command[0]).name} does not run: {error}") from error
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ServerMissing(f"{Path(command[0]).name} fails: {words[-1] if words else 'no reason given'}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
