"""From a history, or a part of one, back to a draft: for whoever changes histories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import assert_never

from dvs_model.draft import Chain, Draft, DraftEvent, Matches, Name, Precedes, Session, Special
from dvs_model.history import (
    Abort,
    Commit,
    Derive,
    Event,
    History,
    PredicateRead,
    Read,
    Start,
    Version,
    Write,
)


@dataclass(slots=True)
class Redrafting:
    """Some events of a history as a draft, modifications numbered anew, clauses without what is gone.

    `dropped`: clauses to leave out: "time", or "session NAME".
    """

    history: History
    events: Collection[Event]
    gone: Collection[Version] = ()
    dropped: Collection[str] = ()
    numbers: dict[Version, int] = field(default_factory=dict)
    dead: set[Version] = field(default_factory=set)

    def draft(self) -> Draft:
        """The draft."""
        count: dict[tuple[str, int], int] = {}
        for event in self.events:
            if isinstance(event, Write | Derive):
                key = event.version.obj, event.version.txn
                count[key] = self.numbers[event.version] = count.get(key, 0) + 1
                if isinstance(event, Write) and event.dead:
                    self.dead.add(event.version)
        hidden = self.history.implicit_initial
        drafted = [self.event(event) for event in self.events if not (hidden and event.txn == 0)]
        return Draft(
            self.history.name,
            drafted,
            list(self.chains()),
            list(self.matches()),
            list(self.sessions()),
            list(self.precedes()),
        )

    def name(self, version: Version) -> Name:
        """A version's name."""
        if version.unborn:
            return Name(version.obj, Special.INIT)
        if version in self.dead:
            return Name(version.obj, Special.DEAD)
        return Name(version.obj, version.txn, self.numbers.get(version, 1))

    def names(self, versions: Iterable[Version]) -> tuple[Name, ...]:
        """The names of several."""
        return tuple(self.name(version) for version in versions)

    def event(self, event: Event) -> DraftEvent:
        """An event."""
        match event:
            case Start(txn):
                return DraftEvent("s", txn)
            case Commit(txn):
                return DraftEvent("c", txn)
            case Abort(txn):
                return DraftEvent("a", txn)
            case Write(txn, version, value, _):
                return DraftEvent("w", txn, (self.name(version),), None, "", value)
            case Read(txn, version, value):
                return DraftEvent("r", txn, (self.name(version),), None, "", value)
            case Derive(txn, version, sources):
                return DraftEvent("d", txn, (self.name(version),), self.names(sources))
            case PredicateRead(txn, predicate, versions, matched, writes):
                members = None if matched is None else self.names(matched)
                return DraftEvent("W" if writes else "R", txn, self.names(versions), members, predicate)
            case _:
                assert_never(event)

    def chains(self) -> Iterator[Chain]:
        """Version orders with two versions or more."""
        for versions in self.history.orders.values():
            left = [version for version in versions if version in self.numbers and version not in self.gone]
            if len(left) > 1:
                yield Chain(self.names(left))

    def matches(self) -> Iterator[Matches]:
        """The `matches` clauses of predicates that are still read."""
        read = {event.predicate for event in self.events if isinstance(event, PredicateRead)}
        for predicate, matching in self.history.matches.items():
            if predicate in read:
                left = [v for v in sorted(matching) if v in self.numbers and v not in self.gone]
                yield Matches(predicate, self.names(left))

    def ended(self) -> set[int]:
        """The transactions that are still there."""
        return {event.txn for event in self.events if isinstance(event, Commit | Abort)}

    def sessions(self) -> Iterator[Session]:
        """Sessions of two transactions or more."""
        ended = self.ended()
        for name, txns in self.history.sessions.items():
            left = tuple(txn for txn in txns if txn in ended)
            if len(left) > 1 and f"session {name}" not in self.dropped:
                yield Session(name, left)

    def precedes(self) -> Iterator[Precedes]:
        """Time-precedes items."""
        ended = self.ended()
        if "time" not in self.dropped:
            for before, after in self.history.precedes:
                if before in ended and after in ended:
                    yield Precedes(before, after)
