"""Who read from whom among all transactions, and vector clocks of what happened before each of them.

Causal consistency and read atomic are about all keys at once. A history larger than memory is judged in
shares of its keys, so this part, which all shares need, is computed once and handed to each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.match import Matched
from dvs_model.columns.table import Bools, Ints
from dvs_model.columns.versions import NO_ARCS, Arcs
from dvs_model.graph.cycles import topological
from dvs_model.observed.recover import INITIAL

MOST_CLOCKS = 400_000_000
"""Limit of transactions times sessions for causal consistency: a clock has four bytes for each, so 1.6 GB."""

FEW_CLOCKS = 60_000_000
"""The limit if another order than that of sessions is kept: its clocks stand beside those of sessions."""


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Reads as three arrays with one entry each: the reader, the writer or INITIAL, and the operation."""

    reader: Ints
    writer: Ints
    op: Ints


@dataclass(slots=True)
class World:
    """All transactions of a history, and who read from whom.

    `session`: one int64 per transaction. `taken`: one bool per transaction, whether it counts as committed.
    `order`: the pairs of neighbours in sessions. `reads`: all reads of versions of other transactions.
    `time`: pairs of which the first one ended before the second one began, if real time is kept. `most`:
    transactions times sessions up to which there are clocks. `sources`, `clocks`: what `read_from` and `seen`
    computed, kept for the next call.
    """

    session: Ints
    taken: Bools
    order: Arcs
    reads: ReadFrom
    time: Arcs = field(default_factory=lambda: NO_ARCS)
    most: int = MOST_CLOCKS
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

    def kept(self, *, sessions: bool, time: Arcs) -> World:
        """Returns the transactions under another order than that of sessions alone.

        `sessions`: whether that is kept; else each transaction is a session of its own.
        """
        if sessions and not len(time):
            return self
        session = self.session if sessions else np.arange(self.count)
        order = self.order if sessions else NO_ARCS
        return World(session, self.taken, order, self.reads, time, FEW_CLOCKS)

    def by_order(self) -> World:
        """Returns the transactions as if none had read from another one: what is seen by the order alone."""
        nothing = np.empty(0, np.int64)
        return replace(self, reads=ReadFrom(nothing, nothing, nothing), sources=None, clocks=None)

    def read_from(self) -> Sources:
        """Returns the transactions from which each transaction read."""
        if self.sources is None:
            self.sources = _sources(self.reads, self.count)
        return self.sources

    def seen(self) -> NDArray[np.int32]:
        """Returns the vector clocks: a row per transaction, a column per session.

        An entry is how many transactions of that session happened before this transaction.
        """
        if self.clocks is None:
            self.clocks = _clocks(self)
        return self.clocks


@dataclass(frozen=True, slots=True)
class Sources:
    """Pairs of a reader and a transaction from which it read, each once, with the first read of the pair.

    Sorted by reader. `starts`: where the pairs of each transaction begin, with one more entry at the end.
    """

    reads: ReadFrom
    starts: Ints


def world_of(matched: Matched, order: Arcs) -> World:
    """Returns the transactions of a history. `order`: the pairs of neighbours in sessions."""
    reads = matched.reads
    read_from = ReadFrom(reads.reader, reads.writer, reads.op)
    return World(matched.columns.session, matched.taken, order, read_from)


def _clocks(world: World) -> NDArray[np.int32]:
    """Computes the vector clocks along session order and read-from, from earlier transactions to later ones.

    A transaction on a cycle, or after one, is left with an empty clock. That is sound: a cycle of session
    order and read-from violates causal consistency by itself, so no forced edge is needed.
    """
    reads, count, session = world.reads, world.count, world.session
    written = reads.writer != INITIAL
    tails = np.concatenate((world.order[:, 0], world.time[:, 0], reads.writer[written]))
    heads = np.concatenate((world.order[:, 1], world.time[:, 1], reads.reader[written]))
    # Each pair once: a transaction may read many keys from one other.
    codes = np.unique(tails * count + heads)
    tails, heads = codes // count, codes % count
    by_head = np.argsort(heads, kind="stable")
    before = tails[by_head]
    first = np.searchsorted(heads[by_head], np.arange(count + 1)).tolist()
    clocks = np.zeros((count, world.sessions), np.int32)
    # While clocks are passed on, each counts its own transaction, too, because successors have seen it. In
    # the end 1 is taken off again.
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
    committed: list[int] = np.flatnonzero(world.taken).tolist()
    # Mostly a file lists transactions in an order in which nobody reads from a later one. That order will do.
    if (tails < heads).all():
        return committed
    by_tail = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[by_tail], np.arange(world.count + 1)).tolist()
    ordered = heads[by_tail].tolist()
    return topological(committed, [ordered[starts[at] : starts[at + 1]] for at in range(world.count)])


def within_session(session: Ints, taken: Bools) -> Ints:
    """Returns for each transaction its place, from 0, among the committed ones of its session.

    `session`, `taken`: by transaction. One that does not count as committed gets 0, which means nothing.
    """
    there = np.flatnonzero(taken)
    there = there[np.argsort(session[there], kind="stable")]
    of = session[there]
    within = np.zeros(len(session), np.int64)
    # `of` is sorted, so a search for its own elements finds where the session of each begins.
    within[there] = np.arange(len(there)) - np.searchsorted(of, of)
    return within


def _sources(reads: ReadFrom, count: int) -> Sources:
    """Returns the sources of each transaction: the first read of each pair of a reader and a writer."""
    written = np.flatnonzero(reads.writer != INITIAL)
    order = written[np.lexsort((reads.op[written], reads.writer[written], reads.reader[written]))]
    reader, writer = reads.reader[order], reads.writer[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (reader[1:] != reader[:-1]) | (writer[1:] != writer[:-1])
    chosen = order[first]
    once = ReadFrom(reads.reader[chosen], reads.writer[chosen], reads.op[chosen])
    return Sources(once, np.searchsorted(once.reader, np.arange(count + 1)))
