"""When transactions start and commit, for the definitions that ask (Adya 1999, section 4.3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from dvs_model.history import Commit, History, Start


@dataclass(frozen=True, slots=True)
class Clock:
    """Positions on one line: c_i precedes s_j iff commits[i] < starts[j]. Of committed transactions."""

    starts: Mapping[int, float]
    commits: Mapping[int, float]

    def precedes(self, before: int, after: int) -> bool:
        """c_before <_t s_after."""
        return self.commits[before] < self.starts[after]


def moments(clock: Clock, txns: Collection[int]) -> tuple[list[float], dict[int, int]]:
    """When some transactions start, and per transaction the place of the first of these after its commit."""
    starts = sorted({clock.starts[txn] for txn in txns})
    following = {txn: bisect_right(starts, clock.commits[txn]) for txn in txns}
    return starts, {txn: place for txn, place in following.items() if place < len(starts)}


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
    items = tuple(items)
    for i, j in items:
        if j == initial or i == j:
            return (i, j), (i, j)
    named = dict.fromkeys([*txns, *(txn for item in items for txn in item)])
    everyone = [txn for txn in named if txn != initial]
    bit = {txn: 1 << number for number, txn in enumerate(everyone)}
    earlier, on_cycle = _closed(items, bit, initial)
    if on_cycle is not None:
        return on_cycle, on_cycle
    nested = sorted(everyone, key=lambda txn: (earlier[txn].bit_count(), txn))
    for one, other in pairwise(nested):
        if earlier[one] & ~earlier[other]:
            first = next(txn for txn in everyone if bit[txn] & earlier[one] & ~earlier[other])
            second = next(txn for txn in everyone if bit[txn] & earlier[other] & ~earlier[one])
            return (first, one), (second, other)
    return _ranked(nested, earlier, bit, initial)


def _closed(
    items: Iterable[Item], bit: Mapping[int, int], initial: int | None
) -> tuple[dict[int, int], Item | None]:
    """What precedes each transaction, closed transitively, as bits; or an item on a cycle."""
    after: dict[int, list[int]] = {}
    waiting = dict.fromkeys(bit, 0)
    for i, j in items:
        if i != initial:
            after.setdefault(i, []).append(j)
            waiting[j] += 1
    ready = [txn for txn, count in waiting.items() if count == 0]
    earlier = dict.fromkeys(bit, 0)
    for txn in ready:
        for later in after.get(txn, ()):
            earlier[later] |= earlier[txn] | bit[txn]
            waiting[later] -= 1
            if waiting[later] == 0:
                ready.append(later)
    stuck = next(((i, j) for i, j in items if waiting.get(i) and waiting.get(j)), None)
    return earlier, stuck


def _ranked(
    nested: list[int], earlier: Mapping[int, int], bit: Mapping[int, int], initial: int | None
) -> Clock:
    """Starts in the order of what precedes them; each commits just before the first start it precedes."""
    starts: dict[int, float] = {}
    commits: dict[int, float] = {}
    before, rank = 0, 0.0
    owner = {value: txn for txn, value in bit.items()}
    for txn in nested:
        new = earlier[txn] & ~before
        if new:
            rank += 1.0
            before |= new
            while new:
                low = new & -new
                commits[owner[low]] = rank - 0.5
                new ^= low
        starts[txn] = rank
    for txn in nested:
        commits.setdefault(txn, rank + 1.0)
    if initial is not None:
        starts[initial] = commits[initial] = -1.0
    return Clock(starts, commits)
