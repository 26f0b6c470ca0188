"""The levels that clients can ask for, defined without version orders (Biswas and Enea 2019).

A level holds if some order of the transactions that keeps sessions and read dependencies satisfies its axiom:
which version of a key a transaction may have read, given who wrote it before. Up to causal consistency the
axiom forces edges, and the level holds exactly if these close no cycle. For prefix consistency, snapshot
isolation and serializability an order is searched, within a budget of steps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

import numpy as np

from dvs_model.graph.cycles import short_cycle, strong_labels, topological
from dvs_model.observed.graph import Orders, Pair
from dvs_model.observed.recover import INITIAL, Observation, Recovered
from dvs_model.observed.seen import Observed

MOST_CLOCKS = 60_000_000
"""Transactions times sessions up to which causal consistency is decided."""


WORK = 400_000
"""Edges through which a short cycle is searched, times the edges on cycles."""

SHOWN = 5
"""Steps at the beginning and at the end of a cycle that are said."""


class Client(Enum):
    """The client-side levels, the weaker first."""

    READ_COMMITTED = "read committed"
    READ_ATOMIC = "read atomic"
    CAUSAL = "causal"
    PARALLEL = "parallel snapshot"
    PREFIX = "prefix"
    SNAPSHOT = "snapshot isolation"
    SERIALIZABLE = "serializable"


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict on a level. `holds`: None: not decided. `because`: a cycle in words, or the reason."""

    holds: bool | None
    because: str = ""


TOO_MANY = Answer(None, "there are too many transactions and sessions for it")


@dataclass(slots=True)
class Problem:
    """What the levels are decided from: transactions by index, in the order of their sessions.

    `writes`: by transaction the keys that it installed. `reads`: by transaction its reads from others, in
    its order. `session`, `within`: by transaction its session and its place in it. `wr`: who read from whom.
    `so`: neighbours in sessions. `ww`: neighbours in known version orders, with the key; `before`: by key and
    writer the writer of the version before. `time`: who ended right before whom began, if that counts.
    """

    found: Recovered
    count: int
    writes: dict[int, set[str]] = field(default_factory=dict)
    writers: dict[str, list[int]] = field(default_factory=dict)
    reads: dict[int, list[Observation]] = field(default_factory=dict)
    chains: list[list[int]] = field(default_factory=list)
    session: dict[int, int] = field(default_factory=dict)
    within: dict[int, int] = field(default_factory=dict)
    wr: list[Pair] = field(default_factory=list)
    ww: dict[Pair, str] = field(default_factory=dict)
    before: dict[tuple[str, int], int] = field(default_factory=dict)
    so: list[Pair] = field(default_factory=list)
    time: Sequence[Pair] = ()


def problem(found: Recovered, orders: Orders, *, sessions: bool, time: Sequence[Pair] = ()) -> Problem:
    """Returns the problem of a history; without `sessions` each transaction is in one of its own."""
    made = Problem(found, len(found.observed.transactions), time=time)
    for key, writers in found.installed.items():
        made.writers[key] = sorted(writers)
        for index in writers:
            made.writes.setdefault(index, set()).add(key)
    for read in found.reads:
        if read.writer == INITIAL or read.writer in found.taken:
            made.reads.setdefault(read.reader, []).append(read)
            if read.writer != INITIAL:
                made.wr.append((read.writer, read.reader))
    _add_orders(made, orders)
    place: dict[str, int] = {}
    for index in sorted(found.taken):
        name = found.observed.session(index) if sessions else str(index)
        at = place.setdefault(name, len(made.chains))
        if at == len(made.chains):
            made.chains.append([])
        chain = made.chains[at]
        made.session[index], made.within[index] = at, len(chain)
        if chain:
            made.so.append((chain[-1], index))
        chain.append(index)
    return made


def _add_orders(made: Problem, orders: Orders) -> None:
    """Adds the version orders that are known."""
    for key, order in orders.known.items():
        for before, after in pairwise((INITIAL, *order)):
            made.before[key, after] = before
            if before != INITIAL:
                made.ww[before, after] = key
        for after in orders.tails.get(key, ()):
            if order:
                made.ww[order[-1], after] = key
    made.ww |= orders.some
    for key, pairs in orders.pairs.items():
        made.ww |= dict.fromkeys(pairs, key)
        made.before |= {(key, after): before for before, after in pairs}


Reason = tuple[str, str]
"""The rule that forces an edge, and the key."""


def forced(made: Problem, level: Client) -> dict[Pair, Reason] | None:
    """Returns the edges that a level up to CAUSAL forces; None: there are too many to be computed.

    An edge (a, b) means that a's version of the key came before b's, because b's was read by a transaction
    that had seen a.
    """
    match level:
        case Client.READ_COMMITTED:
            return _read_committed(made)
        case Client.READ_ATOMIC:
            earlier = _happened(made, {*made.so, *made.time}, "real time") if made.time else {}
            return None if earlier is None else _read_atomic(made) | earlier
        case _:
            return _happened(made, {*made.wr, *made.so, *made.time}, "causal")


def _read_committed(made: Problem) -> dict[Pair, Reason]:
    edges: dict[Pair, Reason] = {}
    for reads in made.reads.values():
        sources: dict[int, None] = {}
        newest: dict[str, list[int]] = {}
        for read in reads:
            if read.writer != INITIAL and read.writer not in sources:
                sources[read.writer] = None
                for key in made.writes.get(read.writer, ()):
                    newest.setdefault(key, []).append(read.writer)
            for other in newest.get(read.key, ()):
                if other != read.writer:
                    edges.setdefault((other, read.writer), ("read committed", read.key))
    return edges


def _read_atomic(made: Problem) -> dict[Pair, Reason]:
    edges: dict[Pair, Reason] = {}
    for chain in made.chains:
        last: dict[str, int] = {}
        for index in chain:
            reads = made.reads.get(index, ())
            newest: dict[str, set[int]] = {}
            for read in reads:
                if read.writer != INITIAL:
                    for key in made.writes.get(read.writer, ()):
                        newest.setdefault(key, set()).add(read.writer)
            for read in reads:
                for other in newest.get(read.key, ()):
                    if other != read.writer:
                        edges.setdefault((other, read.writer), ("read atomic", read.key))
                before = last.get(read.key)
                if before is not None and before != read.writer:
                    edges.setdefault((before, read.writer), ("session", read.key))
            for key in made.writes.get(index, ()):
                last[key] = index
    return edges


def _happened(made: Problem, pairs: Collection[Pair], rule: str) -> dict[Pair, Reason] | None:
    """Returns what is forced if a transaction has seen everything before it, by pairs at any distance."""
    if made.count * len(made.chains) > MOST_CLOCKS:
        return None
    below: list[list[int]] = [[] for _ in range(made.count)]
    above: list[list[int]] = [[] for _ in range(made.count)]
    for tail, head in pairs:
        below[tail].append(head)
        above[head].append(tail)
    order = topological(sorted(made.found.taken), below)
    by_session: dict[str, dict[int, list[int]]] = {}
    for key, writers in made.writers.items():
        places = by_session[key] = {}
        for index in writers:
            places.setdefault(made.session[index], []).append(made.within[index])
    clocks: dict[int, list[int]] = {}
    waiting = {index: len(below[index]) for index in order}
    edges: dict[Pair, Reason] = {}
    for index in order:
        # By session how many of its transactions happened before this one.
        clock = [0] * len(made.chains)
        for before in above[index]:
            clock = list(map(max, clock, clocks[before]))
            at = made.session[before]
            clock[at] = max(clock[at], made.within[before] + 1)
            waiting[before] -= 1
            if not waiting[before]:
                del clocks[before]
        clocks[index] = clock
        for read in made.reads.get(index, ()):
            for at, written in by_session.get(read.key, {}).items():
                number = bisect_left(written, clock[at])
                if number:
                    other = made.chains[at][written[number - 1]]
                    if other not in (read.writer, index):
                        edges.setdefault((other, read.writer), (rule, read.key))
    return edges


def decide(made: Problem, level: Client) -> Answer:
    """Returns the verdict on a level up to CAUSAL, exactly."""
    order = dict.fromkeys(made.so, ("session", "")) | dict.fromkeys(made.time, ("real time", ""))
    return settled(made, forced(made, level), order)


def settled(made: Problem, edges: Mapping[Pair, Reason] | None, order: Mapping[Pair, Reason]) -> Answer:
    """Returns whether edges that are forced close a cycle with dependencies and an order of transactions.

    `edges`: None: there are too many.
    """
    if edges is None:
        return TOO_MANY
    wrong = next((pair for pair in edges if pair[1] == INITIAL), None)
    if wrong is not None:
        seen = f"one that had seen T{made.found.number(wrong[0])}'s write of it"
        return Answer(False, f"key {edges[wrong][1]} was read as it was before the run by {seen}")
    base = {pair: ("version order", key) for pair, key in made.ww.items()}
    base |= {**order, **dict.fromkeys(made.wr, ("reads from", ""))}
    everything = [*base, *(pair for pair in edges if pair not in base)]
    labels = strong_labels((a for a, _ in everything), (b for _, b in everything), made.count)
    inside = [(a, b) for a, b in everything if labels[a] == labels[b]]
    if not inside:
        return Answer(True)
    return Answer(False, in_words(made.found.observed, inside, {**base, **edges}))


def in_words(observed: Observed, inside: Sequence[Pair], reasons: Mapping[Pair, Reason]) -> str:
    """Returns a short cycle of some edges in words."""
    best = short_cycle(np.array(inside, np.int64), max(5, WORK // len(inside)))
    words = []
    for tail, head in zip(best, [*best[1:], best[0]], strict=True):
        rule, key = reasons[tail, head]
        a, b = (f"T{observed.number(index)}" for index in (tail, head))
        if rule == "reads from":
            words.append(f"{b} reads from {a}")
        elif rule == "version order":
            words.append(f"{a}'s version of key {key} is the one before {b}'s")
        elif not key and rule == "real time":
            words.append(f"{a} ended before {b} began")
        elif not key:
            words.append(f"{a} comes before {b} in their session")
        else:
            words.append(f"{a} wrote key {key} before {b} ({rule}: a reader of {b}'s version had seen {a})")
    return shortened(words)


def shortened(words: Sequence[str]) -> str:
    """Returns the steps of a cycle, of a long one without its middle."""
    if len(words) > 2 * SHOWN:
        words = [*words[:SHOWN], f"... {len(words) - 2 * SHOWN} more ...", *words[-SHOWN:]]
    return "; ".join(words)
