"""What every detector asks of a history, found in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dvs_model.history import (
    Abort,
    Commit,
    Derive,
    Event,
    History,
    PredicateRead,
    Read,
    Version,
    Write,
    unborn,
)


def derivations_ignored(history: History) -> History:
    """The history under persisted table semantics: a refresh reads its sources and writes its result."""
    events: list[Event] = []
    for event in history.events:
        if isinstance(event, Derive):
            events.extend(Read(event.txn, source) for source in event.sources)
            events.append(Write(event.txn, event.version))
        else:
            events.append(event)
    return replace(history, events=tuple(events))


@dataclass(slots=True)
class Facts:
    """An index of a history.

    `created`: the event that made a version. `sources`: of every derived version, committed or not.
    `last`: how many versions a transaction made of an object. `rank`: a committed version's place in its
    version order. `relations`: per predicate the objects it ranges over.
    """

    history: History
    created: dict[Version, int]
    sources: dict[Version, tuple[Version, ...]]
    derived: set[str]
    last: dict[tuple[str, int], int]
    commits: dict[int, int]
    aborts: dict[int, int]
    rank: dict[Version, int]
    updates: set[int]
    relations: dict[str, tuple[str, ...]]
    dead: set[Version]
    told: Mapping[tuple[str, Version], bool]

    @property
    def committed(self) -> list[int]:
        """The committed transactions in the order of their commits: the nodes of the DSG."""
        return list(self.commits)

    def next(self, version: Version) -> Version | None:
        """The next version of the object; None after the last one, and for what is not in the order."""
        order = self.history.orders.get(version.obj, ())
        if version.unborn:
            return order[0] if order else None
        place = self.rank.get(version)
        return None if place is None or place + 1 == len(order) else order[place + 1]

    def intermediate(self, version: Version) -> bool:
        """Whether its transaction made another version after it."""
        return not version.unborn and version.number < self.last[version.obj, version.txn]

    def matches(self, predicate: str, version: Version) -> bool | None:
        """Whether a version matches a predicate; None: it was not said."""
        if version.unborn or version in self.dead:
            return False
        clause = self.history.matches.get(predicate)
        if clause is not None:
            return version in clause
        return self.told.get((predicate, version))

    def version_set(self, event: PredicateRead) -> Iterator[Version]:
        """One version of every object of the relation: the unborn one where none is named."""
        named = {version.obj: version for version in event.versions}
        for obj in self.relations[event.predicate]:
            yield named.get(obj) or unborn(obj)


def facts(history: History) -> Facts:
    """The index of a history."""
    found = Facts(history, {}, {}, set(), {}, {}, {}, {}, set(), {}, set(), {})
    told: dict[tuple[str, Version], bool] = {}
    relations: dict[str, dict[str, None]] = {
        predicate: dict.fromkeys(version.obj for version in sorted(versions))
        for predicate, versions in history.matches.items()
    }
    writers: set[int] = set()
    for number, event in enumerate(history.events):
        match event:
            case Write(txn, version, _, dead):
                found.created[version] = number
                found.last[version.obj, txn] = version.number
                writers.add(txn)
                if dead:
                    found.dead.add(version)
            case Derive(txn, version, sources):
                found.created[version] = number
                found.last[version.obj, txn] = version.number
                found.sources[version] = sources
                found.derived.add(version.obj)
            case PredicateRead(_, predicate, versions, matched, _):
                objects = relations.setdefault(predicate, {})
                members = set(matched or ())
                for version in versions:
                    objects.setdefault(version.obj)
                    if matched is not None:
                        told[predicate, version] = version in members
            case Commit(txn):
                found.commits[txn] = number
            case Abort(txn):
                found.aborts[txn] = number
            case _:
                pass
    for versions in history.orders.values():
        found.rank.update((version, place) for place, version in enumerate(versions))
    found.updates = writers & found.commits.keys()
    found.relations = {predicate: tuple(objects) for predicate, objects in relations.items()}
    found.told = told
    return found
