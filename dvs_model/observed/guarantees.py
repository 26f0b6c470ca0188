"""The session guarantees, for transactions (Terry and others 1994), defined without version orders.

A guarantee holds if some order of the transactions keeps read dependencies and satisfies it: a read does not
show what is older than what the guarantee says that its session has seen. `se -> t` means before t in a
session, `wr -> t` read by t. Of a read of a key by t3, a write of the key by t2 comes no later than what was
read if: read your writes: t2 se -> t3. Monotonic reads: t2 wr -> t se -> t3. Monotonic writes: t2 se -> t
wr -> t3. Writes follow reads: t2 wr -> s se -> t wr -> t3, where s may be t.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import pairwise

from dvs_model.observed.client import Answer, Problem, Reason, settled
from dvs_model.observed.graph import Pair
from dvs_model.observed.recover import INITIAL

MOST_EDGES = 5_000_000
"""Edges up to which a guarantee is decided."""


class Guarantee(Enum):
    """The session guarantees."""

    READ_YOUR_WRITES = "read your writes"
    MONOTONIC_READS = "monotonic reads"
    MONOTONIC_WRITES = "monotonic writes"
    WRITES_FOLLOW_READS = "writes follow reads"


def decide_guarantee(made: Problem, guarantee: Guarantee) -> Answer:
    """Returns the verdict on a session guarantee, exactly."""
    order = dict(_order(made, guarantee))
    edges: dict[Pair, Reason] = {}
    for older, newer, key in _forced(made, guarantee):
        edges.setdefault((older, newer), (guarantee.value, key))
        if len(edges) > MOST_EDGES:
            return settled(made, None, order)
    return settled(made, edges, order)


def _order(made: Problem, guarantee: Guarantee) -> Iterator[tuple[Pair, Reason]]:
    """Yields the order of transactions that a guarantee adds: of writes in a session, or after reads."""
    match guarantee:
        case Guarantee.MONOTONIC_WRITES:
            for chain in made.chains:
                writers = [index for index in chain if index in made.writes]
                yield from ((pair, ("session", "")) for pair in pairwise(writers))
        case Guarantee.WRITES_FOLLOW_READS:
            for chain in made.chains:
                read: dict[int, None] = {}
                for index in chain:
                    read.update(_sources(made, index))
                    if index in made.writes:
                        yield from (((source, index), ("session", "")) for source in read)
        case _:
            pass


def _forced(made: Problem, guarantee: Guarantee) -> Iterator[tuple[int, int, str]]:
    """Yields transactions that wrote a key, each with one that wrote it later, and the key."""
    before = _before(made, guarantee)
    for index, reads in made.reads.items():
        if guarantee in (Guarantee.READ_YOUR_WRITES, Guarantee.MONOTONIC_READS):
            seen = [before[index]]
        else:
            seen = [before[source] for source in _sources(made, index)]
        for read in reads:
            for known in seen:
                for older in known.get(read.key, ()):
                    if older not in (read.writer, index):
                        yield older, read.writer, read.key


def _before(made: Problem, guarantee: Guarantee) -> Mapping[int, Mapping[str, tuple[int, ...]]]:
    """Returns by transaction and key the writers that count for it, or for who reads from it."""
    result: dict[int, Mapping[str, tuple[int, ...]]] = {}
    for chain in made.chains:
        known: dict[str, tuple[int, ...]] = {}
        for index in chain:
            own = [(key, index) for key in made.writes.get(index, ())]
            read = [(key, each) for each in _sources(made, index) for key in made.writes.get(each, ())]
            if guarantee is Guarantee.WRITES_FOLLOW_READS:
                known = _with(known, read)
            result[index] = known
            if guarantee is Guarantee.MONOTONIC_READS:
                known = _with(known, read)
            elif guarantee is not Guarantee.WRITES_FOLLOW_READS:
                known = _with(known, own)
    return result


def _with(known: dict[str, tuple[int, ...]], more: list[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    """Returns the writers by key with some more."""
    if not more:
        return known
    result = dict(known)
    for key, writer in more:
        if writer not in result.get(key, ()):
            result[key] = (*result.get(key, ()), writer)
    return result


def _sources(made: Problem, index: int) -> dict[int, None]:
    """Returns the transactions from which one read, each once."""
    return {read.writer: None for read in made.reads.get(index, ()) if read.writer != INITIAL}
