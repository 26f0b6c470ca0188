"""All transactions of a history, and what happened before each: what some keys need to know of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.match import Matched
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import Arcs
from dvs_model.graph.cycles import topological
from dvs_model.observed.recover import INITIAL


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Who read from whom, or INITIAL, and by which operation."""

    reader: Ints
    writer: Ints
    op: Ints


@dataclass(slots=True)
class World:
    """All transactions, and who read from whom. `session`, `taken`: by transaction.

    `order`: the pairs of neighbours in sessions. `reads`: all reads from others.
    `sources`, `clocks`: what was made of them, once it was needed.
    """

    session: Ints
    taken: Bools
    order: Arcs
    reads: ReadFrom
    sources: Sources | None = None
    clocks: NDArray[np.int32] | None = None

    @property
    def count(self) -> int:
        """How many transactions there are."""
        return len(self.session)

    @property
    def sessions(self) -> int:
        """How many sessions there are."""
        return int(self.session.max(initial=0)) + 1

    def read_from(self) -> Sources:
        """Returns from whom each transaction read."""
        if self.sources is None:
            self.sources = _sources(self.reads, self.count)
        return self.sources

    def seen(self) -> NDArray[np.int32]:
        """Returns by transaction and session how many of the session's transactions happened before it."""
        if self.clocks is None:
            self.clocks = _clocks(self)
        return self.clocks


@dataclass(frozen=True, slots=True)
class Sources:
    """The transactions from which others read, each once for a reader, with its first read.

    `starts`, with one more at the end: where the ones of each reader begin.
    """

    reads: ReadFrom
    starts: Ints


def world_of(matched: Matched, order: Arcs) -> World:
    """Returns the transactions of a history. `order`: the pairs of neighbours in sessions."""
    reads = matched.reads
    read_from = ReadFrom(reads.reader, reads.writer, reads.op)
    return World(matched.columns.session, matched.taken, order, read_from)


def _clocks(world: World) -> NDArray[np.int32]:
    """Returns by transaction and session how many of the session's transactions happened before it.

    What lies on a cycle has seen nothing: the cycle itself decides.
    """
    reads, count, session = world.reads, world.count, world.session
    written = reads.writer != INITIAL
    tails = np.concatenate((world.order[:, 0], reads.writer[written]))
    heads = np.concatenate((world.order[:, 1], reads.reader[written]))
    codes = np.unique(tails * count + heads)
    tails, heads = codes // count, codes % count
    by_head = np.argsort(heads, kind="stable")
    before = tails[by_head]
    first = np.searchsorted(heads[by_head], np.arange(count + 1)).tolist()
    clocks = np.zeros((count, world.sessions), np.int32)
    # With itself: what a transaction gives to those after it.
    place, own = (within_session(session, world.taken) + 1).tolist(), session.tolist()
    for index in _order(world, tails, heads):
        begin, end = first[index], first[index + 1]
        if end > begin:
            clocks[before[begin:end]].max(axis=0, out=clocks[index])
        clocks[index, own[index]] = place[index]
    clocks[np.arange(count), session] -= 1
    return clocks


def _order(world: World, tails: Ints, heads: Ints) -> list[int]:
    """Returns the transactions so that arcs lead forward; those on cycles and after them are left out."""
    taken: list[int] = np.flatnonzero(world.taken).tolist()
    if (tails < heads).all():
        return taken
    by_tail = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[by_tail], np.arange(world.count + 1)).tolist()
    ordered = heads[by_tail].tolist()
    return topological(taken, [ordered[starts[at] : starts[at + 1]] for at in range(world.count)])


def within_session(session: Ints, taken: Bools) -> Ints:
    """Returns by transaction its place among those of its session that count as committed."""
    there = np.flatnonzero(taken)
    there = there[np.argsort(session[there], kind="stable")]
    of = session[there]
    within = np.zeros(len(session), np.int64)
    within[there] = np.arange(len(there)) - np.searchsorted(of, of)
    return within


def _sources(reads: ReadFrom, count: int) -> Sources:
    """Returns for each transaction the first read from each one from which it read."""
    written = np.flatnonzero(reads.writer != INITIAL)
    order = written[np.lexsort((reads.op[written], reads.writer[written], reads.reader[written]))]
    reader, writer = reads.reader[order], reads.writer[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (reader[1:] != reader[:-1]) | (writer[1:] != writer[:-1])
    chosen = order[first]
    once = ReadFrom(reads.reader[chosen], reads.writer[chosen], reads.op[chosen])
    return Sources(once, np.searchsorted(once.reader, np.arange(count + 1)))
