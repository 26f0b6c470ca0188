"""The versions of a history: who installed them, what they derive from, which of them match a predicate."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

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
)

UNBORN = -1
"""The transaction of unborn versions, which nobody wrote."""


class Versions:
    """The versions of a history. `ignore`: a derivation counts as reads of its sources and one write.

    Events are given by their number. `made`: the event that made a version. `commit`, `start`: the events of
    a transaction. `abort`: the aborted transactions. `dead`: the versions that deletes make. `updates`: the
    committed transactions with a write. `behind_derived`: derived version -> what it derives from, at any
    depth.
    """

    def __init__(self, history: History, *, ignore: bool) -> None:
        self.history = history
        self.events: list[Event] = []
        for event in history.events:
            if ignore and isinstance(event, Derive):
                self.events += [Read(event.txn, source) for source in event.sources]
                self.events += [Write(event.txn, event.version)]
            else:
                self.events.append(event)
        self.commit = {e.txn: n for n, e in enumerate(self.events) if isinstance(e, Commit)}
        self.abort = {e.txn for e in self.events if isinstance(e, Abort)}
        self.start = {e.txn: n for n, e in enumerate(self.events) if isinstance(e, Start)}
        self.made = {e.version: n for n, e in enumerate(self.events) if isinstance(e, Write | Derive)}
        self.dead = {e.version for e in self.events if isinstance(e, Write) and e.dead}
        derivations = [e for e in self.events if isinstance(e, Derive)]
        self.derived_objects = {e.version.obj for e in derivations}
        self.updates = {e.txn for e in self.events if isinstance(e, Write)} & set(self.commit)
        graph = nx.DiGraph((source, e.version) for e in derivations for source in e.sources)
        graph.add_nodes_from(e.version for e in derivations)
        self.behind_derived: dict[Version, set[Version]] = {
            e.version: nx.ancestors(graph, e.version) for e in derivations
        }

    def final(self, version: Version) -> bool:
        """Tells whether the transaction of a version made no later version of the same object."""
        same = (v for v in self.made if (v.obj, v.txn) == (version.obj, version.txn))
        return all(v.number <= version.number for v in same)

    def installer(self, version: Version) -> int | None:
        """Returns the transaction that installed a version; None: nobody did."""
        installed = version in self.made and version.txn in self.commit and self.final(version)
        return version.txn if installed else None

    def order(self, obj: str) -> list[Version]:
        """Returns the version order of an object, from the unborn version on."""
        return [Version(obj, UNBORN, 0), *self.history.orders.get(obj, ())]

    def following(self, version: Version) -> list[Version]:
        """Returns the versions after one in its version order."""
        order = self.order(version.obj)
        return order[order.index(version) + 1 :] if version in order else []

    def behind(self, version: Version) -> set[Version]:
        """Returns the versions that a version derives from, at any depth."""
        return self.behind_derived.get(version, set())

    def base_behind(self, version: Version) -> set[Version]:
        """Returns the written and unborn versions that a version derives from."""
        return {v for v in self.behind(version) if v.obj not in self.derived_objects}

    def reads(self) -> Iterator[tuple[int, Version]]:
        """Yields the versions that committed transactions read, as (transaction, version)."""
        for event in self.events:
            if event.txn in self.commit and isinstance(event, Read):
                yield event.txn, event.version
            elif event.txn in self.commit and isinstance(event, PredicateRead):
                for version in event.versions:
                    yield event.txn, version

    def version_set(self, event: PredicateRead) -> list[Version]:
        """Returns one version of each object of the predicate, unborn where the event names none."""
        objects: dict[str, None] = {v.obj: None for v in self.history.matches.get(event.predicate, ())}
        for other in self.events:
            if isinstance(other, PredicateRead) and other.predicate == event.predicate:
                objects.update((v.obj, None) for v in other.versions)
        named = {v.obj: v for v in event.versions}
        return [named.get(obj, Version(obj, UNBORN, 0)) for obj in objects]

    def match(self, predicate: str, version: Version) -> bool | None:
        """Tells whether a version matches a predicate; None: the history does not say."""
        if version.txn == UNBORN or version in self.dead:
            return False
        if predicate in self.history.matches:
            return version in self.history.matches[predicate]
        for event in self.events:
            if not isinstance(event, PredicateRead) or event.matched is None:
                continue
            if event.predicate == predicate and version in event.versions:
                return version in event.matched
        return None

    def differ(self, predicate: str, one: Version, two: Version) -> bool | None:
        """Tells whether one of two versions matches and the other does not; None: nobody knows."""
        a, b = self.match(predicate, one), self.match(predicate, two)
        return None if a is None or b is None else a != b
