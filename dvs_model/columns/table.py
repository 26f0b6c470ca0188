"""A history of clients as columns, one element an operation; transactions are made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dvs_model.observed.seen import Kind, LazyTransactions, Op, Status, Transaction
from dvs_model.observed.time import Windows, window_of

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WRITE, APPEND, READ, READ_LIST = range(4)
KINDS = (Kind.WRITE, Kind.APPEND, Kind.READ, Kind.READ_LIST)
STATUSES = (Status.COMMITTED, Status.ABORTED, Status.UNKNOWN)
COMMITTED, ABORTED, UNKNOWN = range(3)
CODES = {kind: code for code, kind in enumerate(KINDS)}
"""The code of a kind."""

NOTHING = -(2**62)
"""The code of no value: the version before the run, or an empty list."""

OTHERS = 2**61
"""The first code of values that are no integers, or too large ones."""


@dataclass(slots=True)
class Values:
    """The codes of values: an integer is its own code, others are numbered."""

    codes: dict[object, int] = field(default_factory=dict)
    others: list[object] = field(default_factory=list)

    def code(self, value: object) -> int:
        """Returns the code of a value."""
        if value is None:
            return NOTHING
        if isinstance(value, int) and -OTHERS < value < OTHERS:
            return int(value)
        known = self.codes.setdefault(value, OTHERS + len(self.others))
        if known == OTHERS + len(self.others):
            self.others.append(value)
        return known

    def array(self, values: Sequence[object]) -> Ints:
        """Returns the codes of many values."""
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
    """What clients saw, by operation in the order of transactions, and by transaction.

    By operation: `txn`: the index of its transaction. `kind`: WRITE, APPEND, READ or READ_LIST. `key`: a
    place in `keys`. `value`: a code; of a list that was read, of its last element. `starts`, with one more
    at the end: where the elements of the operation begin in `items`; None: no list was read. `writer`: the
    number of the transaction that the file names as the writer of what was read, or NOTHING; None: it names
    none.

    By transaction: `first`, with one more at the end: its first operation. `number`, `status`. `session`: a
    place in `sessions`.
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
        return Op(KINDS[kind], self.keys[int(self.key[at])], value)

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
    """The transactions of columns that name no writers, each made when it is asked for.

    `place`: where a transaction stands in the file. `windows`, `timed`: begin and end by transaction; NaN:
    none.
    """

    columns: Columns
    place: Callable[[int], str]
    windows: Windows | None = None
    timed: Windows | None = None

    def __len__(self) -> int:
        return self.columns.count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def made(self, index: int) -> Transaction:
        """Returns one, by its index from 0."""
        columns = self.columns
        return Transaction(
            int(columns.number[index]),
            columns.sessions[int(columns.session[index])],
            STATUSES[int(columns.status[index])],
            columns.ops(index),
            self.place(index),
            None if self.windows is None else window_of(self.windows, index),
            None if self.timed is None else window_of(self.timed, index),
        )

    def number_of(self, index: int) -> int:
        """Returns the number of one."""
        return int(self.columns.number[index])

    def status_of(self, index: int) -> Status:
        """Returns how one ended."""
        return STATUSES[int(self.columns.status[index])]

    def session_of(self, index: int) -> str:
        """Returns the session of one."""
        return self.columns.sessions[int(self.columns.session[index])]

    def in_real_time(self, *, by_time: bool) -> Rows:
        """Returns them with the real time of one order alone, where there are two."""
        if self.timed is None:
            return self
        return replace(self, windows=self.timed if by_time else self.windows, timed=None)


def columns_of(transactions: Sequence[Transaction]) -> Columns:
    """Returns the columns of transactions."""
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
        full = np.flatnonzero((kind == READ_LIST) & (starts[1:] > starts[:-1]))
        value[full] = items[starts[full + 1] - 1]
    else:
        value = values.array([op[2] for op in ops])
    named = None
    if any(op[3] is not None for op in ops):
        named = np.fromiter((NOTHING if op[3] is None else op[3][0] for op in ops), np.int64, len(ops))
    return Columns(
        txn=np.repeat(np.arange(len(transactions)), counts),
        kind=kind,
        key=key,
        value=value,
        starts=starts,
        items=items,
        writer=named,
        first=_starts(counts),
        number=np.fromiter((each.number for each in transactions), np.int64, len(transactions)),
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


def _starts(counts: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
