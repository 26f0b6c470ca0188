"""What readers of history formats share: their results and their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.history import History

MAX_BYTES = 64 * 1024 * 1024
"""The longest text of one history. A longer one would need more memory than most machines have."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A history that could not be read. `error` has the line in the file, if it is about one."""

    name: str
    error: HistoryError


@dataclass(frozen=True, slots=True)
class Parsed:
    """A history, and the line of the file at which it begins.

    `unread`: why reads are missing in it; verdicts that depend on reads are unknown then. Empty: none are.
    """

    history: History
    line: int
    unread: str = ""


Item = Parsed | Refused
Read = Callable[[BinaryIO, str], Iterator[Item]]
"""From an open file, and a name for histories without one, to the histories in it."""


def decoded(data: bytes, line: int = 1) -> str:
    """Returns bytes as UTF-8 text. Raises HistoryError with line and column: they are not UTF-8."""
    try:
        return data.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = line + before.count(b"\n")
        column = error.start - (before.rfind(b"\n") + 1) + 1
        fact = f"byte {data[error.start]:#04x} is not UTF-8; a history is text"
        raise HistoryError(fact, where, column) from None


def too_long(line: int) -> HistoryError:
    """Returns the error about a text longer than MAX_BYTES."""
    return HistoryError(f"more than {MAX_BYTES >> 20} MB in one history; split it into several", line, 1)
