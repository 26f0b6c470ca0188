"""Version orders as far as they are known, and the dependencies that they and the reads give, as arrays.

The rules are those of `observed.graph`: lists give the order of what they show, a writer alone is an order,
and of registers nothing more is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.lookup import below, pairs, spread
from dvs_model.columns.match import Installed, Matched, Reads
from dvs_model.columns.table import APPEND, Bools, Ints
from dvs_model.observed.recover import INITIAL

Arcs = NDArray[np.int64]
"""Pairs of transactions by index, a row each."""

NO_ARCS: Arcs = np.empty((0, 2), np.int64)


MOST_PAIRS = 20_000_000
"""Reads of a key times versions that may come right after what they show, up to which all pairs are made."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The installed versions, those of a key in their order as far as it is known, and then the others.

    `ordered`: by key how many at its beginning are in their order. `unknown`: of which keys the order is not
    known. `tails`: how many keys end in several versions that no read shows.
    """

    key: Ints
    txn: Ints
    starts: Ints
    ordered: Ints
    unknown: Bools
    tails: int


@dataclass(frozen=True, slots=True)
class Edges:
    """Certain dependencies between transactions, and the order of sessions. `ww_key`: by ww its key.

    `left_out`: the keys of which anti-dependencies are left out, because there are too many.
    """

    ww: Arcs
    wr: Arcs
    rw: Arcs
    session: Arcs
    ww_key: Ints
    left_out: Ints = field(default_factory=lambda: np.empty(0, np.int64))


def versions(matched: Matched) -> Versions:
    """Returns the version orders that lists or single writers give."""
    installed = matched.installed
    count = installed.starts[1:] - installed.starts[:-1]
    shown = matched.longest >= 0
    columns = matched.columns
    lists = shown | (np.bincount(columns.key[columns.kind == APPEND], minlength=len(count)) > 0)
    written = np.bincount(columns.key[columns.is_write()], minlength=len(count)) > 0
    unknown = (written & matched.broken) | ((count > 1) & ~lists)
    place = _places(matched)
    # What a list does not show comes last.
    hidden = (place < 0) & lists[installed.key]
    order = np.lexsort((installed.txn, place, hidden, installed.key))
    by_list = np.bincount(installed.key[~hidden], minlength=len(count))
    tails = count - by_list
    ordered = np.where(unknown, 0, np.where(tails == 1, count, by_list))
    several = int(np.count_nonzero((tails > 1) & ~unknown))
    return Versions(installed.key, installed.txn[order], installed.starts, ordered, unknown, several)


def unordered_keys(known: Versions, made: Edges) -> Ints:
    """Returns the keys of which nothing can be said to be absent: versions or dependencies are missing."""
    return np.unique(np.concatenate((np.flatnonzero(known.unknown), made.left_out)))


def _places(matched: Matched) -> Ints:
    """Returns the place of each installed version in the longest list of its key; -1: it is not there."""
    columns, installed = matched.columns, matched.installed
    longest = matched.longest[matched.longest >= 0]
    if columns.starts is None or not len(longest):
        return np.full(len(installed.key), -1, np.int64)
    place, of = spread(columns.starts[longest], columns.starts[longest + 1])
    known = pairs(columns.key[longest][of], columns.items[place])
    return known.find(installed.key, columns.value[installed.op])


def edges(matched: Matched, known: Versions) -> Edges:
    """Returns the dependencies that are certain whatever the file leaves open."""
    reads, installed = matched.reads, matched.installed
    place = np.arange(len(known.txn))
    rank = place - known.starts[known.key]
    ordered = known.ordered[known.key]
    end = known.starts[known.key + 1]
    # The versions that come right after each one: a range.
    after = np.where(rank < ordered, place + 1, end)
    until = np.where(rank + 1 < ordered, place + 2, end)
    before, of = spread(after, np.maximum(after, until))
    ww = _arcs(known.txn[of], known.txn[before])
    first, last = _first(known, reads.key)
    at = _version(known, installed, reads)
    written = reads.writer != INITIAL
    first[written], last[written] = after[at[written]], until[at[written]]
    many = np.bincount(reads.key, np.maximum(last - first, 0), len(known.starts) - 1) > MOST_PAIRS
    last[many[reads.key]] = 0
    next_version, read = spread(first, np.maximum(first, last))
    rw = _arcs(reads.reader[read], known.txn[next_version])
    taken = written & matched.taken[reads.writer]
    sessions = matched.observed.records.sessions
    order = neighbours(matched.columns.session, matched.taken) if sessions else NO_ARCS
    return Edges(
        ww,
        _arcs(reads.writer[taken], reads.reader[taken]),
        rw[rw[:, 0] != rw[:, 1]],
        order,
        known.key[of],
        np.flatnonzero(many),
    )


def _first(known: Versions, key: Ints) -> tuple[Ints, Ints]:
    """Returns for reads of what was there before the run the versions that come right after it."""
    begin, end = known.starts[key], known.starts[key + 1]
    return begin, np.where(known.ordered[key] > 0, begin + 1, end)


def _version(known: Versions, installed: Installed, reads: Reads) -> Ints:
    """Returns for each read the version that it shows; of those before the run nothing that counts."""
    count = int(max(installed.txn.max(initial=0), reads.writer.max(initial=0))) + 1
    codes = installed.key * count + installed.txn
    at = below(codes, reads.key * count + np.maximum(reads.writer, 0))
    at = np.minimum(at, max(len(codes) - 1, 0))
    # From the order of transactions to that of versions.
    moved = np.lexsort((known.txn, known.key))
    return moved[at] if len(codes) else at


def neighbours(session: Ints, taken: Bools) -> Arcs:
    """Returns the pairs of consecutive transactions of one session, of those that count as committed."""
    there = np.flatnonzero(taken)
    there = there[np.argsort(session[there], kind="stable")]
    of = session[there]
    same = of[1:] == of[:-1]
    return _arcs(there[:-1][same], there[1:][same])


def _arcs(tails: Ints, heads: Ints) -> Arcs:
    return np.column_stack((tails, heads))
