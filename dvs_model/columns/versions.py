"""Recover version orders as far as a file gives them, and the dependencies of Adya's DSG, with NumPy.

The longest list that was read of a key shows the order of its versions (Elle's list-append); a key with one
writer has one version, which is an order; of registers with several writers nothing is known but that the
version before the run comes first, and what `columns.told` finds. Orders and reads together give ww, wr and
rw edges. `reference.clients` defines the same, one key after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dvs_model.columns.lookup import below, pairs, spread
from dvs_model.columns.match import Installed, Matched, Reads
from dvs_model.columns.table import APPEND, Bools, Ints
from dvs_model.columns.told import Told, by_assumption, by_file, by_stamps, commit_ranks
from dvs_model.observed.history import BY_LISTS, BY_NOTHING, BY_ONE, BY_STAMPS, UNRECORDED, Orders
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
    per key, whether its order is not known (`ordered` is 0 then). `tails`: the number of keys with several
    versions that no read shows. `told`: what is known of orders beside lists.
    """

    key: Ints
    txn: Ints
    starts: Ints
    ordered: Ints
    unknown: Bools
    tails: int
    told: Told


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
    """Returns the version orders by lists, by single writers, and by the sources of `columns.told`.

    A key takes its order from the first of these that applies. Lists that contradict each other: none. A
    single writer: its version alone. Commit timestamps. Lists, or appends that no list shows. Else none: a
    register with several writers.
    """
    installed, records = matched.installed, matched.observed.records
    count = installed.starts[1:] - installed.starts[:-1]
    shown = matched.longest >= 0
    columns = matched.columns
    lists = shown | (np.bincount(columns.key[columns.kind == APPEND], minlength=len(count)) > 0)
    written = np.bincount(columns.key[columns.is_write()], minlength=len(count)) > 0
    broken = written & matched.broken
    place = _places(matched)
    told = Told(np.zeros(len(count), np.bool_))
    hidden = (place < 0) & lists[installed.key]
    unknown = broken | ((count > 1) & ~lists)
    if records.stamps:
        told.stamped = ~broken & ((count > 1) | (shown & (count > 0)))
        stamped, rank = told.stamped.copy(), commit_ranks(matched)
        by_stamps(matched, told, rank, place)
        unknown = broken | (stamped & ~told.stamped)
        of = told.stamped[installed.key]
        place, hidden = np.where(of, rank[installed.txn], place), hidden & ~of
    # A list only grows, so an append that the longest list does not show comes after all that it shows. The
    # last sort key counts most: by key, then visible before hidden, then by place in the list.
    order = np.lexsort((installed.txn, place, hidden, installed.key))
    by_list = np.bincount(installed.key[~hidden], minlength=len(count))
    tails = count - by_list
    # A single hidden append has only one possible place, so the order of its key is known in full.
    ordered = np.where(unknown, 0, np.where(tails == 1, count, by_list))
    several = int(np.count_nonzero((tails > 1) & ~unknown))
    if matched.observed.follows:
        by_file(matched, told, unknown)
    if records.assumed:
        by_assumption(matched, told, unknown)
    return Versions(installed.key, installed.txn[order], installed.starts, ordered, unknown, several, told)


def orders(matched: Matched, known: Versions, codes: Iterable[int]) -> Orders:
    """Returns what is known of the version orders of some keys, by their names."""
    result, told, columns = Orders(), known.told, matched.columns
    for code in codes:
        name, begin, end = columns.keys[code], int(known.starts[code]), int(known.starts[code + 1])
        if begin < end:
            until = begin + int(known.ordered[code])
            rule = BY_NOTHING
            if known.unknown[code]:
                result.unknown[name] = reason(matched, known, code)
            else:
                result.known[name] = known.txn[begin:until].tolist()
                if until < end:
                    result.tails[name] = known.txn[until:end].tolist()
                rule = BY_LISTS if matched.longest[code] >= 0 or end - begin > 1 else BY_ONE
                rule = BY_STAMPS if told.stamped[code] else rule
            result.rules[name] = told.rules.get(code, rule)
    result.pairs = {columns.keys[code]: pairs for code, pairs in told.pairs.items()}
    result.later = {columns.keys[code]: pairs for code, pairs in told.later.items()}
    result.some = {pair: columns.keys[code] for pair, code in told.some.items()}
    return result


def reason(matched: Matched, known: Versions, code: int) -> str:
    """Returns why the order of a key is not known."""
    return matched.noted.broken.get(matched.columns.keys[code], known.told.reasons.get(code, UNRECORDED))


def unordered_keys(known: Versions, dependencies: Edges) -> Ints:
    """Returns the keys with unknown orders or left-out edges, because of which nothing is surely absent."""
    return np.unique(np.concatenate((np.flatnonzero(known.unknown), dependencies.left_out)))


def _places(matched: Matched) -> Ints:
    """Returns for each installed version its place in the longest list of its key; -1: it is not in it.

    Places count over all lists together. Only versions of one key are compared, so that does no harm.
    """
    columns, installed = matched.columns, matched.installed
    longest = matched.longest[matched.longest >= 0]
    if columns.starts is None or not len(longest):
        return np.full(len(installed.key), -1, np.int64)
    place, of = spread(columns.starts[longest], columns.starts[longest + 1])
    elements = pairs(columns.key[longest][of], columns.items[place])
    return elements.find(installed.key, columns.value[installed.op])


def edges(matched: Matched, known: Versions, *, assumed: bool = True) -> Edges:
    """Returns the dependencies that exist whatever the file leaves open.

    `assumed`: also those that follow from what the user assumes of versions.

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
    ww_key = known.key[of]
    stated = known.told.stated(assumed=assumed)
    if len(stated) or known.told.some:
        rw = np.concatenate((rw, _overtaken(matched, stated)))
        some = np.array([(key, *pair) for pair, key in known.told.some.items()], np.int64).reshape(-1, 3)
        ww = np.concatenate((ww, stated[:, 1:], some[:, 1:]))
        ww_key = np.concatenate((ww_key, stated[:, 0], some[:, 0]))
    written_by_committed = written & matched.taken[reads.writer]
    sessions = matched.observed.records.sessions
    order = neighbours(matched.columns.session, matched.taken) if sessions else NO_ARCS
    return Edges(
        ww,
        _arcs(reads.writer[written_by_committed], reads.reader[written_by_committed]),
        rw[rw[:, 0] != rw[:, 1]],
        order,
        ww_key,
        np.flatnonzero(many),
    )


def _overtaken(matched: Matched, stated: Ints) -> Arcs:
    """Returns each reader of a version with the writers of versions that are stated to be later.

    `stated`: rows (key, earlier, later).
    """
    reads, count = matched.reads, matched.columns.count
    stated = stated[np.lexsort((stated[:, 1], stated[:, 0]))]
    # One more, so that INITIAL, which is -1, does not meet the last writer of the key before.
    codes = stated[:, 0] * (count + 1) + stated[:, 1] + 1
    wanted = reads.key * (count + 1) + reads.writer + 1
    place, read = spread(below(codes, wanted), below(codes, wanted + 1))
    return _arcs(reads.reader[read], stated[place, 2])


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
    """Returns arcs, one row (tail, head) each, from two columns."""
    return np.column_stack((tails, heads))
