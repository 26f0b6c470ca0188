"""The transactions of clients in Arrow tables: what is kept of each, however many operations there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dvs_model.columns.names import Numbered
from dvs_model.columns.table import STATUSES, UNKNOWN, Bools, Ints
from dvs_model.errors import HistoryError
from dvs_model.formats.operations import numpy, text, words

STATUS = {status.value: code for code, status in enumerate(STATUSES)}


@dataclass(slots=True)
class Listing:
    """Transactions in the order of a table, added in batches.

    `rows`: how many rows there were; `count`: how many transactions. `last`: the number of the last one. A
    list has an array for each batch, and in it, by transaction: `number`; `status`: a place in STATUSES;
    `session`: a place in `sessions`; `row`: its first row, from 1; `windows`, `timed`: begin and end, by the
    file and by the clock; NaN: none. `last_of`: the session and the status of the last row. `origin`: by
    column the first moment, if moments are whole numbers.
    """

    rows: int = 0
    last: int | None = None
    number: list[Ints] = field(default_factory=list)
    status: list[Ints] = field(default_factory=list)
    session: list[Ints] = field(default_factory=list)
    row: list[Ints] = field(default_factory=list)
    windows: list[NDArray[np.float64]] = field(default_factory=list)
    timed: list[NDArray[np.float64]] = field(default_factory=list)
    sessions: dict[str, int] = field(default_factory=dict)
    count: int = 0
    last_of: dict[str, int] = field(default_factory=lambda: {"session": -1, "status": -1})
    origin: dict[str, int] = field(default_factory=dict)

    def add(self, table: pa.Table) -> Ints:
        """Adds rows, and returns of each the index of its transaction. Raises HistoryError."""
        numbers = numbers_of(table["transaction"])
        first = changes(numbers)
        if len(numbers) and self.last is not None:
            first[0] = int(numbers[0]) != self.last
        index = self.count - 1 + np.cumsum(first)
        heads = np.flatnonzero(first)
        status, session = self._status(table), self._session(table)
        if session is not None:
            self._ensure_one(numbers, index, heads, session, "session", list(self.sessions))
            self.session.append(session[heads])
            self.last_of["session"] = int(session[-1]) if len(session) else self.last_of["session"]
        self._ensure_one(numbers, index, heads, status, "status", list(STATUS))
        self.last_of["status"] = int(status[-1]) if len(status) else self.last_of["status"]
        chosen = table.take(pa.array(heads))
        self.number.append(numbers[heads])
        self.row.append(self.rows + heads + 1)
        self.status.append(status[heads])
        unanswered = status[heads] == UNKNOWN
        self.windows.append(self._window(chosen, unanswered, "began", "ended"))
        self.timed.append(self._window(chosen, unanswered, "began_by_clock", "ended_by_clock"))
        self.rows += len(numbers)
        self.count += len(heads)
        if len(numbers):
            self.last = int(numbers[-1])
        return index

    def _ensure_one(
        self, numbers: Ints, index: Ints, heads: Ints, codes: Ints, what: str, names: list[str]
    ) -> None:
        """Raises HistoryError for a transaction whose rows differ in their session or status."""
        of = index - self.count
        due = np.where(of >= 0, codes[heads[of]] if len(heads) else -1, self.last_of[what])
        other = np.flatnonzero(codes != due)
        if len(other):
            at = int(other[0])
            here, first = names[int(codes[at])], names[int(due[at])]
            raise HistoryError(
                f"row {self.rows + at + 1:,}: transaction {numbers[at]} has the {what} {here} here, and "
                f"{first} in the row before"
            )

    def _status(self, table: pa.Table) -> Ints:
        """Returns the codes of the statuses; a table without statuses has committed transactions alone."""
        if "status" not in table.column_names:
            return np.zeros(len(table), np.int64)
        return words(table["status"], STATUS, "a status")

    def _session(self, table: pa.Table) -> Ints | None:
        """Returns the places of the sessions; None: the table has none. Raises HistoryError: a gap."""
        if "session" not in table.column_names:
            return None
        if table["session"].null_count:
            raise HistoryError("a row has no session; leave the column out if sessions are not known")
        coded = text(table["session"]).combine_chunks().dictionary_encode()
        places = [self.sessions.setdefault(name, len(self.sessions)) for name in coded.dictionary.to_pylist()]
        return np.array(places, np.int64)[numpy(coded.indices)]

    def _window(self, chosen: pa.Table, unanswered: Bools, begin: str, end: str) -> NDArray[np.float64]:
        """Returns the windows of transactions; no rows where the table has no such columns.

        What got no answer may take effect later than its client has given up.
        """
        if begin not in chosen.column_names or end not in chosen.column_names:
            return np.empty((0, 2))
        chosen = chosen.select([begin, end])
        if any(pa.types.is_temporal(kind) for kind in chosen.schema.types):
            chosen = _in_one_unit(chosen)
        found = np.full((len(chosen), 2), np.nan)
        whole = all(_is_whole(chosen[name].type) for name in (begin, end))
        for at, name in enumerate((begin, end)):
            found[:, at] = self._moments(chosen[name], begin) if whole else _in_floats(chosen[name])
        # Who has no end got no answer.
        found[~np.isnan(found[:, 0]) & (np.isnan(found[:, 1]) | unanswered), 1] = np.inf
        return found

    def _moments(self, column: pa.ChunkedArray, name: str) -> NDArray[np.float64]:
        """Returns moments in whole numbers by their distance from the first one, which is small."""
        there = column.drop_null()
        if len(there):
            self.origin.setdefault(name, int(there[0].as_py()))
        whole = numpy(pc.fill_null(column.cast(pa.int64()), 0)) - self.origin.get(name, 0)
        return np.where(numpy(column.is_null()).astype(np.bool_), np.nan, whole.astype(np.float64))

    def joined(self) -> Transactions:
        """Returns all transactions."""
        nothing = np.empty(0, np.int64)
        one = np.empty((0, 2))
        number = np.concatenate([nothing, *self.number])
        sessions: Sequence[str] = list(self.sessions)
        session = np.concatenate([nothing, *self.session])
        if not self.session:
            # Each one is of a session of its own.
            session, sessions = np.arange(len(number)), Numbered(np.arange(len(number)))
        return Transactions(
            # T0 is what was there before the run.
            np.where(number == 0, number.max(initial=0) + 1, number),
            np.concatenate([nothing, *self.status]).astype(np.int8),
            session,
            np.concatenate([nothing, *self.row]),
            np.concatenate([one, *self.windows]),
            np.concatenate([one, *self.timed]),
            sessions,
        )


@dataclass(slots=True)
class Transactions:
    """What is known of transactions beside their operations; see `Listing`.

    `windows`, `timed`: without rows where the table does not say when transactions began and ended.
    """

    number: Ints
    status: NDArray[np.int8]
    session: Ints
    row: Ints
    windows: NDArray[np.float64]
    timed: NDArray[np.float64]
    sessions: Sequence[str]

    def apart(self) -> tuple[int, int, int] | None:
        """Returns the number of a transaction whose rows stand apart, and two of its rows; else None."""
        order = np.argsort(self.number, kind="stable")
        again = np.flatnonzero(~changes(self.number[order]))
        if not len(again):
            return None
        at = order[again[0] - 1], order[again[0]]
        return int(self.number[at[0]]), int(self.row[at[0]]), int(self.row[at[1]])

    def in_lives(self) -> Transactions:
        """Returns the transactions with a session of its own for what follows one that got no answer.

        That one may take effect later, as those of Jepsen's processes may (`processes.lives`).
        """
        unanswered = self.status == UNKNOWN
        if isinstance(self.sessions, Numbered) or not unanswered.any():
            return self
        order = np.argsort(self.session, kind="stable")
        before = np.cumsum(unanswered[order]) - unanswered[order]
        first = changes(self.session[order])
        life = np.empty(len(order), np.int64)
        life[order] = before - before[first][np.cumsum(first) - 1]
        later = np.flatnonzero(life)
        pairs, codes = np.unique(
            np.stack([self.session[later], life[later]], axis=1), axis=0, return_inverse=True
        )
        session = self.session.copy()
        session[later] = len(self.sessions) + codes.reshape(-1)
        names = [f"{self.sessions[of]}, life {number + 1}" for of, number in pairs.tolist()]
        return replace(self, session=session, sessions=[*self.sessions, *names])

    def chosen(self, which: Ints) -> Transactions:
        """Returns some of the transactions."""
        return Transactions(
            self.number[which],
            self.status[which],
            self.session[which],
            self.row[which],
            self.windows[which] if len(self.windows) else self.windows,
            self.timed[which] if len(self.timed) else self.timed,
            self.sessions,
        )


def _is_whole(kind: pa.DataType) -> bool:
    """Tells whether moments of a type are whole numbers, or all are missing."""
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


def _in_floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Returns moments as they are: beside a column of floats there is no origin that both could have."""
    return np.asarray(numpy(pc.fill_null(column.cast(pa.float64()), float("nan"))), np.float64)


UNITS = ("s", "ms", "us", "ns")
"""Units of times, the coarsest first."""

IN_UNIT: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[str], pa.DataType]]] = (
    (pa.types.is_timestamp, pa.timestamp),
    (pa.types.is_date, pa.timestamp),
    (pa.types.is_duration, pa.duration),
    (pa.types.is_time, lambda unit: pa.time64("ns")),
)
"""Kinds of times, and the type of each that counts in a unit."""


def _in_one_unit(moments: pa.Table) -> pa.Table:
    """Returns times as whole numbers of the finer unit of their columns. Raises HistoryError.

    Not always in nanoseconds, which end in 2262: the year 9999 often stands for no end. It is raised if the
    columns hold times of different kinds, whose distances say nothing.
    """
    kinds = [kind for kind in moments.schema.types if not pa.types.is_null(kind)]
    unit = max((getattr(kind, "unit", "ms") for kind in kinds), key=UNITS.index)
    of = [next((of_unit(unit) for test, of_unit in IN_UNIT if test(kind)), kind) for kind in kinds]
    zones = [pa.types.is_timestamp(kind) and kind.tz is not None for kind in kinds]
    if of[0] != of[-1] or zones[0] != zones[-1]:
        fact = f"{moments.column_names[0]} holds {kinds[0]}, and {moments.column_names[1]} {kinds[-1]}"
        raise HistoryError(f"{fact}; give both one type")
    columns = []
    for column in moments.columns:
        zone = column.type.tz if pa.types.is_timestamp(column.type) else None
        common = of[0] if zone is None else pa.timestamp(unit, zone)
        columns.append(column.cast(common).cast(pa.int64()))
    return pa.table(columns, names=moments.column_names)


def numbers_of(column: pa.ChunkedArray) -> Ints:
    """Returns the numbers of transactions. Raises HistoryError: one is missing, or no number."""
    if column.null_count or not pa.types.is_integer(column.type):
        raise HistoryError(f"a transaction is a whole number in each row, not {column.type} with empty cells")
    return numpy(column.cast(pa.int64()))


def changes(numbers: Ints) -> Bools:
    """Returns by number whether it is another one than the number before it."""
    first = np.ones(len(numbers), np.bool_)
    first[1:] = numbers[1:] != numbers[:-1]
    return first
