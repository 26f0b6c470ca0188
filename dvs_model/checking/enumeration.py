"""Every small well-formed history, up to names and to the order of events that no dependency can see.

A history has at most a given number of operations (writes, reads, derivations) of at most three transactions
on at most two base and two derived objects. Versions of T0 exist; every transaction commits after all
operations; every version order occurs. Reads of own versions, several reads and derivations from derivations
are included; aborts, intermediate versions, deletes and predicates are not: the random search covers them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product

from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Chain, Draft, DraftEvent, Name
from dvs_model.histories.history import History

BASE = ("x", "y")
DERIVED = ("u", "v")
TRANSACTIONS = 3
SOURCES = 2
"""The most versions that one derivation uses."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A history under construction: its operations, their versions, its highest transaction, its objects."""

    events: tuple[DraftEvent, ...] = ()
    made: tuple[Name, ...] = ()
    txns: int = 0
    objects: frozenset[str] = frozenset()

    def versions(self) -> list[Name]:
        """Returns what can be read: T0's versions of the objects allowed now, and those of the operations."""
        return [*(Name(obj, 0) for obj in self.allowed(BASE)), *self.made]

    def allowed(self, objects: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the used objects of a kind and the first unused one, because names do not matter."""
        unused = next((obj for obj in objects if obj not in self.objects), None)
        return tuple(obj for obj in objects if obj in self.objects or obj == unused)

    def plus(self, event: DraftEvent) -> Partial:
        """Returns a longer partial history: these operations followed by `event`."""
        names = (*event.names, *(event.others or ()))
        versions = (*self.made, event.names[0]) if event.kind in "wd" else self.made
        objects = self.objects | {name.obj for name in names}
        return Partial((*self.events, event), versions, max(self.txns, event.txn), objects)


def small_histories(operations: int, *, every: int = 1) -> Iterator[History]:
    """Yields every history with at most some operations; `every`: only every n-th choice of operations."""
    stack = [Partial()]
    number = 0
    while stack:
        partial = stack.pop()
        number += 1
        if partial.events and number % every == 0:
            yield from _ordered(partial)
        if len(partial.events) < operations:
            stack.extend(partial.plus(event) for event in _next(partial))


def _next(partial: Partial) -> Iterator[DraftEvent]:
    """Yields the operations that may follow. A transaction reads, writes and derives a version only once."""
    for txn in range(1, min(TRANSACTIONS, partial.txns + 1) + 1):
        own = {name.obj: name for name in partial.made if name.txn == txn}
        for obj in partial.allowed(BASE):
            if obj not in own:
                yield DraftEvent("w", txn, (Name(obj, txn),))
        for name in partial.versions():
            if own.get(name.obj, name) == name and DraftEvent("r", txn, (name,)) not in partial.events:
                yield DraftEvent("r", txn, (name,))
        for obj in partial.allowed(DERIVED):
            if obj not in own:
                candidates = [name for name in partial.versions() if name.obj != obj]
                for count in range(1, SOURCES + 1):
                    for sources in combinations(candidates, count):
                        if len({name.obj for name in sources}) == count:
                            yield DraftEvent("d", txn, (Name(obj, txn),), sources)


def _ordered(partial: Partial) -> Iterator[History]:
    """Yields the history under every version order."""
    chains: list[list[Chain]] = []
    initial = {name.obj for event in partial.events for name in _named(event) if name.txn == 0}
    for obj in (*BASE, *DERIVED):
        versions = [name for name in partial.made if name.obj == obj]
        if len(versions) > 1:
            first = (Name(obj, 0),) if obj in initial else ()
            chains.append([Chain((*first, *order)) for order in permutations(versions)])
    commits = [DraftEvent("c", txn) for txn in range(1, partial.txns + 1)]
    for chosen in product(*chains):
        yield well_formed(Draft("", [*partial.events, *commits], list(chosen)))


def _named(event: DraftEvent) -> tuple[Name, ...]:
    """Returns all versions that an event names."""
    return event.names + (event.others or ())
