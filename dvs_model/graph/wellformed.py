"""Turn a draft of a history into a well-formed history, or raise an error that names the events.

The rules are those of Adya 1999, section 3.1.2: a transaction ends with its commit or abort; a read names a
version that exists; version orders hold exactly the committed versions. The sources of a derivation exist
before it (DVS paper, section 4.1), so "derives from" has no cycle. docs/notation.md has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from dvs_model.errors import HistoryError
from dvs_model.graph.cycles import strong_labels
from dvs_model.histories import history
from dvs_model.histories.clauses import Clauses
from dvs_model.histories.draft import Draft, DraftEvent, Name, Special
from dvs_model.histories.inventory import T0, Inventory


def well_formed(draft: Draft) -> history.History:
    """Returns the history of a draft. Raises HistoryError: it breaks a rule; the error has its place."""
    inventory = Inventory(draft)
    resolution = Resolution(inventory)
    events = [resolution.event(number, event) for number, event in enumerate(draft.events)]
    clauses = Clauses(inventory)
    chains, matches = clauses.chains(), clauses.matches()
    orders = clauses.orders(chains, clauses.committed())
    if resolution.early:
        circular(resolution, events, orders)
    return history.History(
        name=draft.name,
        # Every name has been resolved by now, so the versions of an implicit T0 are known.
        events=(*initial_events(inventory), *events),
        orders=orders,
        matches=matches,
        sessions=clauses.sessions(),
        precedes=clauses.precedes(),
        implicit_initial=bool(inventory.initial),
    )


def initial_events(inventory: Inventory) -> Iterator[history.Event]:
    """Yields the events of an implicit T0."""
    if inventory.initial:
        yield from (history.Write(T0, history.Version(obj, T0, 1)) for obj in sorted(inventory.initial))
        yield history.Commit(T0)


def circular(
    resolution: Resolution, events: Sequence[history.Event], orders: Mapping[str, tuple[history.Version, ...]]
) -> None:
    """Checks that each read of what is made later lies on a cycle of read and write dependencies.

    On a cycle no order of the events could put the write first: the history is real, and it has G1c.
    Otherwise another order of the text would do, so the text is wrong, not the database. Raises HistoryError:
    a read lies on no such cycle.
    """
    end = {event.txn: number for number, event in enumerate(events) if isinstance(event, history.Commit)}
    pairs = [(a.txn, b.txn) for order in orders.values() for a, b in pairwise(order)]
    pairs += [(event.version.txn, event.txn) for event in events if isinstance(event, history.Read)]
    number = {txn: place for place, txn in enumerate(end)}
    arcs = [(number[a], number[b]) for a, b in pairs if a in number and b in number]
    labels = strong_labels((a for a, _ in arcs), (b for _, b in arcs), len(number))
    for version, event in resolution.early:
        # Only committed transactions have dependencies.
        knots = [labels[number[txn]] if txn in number else None for txn in (version.txn, event.txn)]
        if None in knots or knots[0] != knots[1]:
            raise resolution.too_early(version, event)


class Resolution:
    """The second pass: resolves the names of every event, in text order. Its methods raise HistoryError.

    `latest`: the latest version of an object that a transaction has made so far, with the event. `early`: the
    item reads of versions that another transaction makes later.
    """

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.error, self.clash = inventory.error, inventory.clash
        self.latest: dict[tuple[str, int], tuple[history.Version, DraftEvent]] = {}
        self.early: list[tuple[history.Version, DraftEvent]] = []

    def event(self, number: int, event: DraftEvent) -> history.Event:
        """Returns the event with every name resolved; `number`: its place in the draft."""
        match event.kind:
            case "s":
                return history.Start(event.txn)
            case "c":
                return history.Commit(event.txn)
            case "a":
                return history.Abort(event.txn)
            case "w":
                version = self.made(event)
                return history.Write(event.txn, version, event.value, event.names[0].txn is Special.DEAD)
            case "r" | "rc":
                return self.read(number, event)
            case "d":
                version = self.made(event)
                sources = [self.used(name, number, event) for name in event.others or ()]
                return history.Derive(event.txn, version, tuple(dict.fromkeys(sources)))
            case "R" | "W":
                return self.predicate(number, event)
        raise self.error(f"unknown event {event}", event.at)

    def made(self, event: DraftEvent) -> history.Version:
        """Returns the version that a write or derivation makes, now the latest of its transaction."""
        name = event.names[0]
        before = self.latest.get((name.obj, event.txn))
        version = history.Version(name.obj, event.txn, 1 if before is None else before[0].number + 1)
        self.latest[name.obj, event.txn] = version, event
        return version

    def read(self, number: int, event: DraftEvent) -> history.Read:
        """Returns the item read of a draft event.

        Raises HistoryError: for a version that is unborn, dead or not made yet, or that is not the latest of
        those that the transaction itself has made of the object.
        """
        name = event.names[0]
        if isinstance(name.txn, Special):
            fact = f"{event}: an unborn or dead version cannot be read, only named in a version set"
            raise self.error(fact, event.at)
        version = self.used(name, number, event)
        if version in self.inventory.dead.get(version.obj, ()):
            maker = self.inventory.created[version]
            raise self.clash("a dead version cannot be read, and this one was made by", event, maker)
        self.check_latest(version.obj, version, event)
        return history.Read(event.txn, version, event.value, event.kind == "rc")

    def check_latest(self, obj: str, version: history.Version | None, event: DraftEvent) -> None:
        """Checks that a transaction sees its own latest version of an object that it has made before."""
        mine = self.latest.get((obj, event.txn))
        if mine is not None and mine[0] != version:
            fact = f"a transaction sees its own latest version of {obj}, which was made by"
            raise self.clash(fact, event, mine[1])

    def predicate(self, number: int, event: DraftEvent) -> history.PredicateRead:
        """Returns a predicate read or write.

        Raises HistoryError: two versions of one object, an own version that is not the latest, or a matching
        version outside of the version set.
        """
        versions = tuple(self.used(name, number, event) for name in event.names)
        seen: dict[str, history.Version] = {}
        for version in versions:
            if version.obj in seen:
                raise self.error(f"{event}: two versions of {version.obj} in one version set", event.at)
            seen[version.obj] = version
            self.check_latest(version.obj, version, event)
        for obj in self.inventory.relations[event.predicate]:
            mine = self.latest.get((obj, event.txn))
            # A version set stands for all objects of the relation: one that is left out is unborn, but here
            # the transaction itself has written the object.
            if obj not in seen and mine is not None and mine[1].kind == "w":
                fact = f"a transaction sees its own latest version of {obj}, which is left out here, made by"
                raise self.clash(fact, event, mine[1])
        matched = None
        if event.others is not None:
            matched = tuple(self.used(name, number, event) for name in event.others)
            for version, name in zip(matched, event.others, strict=True):
                if seen.get(version.obj) != version:
                    raise self.error(f"{event}: {name} matches but is not in the version set", event.at)
                self.inventory.matching(version, event, name, event.at)
        return history.PredicateRead(event.txn, event.predicate, versions, matched, event.kind == "W")

    def used(self, name: Name, number: int, event: DraftEvent) -> history.Version:
        """Returns a version that an event names; it must have been made before.

        Only an item read may name what another transaction writes later: see `circular`.
        """
        version = self.inventory.resolved(name, event.txn, event.at, event)
        if version.unborn or (version.txn == T0 and self.inventory.implicit):
            return version
        if self.inventory.place[version] >= number:
            written = self.inventory.created[version].kind == "w"
            if event.kind not in ("r", "rc") or version.txn == event.txn or not written:
                raise self.too_early(version, event)
            self.early.append((version, event))
        return version

    def too_early(self, version: history.Version, event: DraftEvent) -> HistoryError:
        """Returns the error that an event names a version that is made after it."""
        maker = self.inventory.created[version]
        used = next(name for name in (*event.names, *(event.others or ())) if name.obj == version.obj)
        return self.clash(f"{used} is used before it is made by", event, maker)
