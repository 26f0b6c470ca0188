"""Define the client-side levels (Biswas and Enea 2019), which need no version orders, as Adya's levels do.

A level holds if some order of the transactions that keeps sessions and read dependencies satisfies its axiom.
The axiom says which version of a key a transaction must not have read: one that is older than a version it
had seen, where the levels differ in what counts as seen. Up to causal consistency the axiom forces edges, and
the level holds exactly if these close no cycle; Plume and AWDIT check the same levels. For prefix
consistency, snapshot isolation and serializability an order is searched (`observed.search`,
`clients.ordering`). `columns.forced` has the edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

import numpy as np

from dvs_model.graph.cycles import short_cycle
from dvs_model.observed.history import Orders, Pair
from dvs_model.observed.recover import INITIAL, Recovered, VersionRead
from dvs_model.observed.seen import Observed

WORK = 400_000
"""Budget of the search for a short cycle to show: edges tried, times the edges that each try may visit."""

STEPS_SHOWN = 5
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
    and its place in it. `wr`: writer and reader of each read. `so`: neighbours in sessions. `before`: by key
    and writer the writer of the previous version, where known, but not by assumption. `time`: pairs of which
    the first ended before the second began, if real time is kept.
    """

    count: int
    writes: dict[int, set[str]] = field(default_factory=dict)
    writers: dict[str, list[int]] = field(default_factory=dict)
    reads: dict[int, list[VersionRead]] = field(default_factory=dict)
    chains: list[list[int]] = field(default_factory=list)
    session: dict[int, int] = field(default_factory=dict)
    within: dict[int, int] = field(default_factory=dict)
    wr: list[Pair] = field(default_factory=list)
    before: dict[tuple[str, int], int] = field(default_factory=dict)
    so: list[Pair] = field(default_factory=list)
    time: Sequence[Pair] = ()


def problem(found: Recovered, orders: Orders, *, sessions: bool, time: Sequence[Pair] = ()) -> Problem:
    """Returns what the levels of a history are decided from.

    `sessions`: whether the order of sessions is kept; else each transaction is a session of its own.
    """
    result = Problem(len(found.observed.transactions), time=time)
    for key, writers in found.installed.items():
        result.writers[key] = sorted(writers)
        for index in writers:
            result.writes.setdefault(index, set()).add(key)
    for read in found.reads:
        # A read from a transaction that does not count as committed is a finding of its own.
        if read.writer == INITIAL or read.writer in found.taken:
            result.reads.setdefault(read.reader, []).append(read)
            if read.writer != INITIAL:
                result.wr.append((read.writer, read.reader))
    for key, order in orders.known.items():
        result.before |= {(key, after): before for before, after in pairwise((INITIAL, *order))}
    for key, pairs in orders.pairs.items():
        result.before |= {(key, after): before for before, after in pairs}
    place: dict[str, int] = {}
    for index in sorted(found.taken):
        name = found.observed.session(index) if sessions else str(index)
        at = place.setdefault(name, len(result.chains))
        if at == len(result.chains):
            result.chains.append([])
        chain = result.chains[at]
        result.session[index], result.within[index] = at, len(chain)
        if chain:
            result.so.append((chain[-1], index))
        chain.append(index)
    return result


Reason = tuple[str, str]
"""The rule that forces an edge, and the key."""


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
    if len(words) > 2 * STEPS_SHOWN:
        words = [*words[:STEPS_SHOWN], f"... {len(words) - 2 * STEPS_SHOWN} more ...", *words[-STEPS_SHOWN:]]
    return "; ".join(words)
