"""When transactions start and commit, for the definitions that ask (Adya 1999, section 4.3)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dvs_model.history import Commit, History, Start


@dataclass(frozen=True, slots=True)
class Clock:
    """Positions on one line: c_i precedes s_j iff commits[i] < starts[j]. Of committed transactions."""

    starts: Mapping[int, float]
    commits: Mapping[int, float]

    def precedes(self, before: int, after: int) -> bool:
        """c_before <_t s_after."""
        return self.commits[before] < self.starts[after]


def text_clock(history: History) -> Clock | None:
    """The clock of the start events in the text; None unless every committed transaction has one.

    An implicit T0 needs none: it comes before everything.
    """
    commits = {event.txn: float(n) for n, event in enumerate(history.events) if isinstance(event, Commit)}
    starts = {event.txn: float(n) for n, event in enumerate(history.events) if isinstance(event, Start)}
    if history.implicit_initial:
        starts[0] = -1.0
    if any(txn not in starts for txn in commits):
        return None
    if not any(isinstance(event, Start) for event in history.events):
        # Nothing but an implicit T0 commits: no start was stated.
        return None
    return Clock(starts, commits)


def stated_clock(history: History) -> Clock | None:
    """The clock of the time-precedes items, else that of the start events, else None."""
    if not history.precedes:
        return text_clock(history)
    committed = [event.txn for event in history.events if isinstance(event, Commit)]
    clock = interval_clock(history.precedes, committed, 0 if history.implicit_initial else None)
    assert isinstance(clock, Clock)
    return clock


Item = tuple[int, int]


def interval_clock(
    items: Iterable[Item], txns: Iterable[int], initial: int | None
) -> Clock | tuple[Item, Item]:
    """A clock for time-precedes items, closed transitively, every other pair concurrent.

    `initial`: a transaction that precedes all others. Concurrent means that each starts before the other
    commits, so what precedes the starts must be nested (an interval order). Where no clock does it: two
    items that contradict each other.
    """
    pending: dict[int, set[int]] = {txn: set() for txn in txns if txn != initial}
    for i, j in items:
        if j == initial or i == j:
            return (i, j), (i, j)
        pending.setdefault(j, set()).add(i)
    order = _closed(pending)
    if pending:
        j = next(iter(pending))
        i = next(txn for txn in pending[j] if txn in pending)
        return (i, j), (i, j)
    if initial is not None:
        for earlier in order.values():
            earlier.add(initial)
    nested = sorted(order, key=lambda txn: (len(order[txn]), txn))
    for one, other in itertools.pairwise(nested):
        if not order[one] <= order[other]:
            first = next(iter(order[one] - order[other]))
            second = next(iter(order[other] - order[one]))
            return (first, one), (second, other)
    sizes = sorted({len(order[txn]) for txn in nested})
    rank = {size: float(number) for number, size in enumerate(sizes)}
    starts = {txn: rank[len(order[txn])] for txn in nested}
    commits = {txn: float(len(sizes)) for txn in nested}
    if initial is not None:
        starts[initial] = commits[initial] = -1.0
    for txn in reversed(nested):
        for i in order[txn]:
            commits[i] = min(commits[i], starts[txn] - 0.5)
    return Clock(starts, commits)


def _closed(pending: dict[int, set[int]]) -> dict[int, set[int]]:
    """What precedes each transaction, closed transitively. What lies on a cycle stays pending."""
    order: dict[int, set[int]] = {}
    while ready := [txn for txn, earlier in pending.items() if not any(e in pending for e in earlier)]:
        for txn in ready:
            direct = pending.pop(txn)
            order[txn] = direct.union(*(order.get(e, set()) for e in direct))
    return order
