"""A history of clients as NumPy columns, one element per operation, instead of an object for each.

Ten million operations fit into memory this way, and are matched and ordered without a loop in Python. Keys
and sessions are numbered; values have codes (`Values`). `Rows` shows the columns as a sequence of
transactions again, for the readable code, and makes each only when it is accessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dvs_model.observed.seen import Kind, LazyTransactions, Op, Status, Transaction, Window
from dvs_model.observed.time import Windows, window_of

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WRITE, APPEND, READ, READ_LIST = range(4)
KINDS = (Kind.WRITE, Kind.APPEND, Kind.READ, Kind.READ_LIST)
STATUSES = (Status.COMMITTED, Status.ABORTED, Status.UNKNOWN)
COMMITTED, ABORTED, UNKNOWN = range(3)
CODES = {kind: code for code, kind in enumerate(KINDS)}
"""The code of a kind. Comparisons rely on the order: writes are `<= APPEND`, reads are `>= READ`."""

NOTHING = -(2**62)
"""The code of no value: the version before the run, or an empty list. No integer has it: see OTHERS."""

OTHERS = 2**61
"""The first code of values that are no integers, or too large ones. Integers from -OTHERS + 1 to OTHERS - 1
are their own codes, so the three ranges do not meet."""


@dataclass(slots=True)
class Values:
    """Codes of values: an integer is its own code, all others are numbered as they come.

    So most values need no table, and arrays compare values by comparing codes.
    """

    codes: dict[object, int] = field(default_factory=dict)
    others: list[object] = field(default_factory=list)

    def code(self, value: object) -> int:
        """Returns the code of a value."""
        if value is None:
            return NOTHING
        if isinstance(value, int) and -OTHERS < value < OTHERS:
            return int(value)
        number = self.codes.setdefault(value, OTHERS + len(self.others))
        # If the new number was taken, the value was not known.
        if number == OTHERS + len(self.others):
            self.others.append(value)
        return number

    def array(self, values: Sequence[object]) -> Ints:
        """Returns the codes of many values."""
        # Fast way, for integers alone. One of more than 64 bits, or in the range of other codes, needs the
        # slow way. (`type`, not `isinstance`: True is an int to Python.)
        if set(map(type, values)) <= {int}:
            try:
                found = np.fromiter(values, np.int64, len(values))
            except OverflowError:
                pass
            else:
                if not len(found) or (found.min() > -OTHERS and found.max() < OTHERS):
                    return found
        return np.fromiter(map(self.code, values), np.int64, len(values))

    def value(self, code: int) -> object:
        """Returns the value of a code."""
        if code == NOTHING:
            return None
        return code if code < OTHERS else self.others[code - OTHERS]


@dataclass(frozen=True, slots=True)
class Columns:
    """What clients saw, as arrays with one entry per operation, and arrays with one entry per transaction.

    Operations stand in the order of transactions, and those of a transaction in its own order.

    By operation: `txn`: the index of its transaction. `kind`: WRITE, APPEND, READ or READ_LIST. `key`: a
    place in `keys`. `value`: the code of the value; of a list that was read, that of its last element, which
    names the version. `starts`: where the elements of the operation begin in `items`, with one more entry at
    the end; None: no list was read. `writer`: a row each, the transaction and the write that the file names
    as the source of what was read, or twice NOTHING; None: the file names no writers.

    By transaction: `first`: the place of its first operation, with one more entry at the end, so that the
    operations of transaction t are at `first[t]` up to `first[t + 1]`. `number`: as the file calls it.
    `status`: a place in STATUSES. `session`: a place in `sessions`.
    """

    txn: Ints
    kind: NDArray[np.int8]
    key: Ints
    value: Ints
    starts: Ints | None
    items: Ints
    writer: Ints | None
    first: Ints
    number: Ints
    status: NDArray[np.int8]
    session: Ints
    keys: Sequence[str]
    sessions: Sequence[str]
    values: Values

    @property
    def count(self) -> int:
        """How many transactions there are."""
        return len(self.number)

    def is_write(self) -> Bools:
        """Tells of each operation whether it writes or appends."""
        return self.kind <= APPEND

    def op(self, at: int) -> Op:
        """Returns one operation."""
        kind = int(self.kind[at])
        value = self.shown(at) if kind == READ_LIST else self.values.value(int(self.value[at]))
        writer = None if self.writer is None else pair_of(self.writer, at)
        return Op(KINDS[kind], self.keys[int(self.key[at])], value, writer)

    def shown(self, at: int) -> tuple[object, ...]:
        """Returns the list that a read shows."""
        assert self.starts is not None
        codes = self.items[self.starts[at] : self.starts[at + 1]].tolist()
        return tuple(map(self.values.value, codes))

    def ops(self, index: int) -> list[Op]:
        """Returns the operations of a transaction."""
        return [self.op(at) for at in range(int(self.first[index]), int(self.first[index + 1]))]


@dataclass(frozen=True, slots=True, eq=False)
class Rows(LazyTransactions):
    """The transactions of columns as a sequence that builds each transaction on access.

    `place`: from an index to where the transaction stands in the file. `windows`, `timed`: a row (begin, end)
    per transaction, by the order of the file and by its times; NaN: not known. `start`, `commit`: the
    timestamps of the database, a row of two numbers per transaction; NOTHING: it has none.
    """

    columns: Columns
    place: Callable[[int], str]
    windows: Windows | None = None
    timed: Windows | None = None
    start: Ints | None = None
    commit: Ints | None = None

    def __len__(self) -> int:
        return self.columns.count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def made(self, index: int) -> Transaction:
        """Builds and returns a transaction, by its index from 0."""
        return replace(self.bare(index), ops=self.columns.ops(index))

    def bare(self, index: int) -> Transaction:
        """Builds and returns a transaction without its operations."""
        columns = self.columns
        return Transaction(
            int(columns.number[index]),
            columns.sessions[int(columns.session[index])],
            STATUSES[int(columns.status[index])],
            (),
            self.place(index),
            None if self.windows is None else window_of(self.windows, index),
            None if self.timed is None else window_of(self.timed, index),
            None if self.start is None else pair_of(self.start, index),
            None if self.commit is None else pair_of(self.commit, index),
        )

    def in_real_time(self, *, by_time: bool) -> Rows:
        """Returns the transactions with one source of real time, where the file has two.

        `by_time`: the times of the file instead of its order.
        """
        if self.timed is None:
            return self
        return replace(self, windows=self.timed if by_time else self.windows, timed=None)


def held_twice(kind: NDArray[np.integer], key: Ints, value: Ints) -> tuple[int, int] | None:
    """Returns the first operations that show a list and a single value of one key; None: no key holds both.

    A read of nothing shows neither.
    """
    listed = (kind == APPEND) | (kind == READ_LIST)
    single = (kind == WRITE) | ((kind == READ) & (value != NOTHING))
    if not listed.any() or not single.any():
        return None
    both = np.intersect1d(key[listed], key[single])
    if not len(both):
        return None
    return int(np.flatnonzero(listed & (key == both[0]))[0]), int(
        np.flatnonzero(single & (key == both[0]))[0]
    )


def pair_of(pairs: Ints, at: int) -> tuple[int, int] | None:
    """Returns the pair in a row of an array; None: NOTHING stands there."""
    first, second = pairs[at].tolist()
    return None if first == NOTHING else (first, second)


def pairs_in(found: Sequence[tuple[int, int] | None]) -> Ints | None:
    """Returns pairs as rows of an array, with NOTHING where there is none; None: there is none at all."""
    if not any(each is not None for each in found):
        return None
    return _numbers([(NOTHING, NOTHING) if each is None else each for each in found])


def windows_of(windows: Sequence[Window | None]) -> Windows:
    """Returns windows as rows (begin, end) of an array, with NaN where there is none."""
    return np.array([(np.nan, np.nan) if each is None else each for each in windows], np.float64).reshape(
        -1, 2
    )


def rows_of(transactions: Sequence[Transaction]) -> Rows:
    """Returns transactions as columns."""
    if isinstance(transactions, Rows):
        return transactions
    return Rows(
        columns_of(transactions),
        lambda index: transactions[index].place,
        windows_of([each.window for each in transactions]),
        windows_of([each.timed for each in transactions]),
        pairs_in([each.start for each in transactions]),
        pairs_in([each.commit for each in transactions]),
    )


def columns_of(transactions: Sequence[Transaction]) -> Columns:
    """Returns the columns of transactions.

    Keys and sessions are numbered in the order in which they first appear.
    """
    if isinstance(transactions, Rows):
        return transactions.columns
    counts = np.fromiter((len(each.ops) for each in transactions), np.int64, len(transactions))
    ops = list(chain.from_iterable(each.ops for each in transactions))
    keys, sessions, values = dict[str, int](), dict[str, int](), Values()
    kind = np.fromiter((CODES[op[0]] for op in ops), np.int8, len(ops))
    key = np.fromiter((keys.setdefault(op[1], len(keys)) for op in ops), np.int64, len(ops))
    starts, items = None, np.empty(0, np.int64)
    if (kind == READ_LIST).any():
        lists = [op[2] if type(op[2]) is tuple else () for op in ops]
        starts = _starts(np.fromiter(map(len, lists), np.int64, len(ops)))
        items = values.array(list(chain.from_iterable(lists)))
        single = [None if type(op[2]) is tuple else op[2] for op in ops]
        value = np.fromiter(map(values.code, single), np.int64, len(ops))
        # An empty list keeps the code NOTHING, which `single` gave it.
        full = np.flatnonzero((kind == READ_LIST) & (starts[1:] > starts[:-1]))
        value[full] = items[starts[full + 1] - 1]
    else:
        value = values.array([op[2] for op in ops])
    return Columns(
        txn=np.repeat(np.arange(len(transactions)), counts),
        kind=kind,
        key=key,
        value=value,
        starts=starts,
        items=items,
        writer=pairs_in([op[3] for op in ops]),
        first=_starts(counts),
        number=_numbers([each.number for each in transactions]),
        status=np.fromiter(
            (STATUSES.index(each.status) for each in transactions), np.int8, len(transactions)
        ),
        session=np.fromiter(
            (sessions.setdefault(each.session, len(sessions)) for each in transactions),
            np.int64,
            len(transactions),
        ),
        keys=list(keys),
        sessions=list(sessions),
        values=values,
    )


def _numbers(numbers: Sequence[int] | Sequence[tuple[int, int]]) -> Ints:
    """Returns numbers, or pairs of them; as objects of Python where one has more than 64 bits."""
    try:
        return np.array(numbers, np.int64)
    except OverflowError:
        return np.array(numbers, object)


def _starts(counts: Ints) -> Ints:
    """Returns where groups of these sizes begin, one after the other, and last where they end."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
