"""Match each read to the write whose value it shows, with NumPy, for millions of operations at once.

Values must be unique for each key, as Elle and other black-box checkers demand, so the value that a read
shows names its writer. The usual reads are matched here: of a version that a committed transaction installed,
and of what was there before the run. A transaction with any other read (such as an aborted or an intermediate
value, or two values of one key) is called *odd*, and all its reads are handed to `observed.recover`, which
matches them one after the other. `reference.clients` matches all reads that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np

from dvs_model.columns.lookup import PairIndex, pairs, spread
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
from dvs_model.columns.written import Writers
from dvs_model.errors import HistoryError
from dvs_model.observed.recover import (
    INITIAL,
    Explained,
    Recovered,
    Sorts,
    VersionRead,
    apart,
    incompatible,
    interrupted,
    sorts_of,
    twice,
)
from dvs_model.observed.seen import Observed, value_text


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads of versions of other transactions, in the order of the file: one int64 per read in each array.

    `reader`, `writer`: indexes of transactions; the writer is INITIAL (-1) if the read shows what was there
    before the run. `key`: a place in `Columns.keys`. `op`: the place of the operation in the columns.
    `value`: the code of the value that was read.
    """

    reader: Ints
    writer: Ints
    key: Ints
    op: Ints
    value: Ints


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed versions: the last write of each committed transaction to each key. One int64 a version.

    Sorted by key and then by transaction, so that a pair (key, transaction) can be found by binary search.
    `op`: the operation that wrote the version. `starts`: where the versions of each key begin; it has one
    entry more than there are keys, so the versions of key k are at `starts[k]` up to `starts[k + 1]`.
    """

    key: Ints
    txn: Ints
    op: Ints
    starts: Ints


@dataclass(slots=True)
class Matched:
    """A history with its reads matched to writes.

    `taken`: one bool per transaction, whether it counts as committed. A transaction without an answer counts
    if a committed one read what it wrote. `longest`: one int64 per key, the operation that read its longest
    list; -1 if no list was read. `broken`: one bool per key, whether the lists that were read of it
    contradict each other, so that they give no version order. `noted`: the reads that no write explains, as
    findings.
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
        """Returns the number of reads in transactions that count as committed."""
        return int(((self.columns.kind >= READ) & self.taken[self.columns.txn]).sum())


def match(observed: Observed, taken: Bools | None = None) -> Matched:
    """Returns the history with its reads matched to writes.

    `taken`: one bool per transaction, set where the caller knows already that it counts as committed. A
    history that is judged in shares of its keys needs this: the read that proves it may be in another share.

    Raises HistoryError: one value is written twice to one key, or a value of the initial state is written.
    """
    matching = _Matching(observed, columns_of(observed.transactions))
    if taken is not None:
        matching.taken |= taken
    return matching.matched()


class _Matching:
    """The work of `match`, step by step.

    `writes`: the operations that write or append. `values`: the places in `writes`, looked up by key and
    value. `odd`: one bool per transaction, whether its reads are left to the definitions.
    """

    def __init__(self, observed: Observed, columns: Columns) -> None:
        self.observed, self.columns = observed, columns
        self.noted = Recovered(observed)
        self.writes = np.flatnonzero(columns.is_write())
        self.values: PairIndex = pairs(columns.key[self.writes], columns.value[self.writes])
        loaded = [columns.values.code(each) for each in observed.records.loaded]
        again = self.writes[np.isin(columns.value[self.writes], loaded)] if loaded else self.writes[:0]
        if self.values.twice() or (columns.kind[again] == WRITE).any():
            self.refuse(loaded)
        self.status = columns.status[columns.txn]
        self.taken: Bools = columns.status == COMMITTED
        self.broken = np.zeros(len(columns.keys), np.bool_)
        self.odd = np.zeros(columns.count, np.bool_)
        self.longest = np.full(len(columns.keys), -1, np.int64)

    def refuse(self, loaded: list[int]) -> None:
        """Raises HistoryError for the first value of the file that is not unique. `loaded`: initial ones."""
        columns, writes = self.columns, self.writes
        key, value = columns.key[writes], columns.value[writes]
        first = writes[self.values.find(key, value)]
        initial = np.isin(value, loaded) & (columns.kind[writes] == WRITE)
        at = int(np.flatnonzero((first != writes) | initial)[0])
        op, unique = columns.op(int(writes[at])), "values must be unique, or no read tells what it has read"
        here, other = (
            self.observed.transactions[int(columns.txn[each])].place for each in (writes[at], first[at])
        )
        if initial[at]:
            before = "is what was there before the run, as --initial-value says, and"
            written = f"{before} it is written to key {op.key} again in {here}"
        else:
            written = f"is written twice to key {op.key}: in {other} and in {here}"
        raise HistoryError(f"{value_text(op.value)} {written}; {unique}")

    def matched(self) -> Matched:
        """Returns the result. The order of the steps matters: each may add to `taken`, `broken` and `odd`."""
        columns = self.columns
        reading = np.flatnonzero((columns.kind >= READ) & (self.status == COMMITTED))
        self.lists(reading[columns.kind[reading] == READ_LIST])
        wrote = self.wrote(columns.key[reading], columns.value[reading])
        self.answered(reading, wrote)
        final, before, own = self.by_key()
        reads = self.plain(reading, wrote, final, before, own)
        last = np.flatnonzero(final)
        last = last[self.taken[columns.txn[last]]]
        # Operations are in the order of transactions, so a stable sort by key leaves each key's versions in
        # the order of transactions: `Installed` promises that.
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
        """Returns for each key and value the operation that wrote the value; -1: no operation did."""
        at = self.values.find(key, value)
        return np.where(at >= 0, self.writes[at], -1) if len(self.writes) else at

    # Lists

    def lists(self, shown: Ints) -> None:
        """Finds the longest list of each key, the lists that contradict it, and who wrote its elements.

        A list shows the order in which its elements were appended: this is how Elle recovers version orders.
        If every other list of the key is a prefix of the longest one, the longest one stands for all.
        `shown`: the operations of committed transactions that read a list.
        """
        columns = self.columns
        if not len(shown) or columns.starts is None:
            return
        key, begin, end = columns.key[shown], columns.starts[shown], columns.starts[shown + 1]
        # The last sort key counts most: by key, then by negative length, then by place in the file. So the
        # first of each key is its longest list, and of equally long ones the one that was read first.
        by_key = np.lexsort((shown, begin - end, key))
        ordered = key[by_key]
        first = by_key[np.concatenate(([True], ordered[1:] != ordered[:-1]))]
        self.longest[key[first]] = shown[first]
        self.duplicates(np.sort(shown[first]))
        # Compare each list, element by element, with the beginning of the longest list of its key. `of` says
        # to which list an element belongs; its distance from the beginning of that list is its place in the
        # longest one.
        place, of = spread(begin, end)
        same = (
            columns.items[place] == columns.items[place - begin[of] + columns.starts[self.longest[key]][of]]
        )
        for at in np.unique(of[~same]).tolist():
            code = int(key[at])
            # One contradiction of a key is enough: afterwards nothing is known of its order.
            if not self.broken[code]:
                other = int(self.longest[code])
                index, whole = int(columns.txn[shown[at]]), columns.shown(other)
                incompatible(self.noted, columns.op(int(shown[at])), whole, index, int(columns.txn[other]))
                self.broken[code] = True
        self.elements(shown)

    def duplicates(self, longest: Ints) -> None:
        """Notes the longest lists that show an element twice. `longest`: the operations that read them."""
        columns = self.columns
        assert columns.starts is not None
        place, of = spread(columns.starts[longest], columns.starts[longest + 1])
        # Sorted by list and then by element, equal elements of one list are neighbours.
        by_item = np.lexsort((columns.items[place], of))
        items, lists = columns.items[place][by_item], of[by_item]
        again = (items[1:] == items[:-1]) & (lists[1:] == lists[:-1])
        for at in np.unique(lists[1:][again]).tolist():
            op = int(longest[at])
            code = int(columns.key[op])
            twice(self.noted, columns.keys[code], columns.shown(op), int(columns.txn[op]))
            self.broken[code] = True

    def elements(self, shown: Ints) -> None:
        """Finds the writers of list elements, and marks who must be left to the definitions.

        A transaction becomes odd if it read a list of a key whose lists contradict each other, or whose
        longest list has an element that no committed transaction appended. `shown`: as in `lists`.
        """
        columns = self.columns
        assert columns.starts is not None
        longest = self.longest[self.longest >= 0]
        place, of = spread(columns.starts[longest], columns.starts[longest + 1])
        wrote = self.wrote(columns.key[longest][of], columns.items[place])
        self.interrupted(longest, of, wrote)
        # Where nobody wrote an element, -1 picks the last operation; `wrote >= 0` masks what comes of it.
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
        # Where lists contradict each other the longest one does not stand for the others. So every element
        # of every list is looked up, to find the transactions without an answer that were read from.
        broken = odd[self.broken[columns.key[odd]]]
        place, of = spread(columns.starts[broken], columns.starts[broken + 1])
        wrote = self.wrote(columns.key[broken][of], columns.items[place])
        self.unanswered(wrote)

    def interrupted(self, longest: Ints, of: Ints, wrote: Ints) -> None:
        """Notes the lists that show the appends of one transaction in parts, or in another order.

        Another transaction has written in between: a dirty write (Adya's G0). `recover.apart` defines it.
        `longest`: the operations that read the longest lists. `of`: one int64 per element of these lists, its
        list as a place in `longest`. `wrote`: one int64 per element, the operation that appended it, or -1.
        """
        columns = self.columns
        appends = np.flatnonzero(columns.kind == APPEND)
        appends = appends[np.lexsort((appends, columns.txn[appends], columns.key[appends]))]
        same = (columns.key[appends[1:]] == columns.key[appends[:-1]]) & (
            columns.txn[appends[1:]] == columns.txn[appends[:-1]]
        )
        if not same.any():
            # No transaction appended twice to one key, so nothing can be taken apart.
            return
        # By append the next append of its transaction to the same list (-1: it is the last one), and whether
        # it is the first one.
        following = np.full(len(columns.kind), -1, np.int64)
        following[appends[:-1][same]] = appends[1:][same]
        first = np.ones(len(columns.kind), np.bool_)
        first[appends[1:][same]] = False
        kept = (wrote >= 0) & (columns.status[columns.txn[wrote]] != ABORTED)
        kept &= columns.kind[wrote] == APPEND
        of, wrote = of[kept], wrote[kept]
        # Two cases in which an element stands right. It is the first append of its transaction: then the
        # element before it must be the last append of another one. Or it is a later append: then the element
        # before it must be the previous append of its own. The end of a list is not looked at: the last
        # transaction may have appended more after the list was read.
        begins = np.ones(len(of), np.bool_)
        begins[1:] = of[1:] != of[:-1]
        # The 0 is a dummy: `begins` masks it. The slice keeps an empty array empty.
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
        """Counts transactions without an answer as committed, because somebody read what they wrote.

        `wrote`: the operations that wrote what was read; -1 where no operation did.
        """
        txn = self.columns.txn[wrote[wrote >= 0]]
        self.taken[txn[self.columns.status[txn] == UNKNOWN]] = True

    def answered(self, reading: Ints, wrote: Ints) -> None:
        """Counts transactions without an answer as committed if a read of a single value shows their write.

        `elements` does it for lists.
        """
        single = self.columns.kind[reading] == READ
        self.unanswered(wrote[single])

    # Reads

    def by_key(self) -> tuple[Bools, Ints, Bools]:
        """Returns three arrays with one entry per operation: final, before, own.

        `final`: whether it is the last write of its transaction to its key. `before`: the previous operation
        of the same transaction on the same key; -1: there is none. `own`: whether any earlier operation of
        the same transaction on the same key is a write.
        """
        columns = self.columns
        # Sorted by key; within a key operations stay in the order of the file, which is by transaction. So
        # the operations of one transaction on one key are neighbours.
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
        # `written` counts the writes before each operation, over all groups. If the count has grown since the
        # group of this key and transaction began, the group has a write before this operation.
        written: Ints = np.cumsum(columns.is_write()[ops]) - columns.is_write()[ops]
        own = np.zeros(len(ops), np.bool_)
        own[ops] = written > np.repeat(written[begins], np.diff(np.append(begins, len(ops))))
        return final, before, own

    def plain(self, reading: Ints, wrote: Ints, final: Bools, before: Ints, own: Bools) -> Reads:
        """Returns the reads that arrays can match; transactions with any other read become odd.

        `reading`: the reads of committed transactions. `wrote`: by such a read the operation that wrote its
        value, or -1. `final`, `before`, `own`: from `by_key`.
        """
        columns = self.columns
        reader, value, lists = (
            columns.txn[reading],
            columns.value[reading],
            columns.kind[reading] == READ_LIST,
        )
        previous = before[reading]
        again = previous >= 0
        # After an earlier operation on the key a read must show the same value again: what the transaction
        # has read, or what it has written itself. Anything else is odd.
        same = again & (columns.value[previous] == value) & ~lists & (columns.kind[previous] != READ_LIST)
        if columns.starts is not None:
            # All lists of a key are prefixes of its longest one (else their readers are odd already), so two
            # of them are equal if they are equally long.
            length = columns.starts[1:] - columns.starts[:-1]
            both = lists & again & (columns.kind[previous] == READ_LIST)
            same |= both & (length[reading] == length[previous])
        starts = np.array([columns.values.code(each) for each in self.observed.records.initial], np.int64)
        nothing = value == NOTHING
        if columns.starts is not None:
            # The code of a list is that of its last element. NOTHING then has two meanings: the list is
            # empty, or its last element is nil. Only the length tells. (A file that appends nil showed it.)
            nothing &= ~lists | (columns.starts[reading + 1] == columns.starts[reading])
        # A value such as 0 may mean "before the run", but only if no transaction wrote it.
        initial = nothing | (~lists & (wrote < 0) & np.isin(value, starts))
        # -1 picks the last operation here; `wrote >= 0` in `good` masks it.
        writer = columns.txn[wrote]
        good = (wrote >= 0) & (writer != reader) & final[wrote] & (columns.status[writer] != ABORTED)
        if columns.writer is not None:
            named = columns.writer[reading, 0]
            good &= (named == NOTHING) | (columns.number[writer] == named)
        self.odd[reader[np.where(again, ~same, ~(initial | good))]] = True
        # A second read of the same version is kept, too: since the first one the transaction may have seen a
        # writer of a newer version, which the second read then misses (read committed forbids that). A read
        # of an own write is no dependency.
        kept = (~again | (same & ~own[reading])) & ~self.odd[reader]
        return Reads(
            reader[kept],
            np.where(initial[kept], INITIAL, writer[kept]),
            columns.key[reading[kept]],
            reading[kept],
            np.where(initial[kept], NOTHING, value[kept]),
        )

    def with_odd(self, reads: Reads, final: Bools) -> Reads:
        """Returns all reads in the order of the file: the given ones, and those of odd transactions.

        `observed.recover` matches the latter, and notes what cannot be explained.
        """
        columns = self.columns
        odd = np.flatnonzero(self.odd & (columns.status == COMMITTED))
        if not len(odd):
            return reads
        writers = Writers(columns, self.wrote, odd)
        last = self.last(odd, final)
        codes = {name: code for code, name in enumerate(columns.keys)}
        # `sorts` looks at every write, and only values that nobody wrote need it: so once, and on demand.
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
        """Returns for each key the sorts of the values that are written to it, such as numbers or strings."""
        key, value = self.columns.key[self.writes], self.columns.value[self.writes]
        # All integers are of one sort, so one of each key is enough; other values are looked at one by one.
        numbers = (value > NOTHING) & (value < OTHERS)
        one = np.flatnonzero(numbers)[np.unique(key[numbers], return_index=True)[1]]
        chosen = np.concatenate((one, np.flatnonzero(~numbers)))
        keys, values = self.columns.keys, self.columns.values
        pairs_of = zip(key[chosen].tolist(), value[chosen].tolist(), strict=True)
        return sorts_of((keys[code], values.value(each)) for code, each in pairs_of)

    def last(self, odd: Ints, final: Bools) -> Mapping[str, Mapping[int, object]]:
        """Returns by key and transaction the last value written, for the keys that odd transactions use."""
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
    """Returns the places of operations, sorted by key; the operations of one key stay in their order."""
    count = len(key)
    if count and (int(key.max()) + 1) * count < 2**62:
        # Key and place as one number: to sort the numbers themselves is twice as fast as a stable argsort.
        # The bound keeps them within int64.
        codes: Ints = np.sort(key * count + np.arange(count))
        return codes % count
    return np.argsort(key, kind="stable")


def _grouped(txn: Ints, ops: Ints) -> Iterator[tuple[int, list[int]]]:
    """Yields each transaction with its operations. `ops`: sorted by transaction. `txn`: by operation."""
    for index, of in groupby(ops.tolist(), key=lambda op: int(txn[op])):
        yield index, list(of)


def observations(matched: Matched, chosen: Ints | Bools) -> list[VersionRead]:
    """Returns some of the reads as objects, for the definitions. `chosen`: places or a mask of reads."""
    columns, reads = matched.columns, matched.reads
    of = (reads.reader, reads.writer, reads.key, reads.value, reads.op)
    return [
        VersionRead(
            reader, writer, columns.keys[key], columns.values.value(value), op - int(columns.first[reader])
        )
        for reader, writer, key, value, op in zip(*(each[chosen].tolist() for each in of), strict=True)
    ]
