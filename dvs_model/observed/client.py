"""Define the client-side levels without version orders (Biswas and Enea 2019), for Adya's need them.

A level holds if some order of the transactions that keeps sessions and read dependencies satisfies its axiom.
The axiom says which version of a key a transaction must not have read: one that is older than a version it
had seen, where the levels differ in what counts as seen. Up to causal consistency the axiom forces edges, and
the level holds exactly if these close no cycle; Plume and AWDIT check the same levels. For prefix
consistency, snapshot isolation and serializability an order is searched (`observed.search`,
`clients.ordering`).
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
"""Limit of transactions times sessions for causal consistency: each may need an entry of a vector clock."""


WORK = 400_000
"""Budget of the search for a short cycle to show: edges tried, times the edges that each try may visit."""

SHOWN = 5
"""Steps of a long cycle that are shown at its beginning, and at its end."""


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
    """The verdict on a level. `holds`: None: not decided. `because`: a cycle or a reason, in words."""

    holds: bool | None
    because: str = ""


TOO_MANY = Answer(None, "there are too many transactions and sessions for it")


@dataclass(slots=True)
class Problem:
    """What the levels are decided from. Transactions are indexes of the history.

    `count`: the number of transactions. `writes`: by transaction the keys of which it installed a version.
    `writers`: by key the transactions that did. `reads`: by transaction its reads from others, in its order.
    `chains`: the transactions of each session, in its order. `session`, `within`: by transaction its session
    and its place in it. `wr`: writer and reader of each read. `so`: neighbours in sessions. `ww`: neighbours
    in known version orders, with the key. `before`: by key and writer the writer of the previous version,
    where known. `time`: pairs of which the first ended before the second began, if real time is kept.
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
    """Returns what the levels of a history are decided from.

    `sessions`: whether the order of sessions is kept; else each transaction is a session of its own.
    """
    made = Problem(found, len(found.observed.transactions), time=time)
    for key, writers in found.installed.items():
        made.writers[key] = sorted(writers)
        for index in writers:
            made.writes.setdefault(index, set()).add(key)
    for read in found.reads:
        # A read from a transaction that does not count as committed is a finding of its own.
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
    """Adds the known neighbours in version orders, from the initial version on.

    What the user assumes of versions (`Orders.later`) is left out: the levels are defined without it.
    """
    for key, order in orders.known.items():
        for before, after in pairwise((INITIAL, *order)):
            made.before[key, after] = before
            if before != INITIAL:
                made.ww[before, after] = key
        # A tail has no order, so its versions have no known predecessor; but all come after the last known
        # one.
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
    """Returns the edges if a transaction has seen the writers from which it has read so far, read by read."""
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
    """Returns the edges if a transaction has seen its session so far, and all writers from which it reads.

    `newest`: by key the writers from which the transaction reads, in whatever order. `last`: by key the last
    writer of the session; earlier ones come before it by the order of the session.
    """
    edges: dict[Pair, Reason] = {}
    for chain in made.chains:
        last: dict[str, int] = {}
        for index in chain:
            reads = made.reads.get(index, ())
            # First all sources of the transaction, then its reads: under read atomic a source counts for
            # every read, also for one before it.
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
    """Returns the edges if a transaction has seen everything that happened before it; None: too many.

    `pairs`: the edges of "happened before"; what is reachable along them happened before. Vector clocks hold
    that: an entry is how many transactions of a session happened before. `rule`: the name for the words.
    """
    if made.count * len(made.chains) > MOST_CLOCKS:
        return None
    below: list[list[int]] = [[] for _ in range(made.count)]
    above: list[list[int]] = [[] for _ in range(made.count)]
    for tail, head in pairs:
        below[tail].append(head)
        above[head].append(tail)
    # Transactions on a cycle of `pairs`, and those after one, are left out: the cycle decides the level.
    order = topological(sorted(made.found.taken), below)
    by_session: dict[str, dict[int, list[int]]] = {}
    for key, writers in made.writers.items():
        places = by_session[key] = {}
        for index in writers:
            places.setdefault(made.session[index], []).append(made.within[index])
    # A clock is freed when all successors have taken it, so that few are held at a time.
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
                # The last writer of the key among those of this session that happened before. The earlier
                # ones come before it by the order of the session.
                number = bisect_left(written, clock[at])
                if number:
                    other = made.chains[at][written[number - 1]]
                    if other not in (read.writer, index):
                        edges.setdefault((other, read.writer), (rule, read.key))
    return edges


def decide(made: Problem, level: Client) -> Answer:
    """Returns the verdict on a level up to CAUSAL. It is exact, unless there are too many edges."""
    order = dict.fromkeys(made.so, ("session", "")) | dict.fromkeys(made.time, ("real time", ""))
    return settled(made, forced(made, level), order)


def settled(made: Problem, edges: Mapping[Pair, Reason] | None, order: Mapping[Pair, Reason]) -> Answer:
    """Returns the verdict on a level: whether forced edges close a cycle with dependencies and an order.

    `edges`: the forced edges with their reasons; None: there are too many. `order`: the order of transactions
    that the level keeps, such as that of sessions.
    """
    if edges is None:
        return TOO_MANY
    # Nothing comes before what was there before the run, so such an edge needs no cycle.
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
    """Returns a short cycle of some edges in words. `inside`: edges inside strongly connected components."""
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
