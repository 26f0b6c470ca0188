"""The first of two passes over a draft: which versions its events make, and what its names mean."""

from __future__ import annotations

from dvs_model.errors import HistoryError
from dvs_model.histories.draft import Draft, DraftEvent, Name, Special
from dvs_model.histories.history import Version, unborn

T0 = 0
"""The transaction that may stay implicit."""


class Inventory:
    """Where transactions start and end, which event makes which version, what predicates range over.

    `started`: the first event of a transaction, of any kind; `ended`: its commit or abort. `created`: the
    event that makes a version; `place`: the number of that event. `last`: by object and transaction, how many
    versions it makes. `final`: the event that names its version without a number (x1, not x1.2). `dead`: by
    object the versions that deletes make. `kind`: the first event that makes a version of the object.
    `initial`: the objects of which an implicit T0 wrote a version, as far as names were resolved.
    `relations`: the objects of a predicate. `implicit`: no event is of T0.

    Raises HistoryError when it is made: a transaction without an end or with an event after it, a version
    made twice or out of order, an object that is both written and derived.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.ended: dict[int, DraftEvent] = {}
        self.started: dict[int, DraftEvent] = {}
        self.created: dict[Version, DraftEvent] = {}
        self.place: dict[Version, int] = {}
        self.last: dict[tuple[str, int], int] = {}
        self.final: dict[tuple[str, int], DraftEvent] = {}
        self.dead: dict[str, list[Version]] = {}
        self.kind: dict[str, DraftEvent] = {}
        self.initial: dict[str, None] = {}
        self.relations: dict[str, dict[str, None]] = {}
        for number, event in enumerate(draft.events):
            self.lifetime(event)
            if event.kind in "wd":
                self.creation(number, event)
        selections = [(event.predicate, event.names) for event in draft.events if event.kind in "RW"]
        selections += [(clause.predicate, clause.names) for clause in draft.matches]
        for predicate, names in selections:
            self.relations.setdefault(predicate, {}).update((name.obj, None) for name in names)
        self.implicit = all(event.txn != T0 for event in draft.events)
        for txn, event in self.started.items():
            if txn not in self.ended:
                raise self.error(f"T{txn} neither commits nor aborts; its first event is {event}", event.at)

    def error(self, fact: str, at: int) -> HistoryError:
        """Returns an error with its place."""
        return HistoryError(fact, *self.draft.locate(at))

    def clash(self, fact: str, event: DraftEvent, other: DraftEvent) -> HistoryError:
        """Returns the error that `event` contradicts `other`; its text names both events and their places."""
        line, column = self.draft.locate(other.at)
        where = "" if line is None else f" (line {line}, column {column})"
        return self.error(f"{event}: {fact} {other}{where}", event.at)

    def lifetime(self, event: DraftEvent) -> None:
        """Notes the start and end of a transaction. Raises HistoryError: an event before or after them."""
        if event.txn in self.ended:
            raise self.clash(f"T{event.txn} has already ended, by", event, self.ended[event.txn])
        if event.kind == "s" and event.txn in self.started:
            fact = "a start is the first event of its transaction, which has"
            raise self.clash(fact, event, self.started[event.txn])
        self.started.setdefault(event.txn, event)
        if event.kind in "ca":
            self.ended[event.txn] = event

    def creation(self, number: int, event: DraftEvent) -> None:
        """Notes the version that a write or derivation makes, the next one of its transaction and object."""
        name, txn = event.names[0], event.txn
        if name.txn is Special.DEAD and event.kind == "w":
            number_given = None
        elif name.txn != txn:
            fact = f"{event}: a transaction makes versions of its own; write {name.obj}{txn}"
            raise self.error(fact, event.at)
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
            fact = f"{event}: modifications count from 1 without gaps; this is {name.obj}{txn}.{expected}"
            raise self.error(fact, event.at)
        if number_given is None:
            self.final[key] = event
        version = Version(name.obj, txn, expected)
        self.last[key] = expected
        self.created[version] = event
        self.place[version] = number
        if name.txn is Special.DEAD:
            self.dead.setdefault(name.obj, []).append(version)

    def matching(self, version: Version, what: object, name: Name, at: int) -> None:
        """Checks that a version can match a predicate. Raises HistoryError: it is unborn or dead."""
        if version.unborn or version in self.dead.get(version.obj, ()):
            raise self.error(f"{what}: {name} is unborn or dead and matches nothing", at)

    def resolved(self, name: Name, reader: int | None, at: int, what: object) -> Version:
        """Returns the version that a name means; notes in `initial` an object that an implicit T0 wrote.

        `reader`: the transaction whose event has the name, if any. `what`: the event or clause with the name,
        for messages. Raises HistoryError: nobody makes such a version.
        """
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
                fact = f"{what}: {name} is written by an implicit T0, and {obj} is derived by {derived}"
                raise self.error(fact, at)
            return Version(obj, T0, 1)
        last = self.last.get((obj, txn))
        if last is None:
            raise self.error(f"{what}: nobody makes {name}; T{txn} neither writes nor derives {obj}", at)
        number = last if name.number is None else name.number
        if not 1 <= number <= last:
            raise self.error(f"{what}: nobody makes {name}; T{txn} makes {last} version(s) of {obj}", at)
        return Version(obj, txn, number)

    def dead_version(self, obj: str, reader: int | None, at: int, what: object) -> Version:
        """Returns the version of the one deleter: of the reader itself, else of a committed one, else any."""
        versions = self.dead.get(obj, [])
        committed = [version for version in versions if self.ended[version.txn].kind == "c"]
        candidates = [v for v in versions if v.txn == reader] or committed or versions
        if len(candidates) != 1:
            count = "more than one transaction" if candidates else "nobody"
            raise self.error(f"{what}: {count} deletes {obj}", at)
        return candidates[0]
