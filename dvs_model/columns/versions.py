"""Recover version orders as far as a file gives them, and the dependencies of Adya's DSG, with NumPy.

The longest list that was read of a key shows the order of its versions (Elle's list-append); a key with one
writer has one version, which is an order; of registers with several writers nothing is known but that the
version before the run comes first. Orders and reads together give ww, wr and rw edges. `observed.graph`
defines the same, one key after the other.
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
"""Limit of anti-dependencies for one key: more pairs of a read and a next version are left out.

Where ten thousand transactions read a key and ten thousand then append to it, unseen, each read may come
before each append. A pair takes 16 bytes. A key whose pairs are left out is treated like one whose order is
not known.
"""


@dataclass(frozen=True, slots=True)
class Versions:
    """The installed versions: of each key first those in known order, then its tail, in no known order.

    `key`, `txn`: one int64 per version. `starts`: where the versions of each key begin, with one more at the
    end. `ordered`: one int64 per key, how many versions at its beginning are in order. `unknown`: one bool
    per key, whether nothing is known of its order (`ordered` is 0 then). `tails`: the number of keys with
    several versions that no read shows.
    """

    key: Ints
    txn: Ints
    starts: Ints
    ordered: Ints
    unknown: Bools
    tails: int


@dataclass(frozen=True, slots=True)
class Edges:
    """Dependencies between transactions that are certain, and the order of sessions: rows (tail, head).

    `ww_key`: one int64 per row of `ww`, its key. `left_out`: the keys whose anti-dependencies are left out
    because there are more than MOST_PAIRS.
    """

    ww: Arcs
    wr: Arcs
    rw: Arcs
    session: Arcs
    ww_key: Ints
    left_out: Ints = field(default_factory=lambda: np.empty(0, np.int64))


def versions(matched: Matched) -> Versions:
    """Returns the version orders that follow from the lists that were read, and from single writers."""
    installed = matched.installed
    count = installed.starts[1:] - installed.starts[:-1]
    shown = matched.longest >= 0
    columns = matched.columns
    lists = shown | (np.bincount(columns.key[columns.kind == APPEND], minlength=len(count)) > 0)
    written = np.bincount(columns.key[columns.is_write()], minlength=len(count)) > 0
    unknown = (written & matched.broken) | ((count > 1) & ~lists)
    place = _places(matched)
    # A list only grows, so an append that the longest list does not show comes after all that it shows. The
    # last sort key counts most: by key, then visible before hidden, then by place in the list.
    hidden = (place < 0) & lists[installed.key]
    order = np.lexsort((installed.txn, place, hidden, installed.key))
    by_list = np.bincount(installed.key[~hidden], minlength=len(count))
    tails = count - by_list
    # A single hidden append has only one possible place, so the order of its key is known in full.
    ordered = np.where(unknown, 0, np.where(tails == 1, count, by_list))
    several = int(np.count_nonzero((tails > 1) & ~unknown))
    return Versions(installed.key, installed.txn[order], installed.starts, ordered, unknown, several)


def unordered_keys(known: Versions, made: Edges) -> Ints:
    """Returns the keys with unknown orders or left-out edges: due to them no phenomenon is surely absent."""
    return np.unique(np.concatenate((np.flatnonzero(known.unknown), made.left_out)))


def _places(matched: Matched) -> Ints:
    """Returns for each installed version its place in the longest list of its key; -1: it is not in it.

    Places count over all lists together. Only versions of one key are compared, so that does no harm.
    """
    columns, installed = matched.columns, matched.installed
    longest = matched.longest[matched.longest >= 0]
    if columns.starts is None or not len(longest):
        return np.full(len(installed.key), -1, np.int64)
    place, of = spread(columns.starts[longest], columns.starts[longest + 1])
    known = pairs(columns.key[longest][of], columns.items[place])
    return known.find(installed.key, columns.value[installed.op])


def edges(matched: Matched, known: Versions) -> Edges:
    """Returns the dependencies that exist whatever the file leaves open.

    A version has no certain successor, or one (the next in order), or several: the last version in order
    comes right before whichever append of the tail is first. Edges to all of the tail are right nevertheless,
    as paths: each of the tail comes later.
    """
    reads, installed = matched.reads, matched.installed
    place = np.arange(len(known.txn))
    rank = place - known.starts[known.key]
    ordered = known.ordered[known.key]
    end = known.starts[known.key + 1]
    # The versions that follow each version stand in the range from `after` up to `until`. It has one element
    # inside the ordered part, the whole tail after its last version, and none in the tail itself.
    after = np.where(rank < ordered, place + 1, end)
    until = np.where(rank + 1 < ordered, place + 2, end)
    # `of`: the earlier version of each pair. `before`: the later one, which the earlier one comes before.
    before, of = spread(after, np.maximum(after, until))
    ww = _arcs(known.txn[of], known.txn[before])
    first, last = _first(known, reads.key)
    at = _version(known, installed, reads)
    written = reads.writer != INITIAL
    first[written], last[written] = after[at[written]], until[at[written]]
    many = np.bincount(reads.key, np.maximum(last - first, 0), len(known.starts) - 1) > MOST_PAIRS
    # An end of 0 makes the range empty.
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
    """Returns for each key the range of versions that follow what was there before the run.

    If nothing is known of the order, that is all versions of the key: each comes after the initial one.
    """
    begin, end = known.starts[key], known.starts[key + 1]
    return begin, np.where(known.ordered[key] > 0, begin + 1, end)


def _version(known: Versions, installed: Installed, reads: Reads) -> Ints:
    """Returns for each read the place in `known` of the version that it shows.

    For a read of what was there before the run the number means nothing; the caller masks it.
    """
    # `Installed` is sorted by key and transaction, so the codes are sorted as well.
    count = int(max(installed.txn.max(initial=0), reads.writer.max(initial=0))) + 1
    codes = installed.key * count + installed.txn
    at = below(codes, reads.key * count + np.maximum(reads.writer, 0))
    at = np.minimum(at, max(len(codes) - 1, 0))
    # `at` is a place in `installed`, which is sorted by transaction; `known` is sorted by version order. Both
    # have the same versions of each key, so `moved` translates one place into the other.
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
