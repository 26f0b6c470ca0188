"""Who wrote what each transaction read, by arrays; what needs more than a look is left to the definitions.

A read that shows a version which a committed transaction installed, or what was there before the run, is
matched here. A transaction with any other read is matched by `observed.recover`, whose rules these are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np

from dvs_model.columns.lookup import Pairs, pairs, spread
from dvs_model.columns.table import (
    ABORTED,
    APPEND,
    COMMITTED,
    NOTHING,
    OTHERS,
    READ,
    READ_LIST,
    UNKNOWN,
    WRITE,
    Bools,
    Columns,
    Ints,
    columns_of,
)
from dvs_model.columns.written import Written
from dvs_model.observed.recover import (
    INITIAL,
    Explained,
    Observation,
    Recovered,
    Sorts,
    apart,
    incompatible,
    interrupted,
    recover,
    sorts_of,
    twice,
)
from dvs_model.observed.seen import Observed


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads of versions of other transactions, in the order of the file.

    `reader`, `writer`: indexes of transactions, or INITIAL. `op`: the operation. `value`: the code of what
    was read.
    """

    reader: Ints
    writer: Ints
    key: Ints
    op: Ints
    value: Ints


@dataclass(frozen=True, slots=True)
class Installed:
    """The versions that transactions which count as committed installed, by key and then by transaction.

    `op`: the write. `starts`, with one more at the end: where the versions of each key begin.
    """

    key: Ints
    txn: Ints
    op: Ints
    starts: Ints


@dataclass(slots=True)
class Matched:
    """A history with its reads matched to writes. `taken`: which transactions count as committed.

    `longest`: by key the read of its longest list, or -1. `broken`: of which keys the lists agree on no
    order. `noted`: what cannot be explained.
    """

    observed: Observed
    columns: Columns
    taken: Bools
    reads: Reads
    installed: Installed
    longest: Ints
    broken: Bools
    noted: Recovered

    def read_count(self) -> int:
        """Returns how many reads the transactions have that count as committed."""
        return int(((self.columns.kind >= READ) & self.taken[self.columns.txn]).sum())


def match(observed: Observed, taken: Bools | None = None) -> Matched:
    """Matches reads to writes. Raises HistoryError: two writes of one value to one key.

    `taken`: transactions of which it is known from elsewhere that they count as committed.
    """
    matching = _Matching(observed, columns_of(observed.transactions))
    if taken is not None:
        matching.taken |= taken
    return matching.matched()


class _Matching:
    """A history that is matched. `wrote`: the operation that wrote what each one reads, or -1."""

    def __init__(self, observed: Observed, columns: Columns) -> None:
        self.observed, self.columns = observed, columns
        self.noted = Recovered(observed)
        self.writes = np.flatnonzero(columns.is_write())
        self.values: Pairs = pairs(columns.key[self.writes], columns.value[self.writes])
        loaded = [columns.values.code(each) for each in observed.records.loaded]
        again = self.writes[np.isin(columns.value[self.writes], loaded)] if loaded else self.writes[:0]
        if self.values.twice() or (columns.kind[again] == WRITE).any():
            # It says where.
            recover(observed)
        self.status = columns.status[columns.txn]
        self.taken: Bools = columns.status == COMMITTED
        self.broken = np.zeros(len(columns.keys), np.bool_)
        self.odd = np.zeros(columns.count, np.bool_)
        self.longest = np.full(len(columns.keys), -1, np.int64)

    def matched(self) -> Matched:
        columns = self.columns
        reading = np.flatnonzero((columns.kind >= READ) & (self.status == COMMITTED))
        self.lists(reading[columns.kind[reading] == READ_LIST])
        wrote = self.wrote(columns.key[reading], columns.value[reading])
        self.answered(reading, wrote)
        final, before, own = self.by_key()
        reads = self.plain(reading, wrote, final, before, own)
        last = np.flatnonzero(final)
        last = last[self.taken[columns.txn[last]]]
        last = last[np.argsort(columns.key[last], kind="stable")]
        counts = np.bincount(columns.key[last], minlength=len(columns.keys))
        installed = Installed(
            columns.key[last], columns.txn[last], last, np.concatenate(([0], np.cumsum(counts)))
        )
        reads = self.with_odd(reads, final)
        return Matched(
            self.observed, columns, self.taken, reads, installed, self.longest, self.broken, self.noted
        )

    def wrote(self, key: Ints, value: Ints) -> Ints:
        """Returns the operations that wrote values of keys; -1: none did."""
        at = self.values.find(key, value)
        return np.where(at >= 0, self.writes[at], -1) if len(self.writes) else at

    # Lists

    def lists(self, shown: Ints) -> None:
        """Finds the longest list of each key, what contradicts it, and who wrote its elements."""
        columns = self.columns
        if not len(shown) or columns.starts is None:
            return
        key, begin, end = columns.key[shown], columns.starts[shown], columns.starts[shown + 1]
        by_key = np.lexsort((shown, begin - end, key))
        ordered = key[by_key]
        first = by_key[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
        self.longest[key[first]] = shown[first]
        self.duplicates(np.sort(shown[first]))
        # Each list against the beginning of the longest one.
        place, of = spread(begin, end)
        same = (
            columns.items[place] == columns.items[place - begin[of] + columns.starts[self.longest[key]][of]]
        )
        for at in np.unique(of[~same]).tolist():
            code = int(key[at])
            if not self.broken[code]:
                other = int(self.longest[code])
                index, whole = int(columns.txn[shown[at]]), columns.shown(other)
                incompatible(self.noted, columns.op(int(shown[at])), whole, index, int(columns.txn[other]))
                self.broken[code] = True
        self.elements(shown)

    def duplicates(self, longest: Ints) -> None:
        """Notes the longest lists that show an element twice."""
        columns = self.columns
        assert columns.starts is not None
        place, of = spread(columns.starts[longest], columns.starts[longest + 1])
        by_item = np.lexsort((columns.items[place], of))
        items, lists = columns.items[place][by_item], of[by_item]
        again = (items[1:] == items[:-1]) & (lists[1:] == lists[:-1])
        for at in np.unique(lists[1:][again]).tolist():
            op = int(longest[at])
            code = int(columns.key[op])
            twice(self.noted, columns.keys[code], columns.shown(op), int(columns.txn[op]))
            self.broken[code] = True

    def elements(self, shown: Ints) -> None:
        """Finds who wrote what lists show. Who reads what nobody committed is left to the definitions."""
        columns = self.columns
        assert columns.starts is not None
        longest = self.longest[self.longest >= 0]
        place, of = spread(columns.starts[longest], columns.starts[longest + 1])
        wrote = self.wrote(columns.key[longest][of], columns.items[place])
        self.interrupted(longest, of, wrote)
        txn = columns.txn[wrote]
        good = (wrote >= 0) & (columns.status[txn] != ABORTED)
        self.taken[txn[good]] = True
        for at in np.flatnonzero(~good).tolist():
            op = int(longest[of[at]])
            inner = int(place[at] - columns.starts[op])
            value = columns.values.value(int(columns.items[place[at]]))
            self.noted.bad.setdefault(columns.keys[int(columns.key[op])], []).append((inner, value))
        wrong = self.broken.copy()
        wrong[columns.key[longest[of[~good]]]] = True
        odd = shown[wrong[columns.key[shown]]]
        self.odd[columns.txn[odd]] = True
        broken = odd[self.broken[columns.key[odd]]]
        place, of = spread(columns.starts[broken], columns.starts[broken + 1])
        wrote = self.wrote(columns.key[broken][of], columns.items[place])
        self.unanswered(wrote)

    def interrupted(self, longest: Ints, of: Ints, wrote: Ints) -> None:
        """Notes the lists in which what one transaction appended does not stand together, as `apart` says.

        `of`: by element its list, a place in `longest`. `wrote`: the append of it, or -1.
        """
        columns = self.columns
        appends = np.flatnonzero(columns.kind == APPEND)
        appends = appends[np.lexsort((appends, columns.txn[appends], columns.key[appends]))]
        same = (columns.key[appends[1:]] == columns.key[appends[:-1]]) & (
            columns.txn[appends[1:]] == columns.txn[appends[:-1]]
        )
        if not same.any():
            # Each element is all that its transaction appended to the list.
            return
        following = np.full(len(columns.kind), -1, np.int64)
        following[appends[:-1][same]] = appends[1:][same]
        first = np.ones(len(columns.kind), np.bool_)
        first[appends[1:][same]] = False
        kept = (wrote >= 0) & (columns.status[columns.txn[wrote]] != ABORTED)
        kept &= columns.kind[wrote] == APPEND
        of, wrote = of[kept], wrote[kept]
        # An element stands right if the one before it is the one that was appended before it, or if a
        # transaction begins with it and the one before is the last of another one.
        begins = np.ones(len(of), np.bool_)
        begins[1:] = of[1:] != of[:-1]
        before = np.concatenate(([0], wrote[:-1]))[: len(of)]
        ended = begins | (following[before] < 0)
        right = np.where(first[wrote], ended, ~begins & (following[before] == wrote))
        for at in np.unique(of[~right]).tolist():
            op = int(longest[at])
            code = int(columns.key[op])
            if not self.broken[code]:
                name = columns.keys[code]
                mine = {
                    int(txn): [columns.values.value(int(columns.value[each])) for each in ops]
                    for txn, ops in _grouped(columns.txn, appends[columns.key[appends] == code])
                }
                index = apart(self.observed, columns.shown(op), mine)
                assert index is not None
                interrupted(self.noted, name, columns.shown(op), index)
                self.broken[code] = True

    def unanswered(self, wrote: Ints) -> None:
        """Takes transactions without an answer as committed where somebody read what they wrote."""
        txn = self.columns.txn[wrote[wrote >= 0]]
        self.taken[txn[self.columns.status[txn] == UNKNOWN]] = True

    def answered(self, reading: Ints, wrote: Ints) -> None:
        single = self.columns.kind[reading] == READ
        self.unanswered(wrote[single])

    # Reads

    def by_key(self) -> tuple[Bools, Ints, Bools]:
        """Returns which writes are the last of their key and transaction, and what is before each operation.

        The one before: of the same transaction and key; -1: there is none; and whether any of those before
        it is a write.
        """
        columns = self.columns
        ops = _by(columns.key)
        same = (columns.key[ops][1:] == columns.key[ops][:-1]) & (
            columns.txn[ops][1:] == columns.txn[ops][:-1]
        )
        before = np.full(len(ops), -1, np.int64)
        before[ops[1:][same]] = ops[:-1][same]
        writes = ops[columns.is_write()[ops]]
        key, txn = columns.key[writes], columns.txn[writes]
        last = np.ones(len(writes), np.bool_)
        last[:-1] = (key[1:] != key[:-1]) | (txn[1:] != txn[:-1])
        final = np.zeros(len(ops), np.bool_)
        final[writes[last]] = True
        begins = np.flatnonzero(np.concatenate(([True], ~same))[: len(ops)])
        written: Ints = np.cumsum(columns.is_write()[ops]) - columns.is_write()[ops]
        own = np.zeros(len(ops), np.bool_)
        own[ops] = written > np.repeat(written[begins], np.diff(np.append(begins, len(ops))))
        return final, before, own

    def plain(self, reading: Ints, wrote: Ints, final: Bools, before: Ints, own: Bools) -> Reads:
        """Returns the reads of transactions that need no more than a look; the others become odd."""
        columns = self.columns
        reader, value, lists = (
            columns.txn[reading],
            columns.value[reading],
            columns.kind[reading] == READ_LIST,
        )
        previous = before[reading]
        again = previous >= 0
        same = again & (columns.value[previous] == value) & ~lists & (columns.kind[previous] != READ_LIST)
        if columns.starts is not None:
            # Lists of one key of which one is the beginning of the other are equal if they are equally long.
            length = columns.starts[1:] - columns.starts[:-1]
            both = lists & again & (columns.kind[previous] == READ_LIST)
            same |= both & (length[reading] == length[previous])
        starts = np.array([columns.values.code(each) for each in self.observed.records.initial], np.int64)
        nothing = value == NOTHING
        if columns.starts is not None:
            # A list is empty, or its last element may be nil.
            nothing &= ~lists | (columns.starts[reading + 1] == columns.starts[reading])
        initial = nothing | (~lists & (wrote < 0) & np.isin(value, starts))
        writer = columns.txn[wrote]
        good = (wrote >= 0) & (writer != reader) & final[wrote] & (columns.status[writer] != ABORTED)
        if columns.writer is not None:
            named = columns.writer[reading]
            good &= (named == NOTHING) | (columns.number[writer] == named)
        self.odd[reader[np.where(again, ~same, ~(initial | good))]] = True
        # What is read again is missing what was seen since.
        kept = (~again | (same & ~own[reading])) & ~self.odd[reader]
        return Reads(
            reader[kept],
            np.where(initial[kept], INITIAL, writer[kept]),
            columns.key[reading[kept]],
            reading[kept],
            np.where(initial[kept], NOTHING, value[kept]),
        )

    def with_odd(self, reads: Reads, final: Bools) -> Reads:
        """Returns the reads with those of odd transactions, which the definitions match."""
        columns = self.columns
        odd = np.flatnonzero(self.odd & (columns.status == COMMITTED))
        if not len(odd):
            return reads
        writers = Written(columns, self.wrote, odd)
        last = self.last(odd, final)
        codes = {name: code for code, name in enumerate(columns.keys)}
        sorts = cache(self.sorts)
        rows = [
            (
                each.reader,
                each.writer,
                codes[each.key],
                int(columns.first[each.reader]) + each.place,
                columns.values.code(each.value),
            )
            for index in odd.tolist()
            for each in Explained(self.noted, index, writers, last, sorts).read()
        ]
        more = np.array(rows, np.int64).reshape(-1, 5)
        mine = (reads.reader, reads.writer, reads.key, reads.op, reads.value)
        both = [np.concatenate((each, more[:, at])) for at, each in enumerate(mine)]
        order = np.argsort(both[3], kind="stable")
        return Reads(*(each[order] for each in both))

    def sorts(self) -> Sorts:
        """Returns by key of which sorts its values are."""
        key, value = self.columns.key[self.writes], self.columns.value[self.writes]
        # Of the numbers of a key one is enough.
        numbers = (value > NOTHING) & (value < OTHERS)
        one = np.flatnonzero(numbers)[np.unique(key[numbers], return_index=True)[1]]
        chosen = np.concatenate((one, np.flatnonzero(~numbers)))
        keys, values = self.columns.keys, self.columns.values
        pairs_of = zip(key[chosen].tolist(), value[chosen].tolist(), strict=True)
        return sorts_of((keys[code], values.value(each)) for code, each in pairs_of)

    def last(self, odd: Ints, final: Bools) -> Mapping[str, Mapping[int, object]]:
        """Returns by key and transaction the last value written, for the keys of some transactions."""
        columns = self.columns
        place, _ = spread(columns.first[odd], columns.first[odd + 1])
        wanted = np.zeros(len(columns.keys), np.bool_)
        wanted[columns.key[place]] = True
        found: dict[str, dict[int, object]] = {}
        ops = np.flatnonzero(final & wanted[columns.key])
        for op, key, txn in zip(
            ops.tolist(), columns.key[ops].tolist(), columns.txn[ops].tolist(), strict=True
        ):
            found.setdefault(columns.keys[key], {})[txn] = columns.values.value(int(columns.value[op]))
        return found


def _by(key: Ints) -> Ints:
    """Returns the places of keys sorted by key, and those of one key in their order."""
    count = len(key)
    if count and (int(key.max()) + 1) * count < 2**62:
        # Twice as fast as a stable argsort.
        codes: Ints = np.sort(key * count + np.arange(count))
        return codes % count
    return np.argsort(key, kind="stable")


def _grouped(txn: Ints, ops: Ints) -> Iterator[tuple[int, list[int]]]:
    """Yields by transaction some operations, which stand by transaction."""
    for index, of in groupby(ops.tolist(), key=lambda op: int(txn[op])):
        yield index, list(of)


def observations(matched: Matched, chosen: Ints | Bools) -> list[Observation]:
    """Returns some of the reads, each with its value."""
    columns, reads = matched.columns, matched.reads
    of = (reads.reader, reads.writer, reads.key, reads.value, reads.op)
    return [
        Observation(
            reader, writer, columns.keys[key], columns.values.value(value), op - int(columns.first[reader])
        )
        for reader, writer, key, value, op in zip(*(each[chosen].tolist() for each in of), strict=True)
    ]
