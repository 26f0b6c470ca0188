"""What a draft makes, and what its names mean: the first reading of two."""

from __future__ import annotations

from collections.abc import Iterable

from dvs_model.draft import Draft, DraftEvent, Name, Special
from dvs_model.errors import HistoryError
from dvs_model.history import Version, unborn

T0 = 0
"""The transaction that may stay implicit."""


class Inventory:
    """Who starts and ends where, which versions are made by which event, what predicates range over.

    Raises HistoryError while it is made: a transaction without end or with an event after it, a version made
    twice or out of turn, an object both written and derived.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.ended: dict[int, DraftEvent] = {}
        self.started: dict[int, DraftEvent] = {}
        self.created: dict[Version, DraftEvent] = {}
        self.order_of_creation: dict[Version, int] = {}
        self.last: dict[tuple[str, int], int] = {}
        self.final: dict[tuple[str, int], DraftEvent] = {}
        self.dead: dict[str, list[Version]] = {}
        self.kind: dict[str, DraftEvent] = {}
        self.initial: dict[str, None] = {}
        """The objects of which an implicit T0 wrote a version, as far as names were resolved."""
        self.relations: dict[str, dict[str, None]] = {}
        for number, event in enumerate(draft.events):
            self.lifetime(event)
            if event.kind in "wd":
                self.creation(number, event)
            elif event.kind in "RW":
                self.ranging(event.predicate, event.names)
        for clause in draft.matches:
            self.ranging(clause.predicate, clause.names)
        self.implicit = all(event.txn != T0 for event in draft.events)
        for txn, event in self.firsts().items():
            if txn not in self.ended:
                raise self.error(f"T{txn} neither commits nor aborts; its first event is {event}", event.at)

    def ranging(self, predicate: str, names: Iterable[Name]) -> None:
        """A predicate ranges over every object that is named with it."""
        self.relations.setdefault(predicate, {}).update((name.obj, None) for name in names)

    def firsts(self) -> dict[int, DraftEvent]:
        """Every transaction's first event."""
        first: dict[int, DraftEvent] = {}
        for event in self.draft.events:
            first.setdefault(event.txn, event)
        return first

    def error(self, fact: str, at: int) -> HistoryError:
        """An error with its place."""
        return HistoryError(fact, *self.draft.locate(at))

    def clash(self, fact: str, event: DraftEvent, other: DraftEvent) -> HistoryError:
        """An error about two events."""
        line, column = self.draft.locate(other.at)
        where = "" if line is None else f" (line {line}, column {column})"
        return self.error(f"{event}: {fact} {other}{where}", event.at)

    def lifetime(self, event: DraftEvent) -> None:
        """A transaction's start comes first, and nothing after its end."""
        if event.txn in self.ended:
            raise self.clash(f"T{event.txn} has already ended, by", event, self.ended[event.txn])
        if event.kind == "s" and event.txn in self.started:
            raise self.clash(
                "a start is the first event of its transaction, which has", event, self.started[event.txn]
            )
        self.started.setdefault(event.txn, event)
        if event.kind in "ca":
            self.ended[event.txn] = event

    def creation(self, number: int, event: DraftEvent) -> None:
        """A write or derivation makes the next version of its object."""
        name, txn = event.names[0], event.txn
        if name.txn is Special.DEAD and event.kind == "w":
            number_given = None
        elif name.txn != txn:
            raise self.error(
                f"{event}: a transaction makes versions of its own; write {name.obj}{txn}", event.at
            )
        else:
            number_given = name.number
        other = self.kind.setdefault(name.obj, event)
        if (other.kind == "d") != (event.kind == "d"):
            raise self.clash(f"{name.obj} is either written or derived, and there is", event, other)
        key = (name.obj, txn)
        expected = self.last.get(key, 0) + 1
        if key in self.final:
            raise self.clash("the final version has been made before, by", event, self.final[key])
        if number_given is not None and number_given != expected:
            raise self.error(
                f"{event}: modifications count from 1 without gaps; this is {name.obj}{txn}.{expected}",
                event.at,
            )
        if number_given is None:
            self.final[key] = event
        version = Version(name.obj, txn, expected)
        self.last[key] = expected
        self.created[version] = event
        self.order_of_creation[version] = number
        if name.txn is Special.DEAD:
            self.dead.setdefault(name.obj, []).append(version)

    def matching(self, version: Version, what: object, name: Name, at: int) -> None:
        """Unborn and dead versions match nothing."""
        if version.unborn or version in self.dead.get(version.obj, ()):
            raise self.error(f"{what}: {name} is unborn or dead and matches nothing", at)

    def resolved(self, name: Name, reader: int | None, at: int, what: object) -> Version:
        """What a name means."""
        obj, txn = name.obj, name.txn
        if txn is Special.INIT:
            return unborn(obj)
        if txn is Special.DEAD:
            return self.dead_version(obj, reader, at, what)
        assert isinstance(txn, int)
        if txn == T0 and self.implicit and name.number in (None, 1):
            self.initial[obj] = None
            derived = self.kind.get(obj)
            if derived is not None and derived.kind == "d":
                raise self.error(
                    f"{what}: {name} is written by an implicit T0, and {obj} is derived by {derived}", at
                )
            return Version(obj, T0, 1)
        last = self.last.get((obj, txn))
        if last is None:
            raise self.error(f"{what}: nobody makes {name}; T{txn} neither writes nor derives {obj}", at)
        number = last if name.number is None else name.number
        if not 1 <= number <= last:
            raise self.error(f"{what}: nobody makes {name}; T{txn} makes {last} version(s) of {obj}", at)
        return Version(obj, txn, number)

    def dead_version(self, obj: str, reader: int | None, at: int, what: object) -> Version:
        versions = self.dead.get(obj, [])
        own = [version for version in versions if version.txn == reader]
        committed = [version for version in versions if self.ended[version.txn].kind == "c"]
        found = own or committed or versions
        if len(found) != 1:
            count = "nobody" if not found else "more than one transaction"
            raise self.error(f"{what}: {count} deletes {obj}", at)
        return found[0]
