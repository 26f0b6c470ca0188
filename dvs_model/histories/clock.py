"""Clocks: when transactions start and commit, for the definitions that need it (Adya 1999, section 4.3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dvs_model.histories.history import Commit, History, Start


@dataclass(frozen=True, slots=True)
class Clock:
    """Positions of starts and commits on one line: c_i precedes s_j iff commits[i] < starts[j]."""

    starts: Mapping[int, float]
    commits: Mapping[int, float]


def moments(clock: Clock, txns: Collection[int]) -> tuple[list[float], dict[int, int]]:
    """Returns when some transactions start, and for each the place of the first start after its commit."""
    starts = sorted({clock.starts[txn] for txn in txns})
    following = {txn: bisect_right(starts, clock.commits[txn]) for txn in txns}
    return starts, {txn: place for txn, place in following.items() if place < len(starts)}


def text_clock(history: History) -> Clock | None:
    """Returns the clock of the text's start events; None: it has none, or a committed transaction has none.

    An implicit T0 needs none, because it comes before everything.
    """
    commits = {event.txn: float(n) for n, event in enumerate(history.events) if isinstance(event, Commit)}
    starts = {event.txn: float(n) for n, event in enumerate(history.events) if isinstance(event, Start)}
    if history.implicit_initial:
        starts[0] = -1.0
    # Where nothing but an implicit T0 commits, no start was stated.
    stated = any(isinstance(event, Start) for event in history.events)
    return Clock(starts, commits) if stated and commits.keys() <= starts.keys() else None


def stated_clock(history: History) -> Clock:
    """Returns the clock of the time-precedes items of a well-formed history."""
    committed = [event.txn for event in history.events if isinstance(event, Commit)]
    clock = interval_clock(history.precedes, committed, 0 if history.implicit_initial else None)
    assert isinstance(clock, Clock)
    return clock


Item = tuple[int, int]
"""(i, j): T_i commits before T_j starts."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two items that no clock can satisfy; the same item twice: it lies on a cycle."""

    first: Item
    second: Item


def interval_clock(items: Sequence[Item], txns: Iterable[int], initial: int | None) -> Clock | Contradiction:
    """Returns a clock for time-precedes items, closed transitively, in which other pairs are concurrent.

    `initial`: a transaction that precedes all others. Concurrent means that each starts before the other
    commits. So the sets of transactions that precede the starts must be nested (an interval order).
    """
    for i, j in items:
        if j == initial or i == j:
            return Contradiction((i, j), (i, j))
    named = dict.fromkeys([*txns, *(txn for item in items for txn in item)])
    everyone = [txn for txn in named if txn != initial]
    bit = {txn: 1 << number for number, txn in enumerate(everyone)}
    earlier, on_cycle = _closed(items, bit, initial)
    if on_cycle is not None:
        return Contradiction(on_cycle, on_cycle)
    nested = sorted(everyone, key=lambda txn: (earlier[txn].bit_count(), txn))
    for one, other in pairwise(nested):
        if earlier[one] & ~earlier[other]:
            first = next(txn for txn in everyone if bit[txn] & earlier[one] & ~earlier[other])
            second = next(txn for txn in everyone if bit[txn] & earlier[other] & ~earlier[one])
            return Contradiction((first, one), (second, other))
    return _ranked(nested, earlier, bit, initial)


def _closed(
    items: Iterable[Item], bit: Mapping[int, int], initial: int | None
) -> tuple[dict[int, int], Item | None]:
    """Returns what precedes each transaction, closed transitively, as bits; and an item on a cycle."""
    after: dict[int, list[int]] = {}
    waiting = dict.fromkeys(bit, 0)
    for i, j in items:
        if i != initial:
            after.setdefault(i, []).append(j)
            waiting[j] += 1
    ready = [txn for txn, count in waiting.items() if count == 0]
    earlier = dict.fromkeys(bit, 0)
    # In topological order: `ready` grows while it is walked. What lies on or after a cycle never gets ready.
    for txn in ready:
        for later in after.get(txn, ()):
            earlier[later] |= earlier[txn] | bit[txn]
            waiting[later] -= 1
            if waiting[later] == 0:
                ready.append(later)
    # What never gets ready has an item before it that does not either: so the way back ends in a cycle.
    into = {j: (i, j) for i, j in items if waiting.get(i) and waiting.get(j)}
    if not into:
        return earlier, None
    txn, seen = next(iter(into)), set[int]()
    while txn not in seen:
        seen.add(txn)
        txn = into[txn][0]
    return earlier, into[txn]


def _ranked(
    nested: list[int], earlier: Mapping[int, int], bit: Mapping[int, int], initial: int | None
) -> Clock:
    """Returns the clock: starts in the order of what precedes them, commits just before a first start."""
    starts: dict[int, float] = {}
    commits: dict[int, float] = {}
    before, rank = 0, 0.0
    owner = {value: txn for txn, value in bit.items()}
    for txn in nested:
        new = earlier[txn] & ~before
        if new:
            rank += 1.0
            before |= new
            # Each bit is a transaction that precedes this start and no earlier one: it commits just before.
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
