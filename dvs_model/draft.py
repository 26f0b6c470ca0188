"""A history as someone wrote it down, before it is known to be well-formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Special(Enum):
    """Names of versions that carry no transaction."""

    INIT = "init"
    DEAD = "dead"


class Name(NamedTuple):
    """A version as written: `number` None stands for the transaction's final one."""

    obj: str
    txn: int | Special
    number: int | None = None

    def __str__(self) -> str:
        between = "" if self.obj.isalpha() and isinstance(self.txn, int) else "_"
        index = self.txn.value if isinstance(self.txn, Special) else str(self.txn)
        return f"{self.obj}{between}{index}" + ("" if self.number is None else f".{self.number}")


class DraftEvent(NamedTuple):
    """One event. `kind`: s, w, r, d, c, a as in the notation, R and W for predicate reads and writes.

    `names`: the version written, read or derived; or the version set. `others`: a derivation's sources, or
    the members that match (None: not said). `at`: its place, for messages.
    """

    kind: str
    txn: int
    names: tuple[Name, ...] = ()
    others: tuple[Name, ...] | None = None
    predicate: str = ""
    value: str | None = None
    at: int = -1

    def __str__(self) -> str:
        match self.kind:
            case "s" | "c" | "a":
                return f"{self.kind}{self.txn}"
            case "w" | "r":
                return f"{self.kind}{self.txn}({self.names[0]})"
            case "d":
                return f"d{self.txn}({self.names[0]} | {', '.join(map(str, self.others or ()))})"
            case _:
                matched = "" if self.others is None else f"; {', '.join(map(str, self.others))}"
                inside = f"{self.predicate}: {', '.join(map(str, self.names))}{matched}"
                return f"{self.kind.lower()}{self.txn}({inside})"


class Chain(NamedTuple):
    """A version order, as written."""

    names: tuple[Name, ...]
    at: int = -1


class Matches(NamedTuple):
    """A `matches` clause."""

    predicate: str
    names: tuple[Name, ...]
    at: int = -1


class Session(NamedTuple):
    """A `session` clause."""

    name: str
    txns: tuple[int, ...]
    at: int = -1


class Precedes(NamedTuple):
    """A time-precedes item: c_before earlier than s_after."""

    before: int
    after: int
    at: int = -1


def nowhere(at: int) -> tuple[int | None, int | None]:
    """The place of what was not read from a text."""
    return None, None


@dataclass(slots=True)
class Draft:
    """Events and clauses. `locate` gives line and column of an `at`."""

    name: str = ""
    events: list[DraftEvent] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    matches: list[Matches] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    precedes: list[Precedes] = field(default_factory=list)
    locate: Callable[[int], tuple[int | None, int | None]] = nowhere
