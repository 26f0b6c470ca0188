"""Histories with derivations, as values (Adya 1999, sections 3.1 and 4.1; DVS paper, section 4).

Only `dvs_model.graph.wellformed.well_formed` makes a `History` from outside, so that every history is
well-formed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

INITIAL = -1
"""The transaction of unborn versions, x_init. It is never a node of a graph."""


class Version(NamedTuple):
    """One version of an object: the `number`-th modification (from 1) by transaction `txn`."""

    obj: str
    txn: int
    number: int

    @property
    def unborn(self) -> bool:
        """Whether this is x_init, the version before the first write."""
        return self.txn == INITIAL


def unborn(obj: str) -> Version:
    """Returns x_init, the version of an object before its first write."""
    return Version(obj, INITIAL, 0)


@dataclass(frozen=True, slots=True)
class Start:
    """s_i: the transaction begins."""

    txn: int


@dataclass(frozen=True, slots=True)
class Write:
    """w_i(x_i): an insert or update; `dead`: a delete."""

    txn: int
    version: Version
    value: str | None = None
    dead: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """r_i(x_j): a transaction reads one version of an object (Adya 1999, section 3.1).

    `value`: for display only. `cursor`: it reads through a cursor, rc_i(x_j) (Adya 1999, section 4.2.2).
    """

    txn: int
    version: Version
    value: str | None = None
    cursor: bool = False


@dataclass(frozen=True, slots=True)
class Derive:
    """d_i(x_i | y_j, ..): a version computed from exactly its sources (DVS paper, section 4.1)."""

    txn: int
    version: Version
    sources: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class PredicateRead:
    """r_i(P: Vset; matched), or with `writes` w_i(P: ..). An object left out stands for its unborn version.

    `matched`: the members that match; None: the history does not say.
    """

    txn: int
    predicate: str
    versions: tuple[Version, ...]
    matched: tuple[Version, ...] | None
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """c_i: the transaction commits; its last event."""

    txn: int


@dataclass(frozen=True, slots=True)
class Abort:
    """a_i: the transaction aborts; its last event. Its versions are never installed."""

    txn: int


Event: TypeAlias = Start | Write | Read | Derive | PredicateRead | Commit | Abort


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A complete, well-formed history.

    `events` in text order; with `implicit_initial`, it begins with the writes and the commit of a T0 that
    the text leaves out. `orders`: per object its committed versions, oldest first, without the unborn one.
    `matches`: per predicate with a `matches` clause all versions that match. `sessions`: per name its
    transactions in order. `precedes`: time-precedes items (i, j), c_i before s_j.
    """

    name: str = ""
    events: tuple[Event, ...]
    orders: Mapping[str, tuple[Version, ...]]
    matches: Mapping[str, frozenset[Version]] = field(default_factory=dict)
    sessions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    precedes: tuple[tuple[int, int], ...] = ()
    implicit_initial: bool = False

    def transactions(self) -> tuple[int, ...]:
        """Returns all transactions in the order of their first events."""
        return tuple(dict.fromkeys(event.txn for event in self.events))

    def shown_events(self) -> tuple[Event, ...]:
        """Returns the events without those of an implicit T0."""
        return tuple(e for e in self.events if e.txn != 0) if self.implicit_initial else self.events


def versions_of(event: Event) -> Iterator[Version]:
    """Yields every version that an event names."""
    match event:
        case Write(version=version) | Read(version=version):
            yield version
        case Derive(version=version, sources=sources):
            yield version
            yield from sources
        case PredicateRead(versions=versions):
            yield from versions
        case _:
            pass


def versions_read(event: Event) -> tuple[Version, ...]:
    """Returns the versions that an event reads."""
    match event:
        case Read(version=version):
            return (version,)
        case PredicateRead(versions=versions):
            return versions
        case _:
            return ()
