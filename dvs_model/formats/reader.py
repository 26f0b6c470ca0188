"""What a reader of a history format gives, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.history import History

MAX_BYTES = 64 * 1024 * 1024
"""Longest text of one history. A longer one is refused: it would take more memory than most machines have."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A history that could not be read. `error` has the line in the file, if it is about one."""

    name: str
    error: HistoryError


@dataclass(frozen=True, slots=True)
class Found:
    """A history, and the line of the file at which it begins."""

    history: History
    line: int


Item = Found | Refused
Read = Callable[[BinaryIO, str], Iterator[Item]]
"""From an open file and a name for what has none to its histories, one by one."""


def decoded(data: bytes, line: int = 1) -> str:
    """UTF-8 text. Raises HistoryError naming line and column."""
    try:
        return data.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = line + before.count(b"\n")
        column = error.start - (before.rfind(b"\n") + 1) + 1
        fact = f"byte {data[error.start]:#04x} is not UTF-8; a history is text"
        raise HistoryError(fact, where, column) from None


def too_long(line: int) -> HistoryError:
    """The error about a text beyond MAX_BYTES."""
    return HistoryError(f"more than {MAX_BYTES >> 20} MB in one history; split it into several", line, 1)
