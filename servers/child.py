"""A process that answers in JSON lines: another version of this program, or dbt in the user's Python."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

END_LIMIT_S = 20.0
"""Seconds that a child may take to remove its temporary files."""


class ChildFailed(RuntimeError):
    """Raised where the process has ended, took longer than its limit, or answers no JSON object."""


class ChildMissing(ChildFailed):
    """Raised where the process does not start."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process with which this one talks. `stderr`: the file that its error output goes to."""

    process: subprocess.Popen[str]
    stderr: IO[str]

    def ask(self, request: object, limit: float | None = None) -> dict[str, Any]:
        """Returns the answer to a request; kills the process after `limit` seconds. Raises ChildFailed."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise ChildFailed("its process has ended") from error
        return self.answer(limit)

    def answer(self, limit: float | None = None) -> dict[str, Any]:
        """Returns the next answer; kills the process after `limit` seconds. Raises ChildFailed."""
        assert self.process.stdout is not None
        timer = None if limit is None else threading.Timer(limit, self.process.kill)
        if timer is not None:
            timer.start()
        try:
            answer = json.loads(self.process.stdout.readline())
        except ValueError as error:
            raise ChildFailed("its process has ended, or its answer is no JSON") from error
        finally:
            if timer is not None:
                timer.cancel()
        if not isinstance(answer, dict):
            raise ChildFailed("its answer is no JSON object")
        return answer

    def last_words(self) -> str:
        """Kills the process and returns the last line of its error output; empty where it wrote none."""
        self.process.kill()
        self.process.wait()
        self.stderr.seek(0)
        lines = self.stderr.read().strip().splitlines()
        return lines[-1] if lines else ""

    def end(self) -> None:
        """Ends the process: when its input is closed it stops and removes its temporary files."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()


@contextmanager
def child(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Child]:
    """Starts a process for the block, and ends it then. Raises ChildMissing."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
                env=dict(environment),
            )
        except OSError as error:
            raise ChildMissing(str(error)) from error
        with process:
            one = Child(process, stderr)
            try:
                yield one
            finally:
                one.end()
