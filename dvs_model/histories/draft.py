"""Drafts: histories as someone wrote them, before they are known to be well-formed; and as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

Locate = Callable[[int], tuple[int | None, int | None]]
"""From an offset to line and column, both counted from 1; None, None: not read from a text."""


class Special(Enum):
    """Names of versions that carry no transaction."""

    INIT = "init"
    DEAD = "dead"


class Name(NamedTuple):
    """A version as written; `number` None: the transaction's final version of the object."""

    obj: str
    txn: int | Special
    number: int | None = None

    def __str__(self) -> str:
        between = "" if self.obj.isalpha() and isinstance(self.txn, int) else "_"
        index = self.txn.value if isinstance(self.txn, Special) else str(self.txn)
        return f"{self.obj}{between}{index}" + ("" if self.number is None else f".{self.number}")


class DraftEvent(NamedTuple):
    """One event. `kind`: s, w, r, rc, d, c, a as in the notation, R and W for predicate reads and writes.

    `names`: the version written, read or derived; or the version set. `others`: a derivation's sources, or
    the members that match (None: not stated). `at`: its offset in the text, for messages.
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
            case "w" | "r" | "rc":
                value = "" if self.value is None else f", {self.value}"
                return f"{self.kind}{self.txn}({self.names[0]}{value})"
            case "d":
                return f"d{self.txn}({self.names[0]} | {listed(self.others or ())})"
            case _:
                matched = "" if self.others is None else f"; {listed(self.others)}".rstrip()
                return f"{self.kind.lower()}{self.txn}({self.predicate}: {listed(self.names)}{matched})"


def listed(names: tuple[Name, ...]) -> str:
    """Returns a version set as text."""
    return ", ".join(map(str, names))


class Chain(NamedTuple):
    """A version order: versions of one object, the oldest first."""

    names: tuple[Name, ...]
    at: int = -1

    def __str__(self) -> str:
        return " << ".join(map(str, self.names))


class Matches(NamedTuple):
    """A `matches` clause: all versions that match a predicate."""

    predicate: str
    names: tuple[Name, ...]
    at: int = -1

    def __str__(self) -> str:
        return f"{self.predicate} matches {listed(self.names)}".rstrip()


class Session(NamedTuple):
    """A `session` clause: the transactions of a session in order."""

    name: str
    txns: tuple[int, ...]
    at: int = -1

    def __str__(self) -> str:
        return f"session {self.name}: {', '.join(map(str, self.txns))}"


class Precedes(NamedTuple):
    """A time-precedes item: T_before commits before T_after starts."""

    before: int
    after: int
    at: int = -1

    def __str__(self) -> str:
        return f"c{self.before} < s{self.after}"


@dataclass(slots=True)
class Draft:
    """Events and clauses. `locate` gives the place of an `at`."""

    name: str = ""
    events: list[DraftEvent] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    matches: list[Matches] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    precedes: list[Precedes] = field(default_factory=list)
    locate: Locate = lambda at: (None, None)

    def __str__(self) -> str:
        orders = (", ".join(map(str, self.chains)), ", ".join(map(str, self.precedes)))
        clauses = [*filter(None, ["; ".join(filter(None, orders))]), *self.matches, *self.sessions]
        return "\n".join([" ".join(map(str, self.events)), *(f"[{clause}]" for clause in clauses)])
