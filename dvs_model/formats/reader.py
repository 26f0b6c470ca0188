"""What readers of history formats share: the types of their results, and texts and JSON as they read them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, BinaryIO, Protocol

from dvs_model.analysis.verdict import Unselected
from dvs_model.errors import HistoryError
from dvs_model.histories.history import History
from dvs_model.observed.seen import Observed

LARGE_FILE = 1 << 20
"""Bytes from which on a history is read as columns, if it is a plain one."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A history that could not be read. `error` has the line in the file, if it is about one."""

    name: str
    error: HistoryError


@dataclass(frozen=True, slots=True)
class Whole:
    """A large history of which only the part that the default reading's verdicts depend on was read.

    `size`: how much it has, as counts by name. `read`: reads all of it.
    """

    size: Mapping[str, int]
    read: Callable[[], History]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The operations of a file, by place, of which some can be left out.

    `fixed`: the ones that stay. `read`: returns the history of some of them, in which transactions keep their
    numbers. `written`: returns the file of some.
    """

    count: int
    fixed: Sequence[int]
    read: Callable[[Sequence[int]], Parsed]
    written: Callable[[Sequence[int]], bytes]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A history, and the line of the file at which it begins.

    `unread`: why reads are missing in it; verdicts that depend on reads are unknown then. Empty: none are.
    `unselected`: the same for the versions that reads by predicates have selected. `places`: where
    transactions stand in the file. `windows`: starts and commits are what clients saw of them: a transaction
    began in the database after its start, and was over before its commit. `unexplained`: why something that
    clients saw is left out, because no order of the history explains it, or why versions have no order.
    `whole`: the history of which `history` is a part, if it is one. `pieces`: what can be left out of a file
    that clients recorded.
    """

    history: History
    line: int
    unread: str = ""
    unselected: Unselected | None = None
    places: Mapping[int, str] = field(default_factory=dict)
    windows: bool = False
    unexplained: str = ""
    whole: Whole | None = None
    pieces: Pieces | None = None

    @property
    def left_open(self) -> str:
        """Why some verdicts on the history are unknown; empty if none is."""
        unselected = "" if self.unselected is None else self.unselected.reason
        return self.unread or self.unexplained or unselected


class Form(Enum):
    """The format of a file that clients recorded, so that a part of the history can be written in it."""

    EDN = "edn"
    ELLE_JSON = "elle-cli's JSON"
    PLUME = "plume"
    COBRA = "cobra"
    BINCODE = "dbcop's binary file"
    DBCOP_JSON = "dbcop's JSON"
    HIST = "dbcop's .hist"
    AWDIT = "awdit"
    TIMEKILLER = "timekiller"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Viewed:
    """A history as clients saw it, the line of the file at which it begins, and the format of the file."""

    observed: Observed
    line: int
    form: Form | None = None


Item = Parsed | Viewed | Refused


class Reader(Protocol):
    """From an open file, a name for histories without one, and the workload, to the histories in it."""

    def __call__(self, file: BinaryIO, name: str, workload: str | None = None, /) -> Iterator[Item]: ...


def reads(form: Form) -> Callable[[Callable[[bytes, str], Observed]], Reader]:
    """Returns a decorator that makes the reader of a format with one history, as clients saw it.

    It is for a function from the bytes of a file and a name to the history, which raises HistoryError.
    """

    def reader(observed: Callable[[bytes, str], Observed]) -> Reader:
        def read(file: BinaryIO, name: str, workload: str | None = None, /) -> Iterator[Item]:
            try:
                yield Viewed(observed(file.read(), name), 1, form)
            except HistoryError as error:
                yield Refused(name, error)

        return read

    return reader


def json_value(text: str, line: int | None = None) -> object:
    """Returns the value of a JSON text, which is one line of a file or, by default, a whole file.

    Raises HistoryError with line and column: it is none.
    """
    at = line or 1
    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=no_number)
    except WrongJsonError as error:
        raise HistoryError(str(error), at, 1) from None
    except json.JSONDecodeError as error:
        raise HistoryError(f"no JSON: {error.msg}", line or error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        # Brackets of thousands of levels, or a number of thousands of digits.
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number too long to be read"
        raise HistoryError(f"no history: JSON {reason}", at, 1) from None
    if SURROGATE.search(text):
        encodable(value, at)
    return value


SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""Half a character of JSON, unless the other half follows."""


class WrongJsonError(Exception):
    """JSON that some readers take and this one does not."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns a JSON object. Raises WrongJsonError: a key is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise WrongJsonError(f"the key {json.dumps(twice)[:60]} is there twice in one object")
    return found


def no_number(text: str) -> None:
    """Raises WrongJsonError: NaN and Infinity are no JSON."""
    raise WrongJsonError(f"{text} is no JSON")


def encodable(value: object, line: int) -> None:
    """Checks that a value of JSON can be written as UTF-8. Raises HistoryError: it cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise HistoryError("half a character (a lone surrogate) in a string", line, 1) from None


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
