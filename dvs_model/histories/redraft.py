"""From a history, or a part of it, back to a draft: to write it as text, or to change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from dvs_model.histories.draft import Chain, Draft, DraftEvent, Matches, Name, Precedes, Session, Special
from dvs_model.histories.history import (
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
    versions_of,
)


def redraft(
    history: History,
    events: Sequence[Event] | None = None,
    removed: Collection[Version] = (),
    dropped: Collection[str] = (),
) -> Draft:
    """Returns a draft of some events of a history, with modifications numbered anew.

    Without `events` the draft says all that the history says: `well_formed(redraft(h)) == h`. Else it has the
    clauses that still say something about these events. `removed`: versions left out of clauses. `dropped`:
    clauses left out: "time", or "session NAME".
    """
    all_events = events is None
    events = history.events if events is None else events
    naming = Naming(events)
    hidden = 0 if history.implicit_initial else None
    shown = [event for event in events if event.txn != hidden]
    ended = {event.txn for event in events if isinstance(event, Commit | Abort)}
    read = {event.predicate for event in events if isinstance(event, PredicateRead)}
    named = {version for event in shown for version in versions_of(event)} if all_events else set()

    def remaining(versions: Iterable[Version]) -> list[Version]:
        return [version for version in versions if version in naming.numbers and version not in removed]

    orders = map(remaining, history.orders.values())
    return Draft(
        history.name,
        [naming.event(event) for event in shown],
        [
            Chain(naming.names(order))
            for order in orders
            # A version of an implicit T0 exists only where something names it.
            if len(order) > 1 or (all_events and any(v.txn == hidden and v not in named for v in order))
        ],
        [
            Matches(predicate, naming.names(remaining(sorted(matching))))
            for predicate, matching in history.matches.items()
            if all_events or predicate in read
        ],
        [s for s in _sessions(history, ended, 1 if all_events else 2) if f"session {s.name}" not in dropped],
        [
            Precedes(before, after)
            for before, after in history.precedes
            if "time" not in dropped and before in ended and after in ended
        ],
    )


def _sessions(history: History, ended: Collection[int], fewest: int) -> Iterator[Session]:
    """Yields the sessions, cut down to transactions that ended, which still have `fewest` or more of them."""
    for name, txns in history.sessions.items():
        members = tuple(txn for txn in txns if txn in ended)
        if len(members) >= fewest:
            yield Session(name, members)


@dataclass(slots=True)
class Naming:
    """The names of the versions that events make. `numbers`: which modification of its transaction one is."""

    events: Sequence[Event]
    numbers: dict[Version, int] = field(default_factory=dict)
    made: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for event in self.events:
            if isinstance(event, Write | Derive):
                self.made[event.version[:2]] += 1
                self.numbers[event.version] = self.made[event.version[:2]]

    def name(self, version: Version) -> Name:
        """Returns the name of a version, with its number only where its transaction makes several."""
        if version.unborn:
            return Name(version.obj, Special.INIT)
        several = self.made[version[:2]] > 1
        return Name(version.obj, version.txn, self.numbers[version] if several else None)

    def names(self, versions: Iterable[Version]) -> tuple[Name, ...]:
        """Returns the names of some versions."""
        return tuple(map(self.name, versions))

    def event(self, event: Event) -> DraftEvent:
        """Returns an event with names instead of versions."""
        match event:
            case Start(txn):
                return DraftEvent("s", txn)
            case Commit(txn):
                return DraftEvent("c", txn)
            case Abort(txn):
                return DraftEvent("a", txn)
            case Write(txn, version, value, dead):
                name = Name(version.obj, Special.DEAD) if dead else self.name(version)
                return DraftEvent("w", txn, (name,), value=value)
            case Read(txn, version, value, cursor):
                return DraftEvent("rc" if cursor else "r", txn, (self.name(version),), value=value)
            case Derive(txn, version, sources):
                return DraftEvent("d", txn, (self.name(version),), self.names(sources))
            case PredicateRead(txn, predicate, versions, matched, writes):
                members = None if matched is None else self.names(matched)
                return DraftEvent("W" if writes else "R", txn, self.names(versions), members, predicate)
            case _:
                assert_never(event)
