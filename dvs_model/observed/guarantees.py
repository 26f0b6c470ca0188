"""Define the session guarantees (Terry and others 1994) for transactions, without version orders.

A guarantee says which writes count as seen by a transaction t3: its reads must not show what is older. It
holds if some order of the transactions keeps read dependencies and satisfies it. "a so b" means that a is
before b in a session, "a wr b" that b read from a. Then a write by t2 counts as seen by t3:

- read your writes: if t2 so t3;
- monotonic reads: if t2 wr t, and t so t3;
- monotonic writes: if t2 so t, and t wr t3;
- writes follow reads: if t2 wr s, s so t or s is t, and t wr t3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import pairwise

from dvs_model.observed.client import Problem
from dvs_model.observed.history import Pair
from dvs_model.observed.recover import INITIAL

MOST_EDGES = 5_000_000
"""Limit of forced edges, which are held in a dictionary; with more the guarantee stays undecided."""


class Guarantee(Enum):
    """The session guarantees."""

    READ_YOUR_WRITES = "read your writes"
    MONOTONIC_READS = "monotonic reads"
    MONOTONIC_WRITES = "monotonic writes"
    WRITES_FOLLOW_READS = "writes follow reads"


def forced(problem: Problem, guarantee: Guarantee) -> dict[Pair, str] | None:
    """Returns the edges that a session guarantee forces, each with its key; None: more than MOST_EDGES.

    It holds exactly if these close no cycle with dependencies and with `order`.
    """
    edges: dict[Pair, str] = {}
    for older, newer, key in _forced(problem, guarantee):
        edges.setdefault((older, newer), key)
        if len(edges) > MOST_EDGES:
            return None
    return edges


def order(problem: Problem, guarantee: Guarantee) -> Iterator[Pair]:
    """Yields the pairs of transactions whose order a guarantee demands beside forced edges.

    Monotonic writes: the writers of a session are in its order. Writes follow reads: a writer comes after all
    from which its session has read by then.
    """
    match guarantee:
        case Guarantee.MONOTONIC_WRITES:
            for chain in problem.chains:
                writers = [index for index in chain if index in problem.writes]
                yield from pairwise(writers)
        case Guarantee.WRITES_FOLLOW_READS:
            for chain in problem.chains:
                read: dict[int, None] = {}
                for index in chain:
                    read.update(_sources(problem, index))
                    # Reads of this transaction count, too: it wrote after them.
                    if index in problem.writes:
                        yield from ((source, index) for source in read)
        case _:
            pass


def _forced(problem: Problem, guarantee: Guarantee) -> Iterator[tuple[int, int, str]]:
    """Yields (older, newer, key): two writers of a key, the first of which must have written earlier.

    The newer version was read by a transaction by which the older one counts as seen.
    """
    before = _before(problem, guarantee)
    for index, reads in problem.reads.items():
        if guarantee in (Guarantee.READ_YOUR_WRITES, Guarantee.MONOTONIC_READS):
            seen = [before[index]]
        else:
            seen = [before[source] for source in _sources(problem, index)]
        for read in reads:
            for writers in seen:
                for older in writers.get(read.key, ()):
                    if older not in (read.writer, index):
                        yield older, read.writer, read.key


def _before(problem: Problem, guarantee: Guarantee) -> Mapping[int, Mapping[str, tuple[int, ...]]]:
    """Returns by transaction and key the writers that count as seen by it, or by those who read from it.

    The first is meant for read your writes and monotonic reads, the second for the other two: see `_forced`.
    """
    result: dict[int, Mapping[str, tuple[int, ...]]] = {}
    for chain in problem.chains:
        writers: dict[str, tuple[int, ...]] = {}
        for index in chain:
            own = [(key, index) for key in problem.writes.get(index, ())]
            read = [(key, each) for each in _sources(problem, index) for key in problem.writes.get(each, ())]
            # Writes follow reads counts the reads of the transaction itself (s may be t), so they are added
            # before the result is taken; all others count what was before it.
            if guarantee is Guarantee.WRITES_FOLLOW_READS:
                writers = _with(writers, read)
            result[index] = writers
            if guarantee is Guarantee.MONOTONIC_READS:
                writers = _with(writers, read)
            elif guarantee is not Guarantee.WRITES_FOLLOW_READS:
                writers = _with(writers, own)
    return result


def _with(writers: dict[str, tuple[int, ...]], more: list[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """Returns the writers by key with some more. It copies: earlier transactions keep what they had seen."""
    if not more:
        return writers
    result = dict(writers)
    for key, writer in more:
        if writer not in result.get(key, ()):
            result[key] = (*result.get(key, ()), writer)
    return result


def _sources(problem: Problem, index: int) -> dict[int, None]:
    """Returns the transactions from which a transaction read, each once, in the order of its reads."""
    return {read.writer: None for read in problem.reads.get(index, ()) if read.writer != INITIAL}
