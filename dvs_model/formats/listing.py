"""The transactions of clients in Arrow tables: what is kept of each, however many there are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dvs_model.columns.table import STATUSES, Bools, Ints
from dvs_model.errors import HistoryError
from dvs_model.formats.operations import numpy, text, words

STATUS = {status.value: code for code, status in enumerate(STATUSES)}


@dataclass(slots=True)
class Listing:
    """Transactions in the order of a table, added in batches.

    `rows`: how many rows there were. `session`: places in `sessions`. `row`: the first row of each, from 1.
    `windows`, `timed`: begin and end; NaN: none.
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

    def add(self, table: pa.Table) -> Ints:
        """Adds rows, and returns of each the index of its transaction. Raises HistoryError."""
        numbers = numbers_of(table["transaction"])
        first = changes(numbers)
        if len(numbers) and self.last is not None:
            first[0] = int(numbers[0]) != self.last
        index = self.count - 1 + np.cumsum(first)
        heads = np.flatnonzero(first)
        chosen = table.take(pa.array(heads))
        self.number.append(numbers[heads])
        self.row.append(self.rows + heads + 1)
        self.status.append(self._status(chosen))
        self.session.append(self._session(chosen))
        self.windows.append(_window(chosen, "began", "ended"))
        self.timed.append(_window(chosen, "began_by_clock", "ended_by_clock"))
        self.rows += len(numbers)
        self.count += len(heads)
        if len(numbers):
            self.last = int(numbers[-1])
        return index

    def _status(self, chosen: pa.Table) -> Ints:
        if "status" not in chosen.column_names:
            return np.zeros(len(chosen), np.int64)
        return words(chosen["status"], STATUS, "a status")

    def _session(self, chosen: pa.Table) -> Ints:
        if "session" not in chosen.column_names:
            return np.arange(self.count, self.count + len(chosen))
        coded = pc.fill_null(text(chosen["session"]), "").combine_chunks().dictionary_encode()
        places = [self.sessions.setdefault(name, len(self.sessions)) for name in coded.dictionary.to_pylist()]
        return np.array(places, np.int64)[numpy(coded.indices)]

    def joined(self) -> Transactions:
        """Returns all transactions."""
        nothing = np.empty(0, np.int64)
        one = np.empty((0, 2))
        return Transactions(
            np.concatenate([nothing, *self.number]),
            np.concatenate([nothing, *self.status]).astype(np.int8),
            np.concatenate([nothing, *self.session]),
            np.concatenate([nothing, *self.row]),
            np.concatenate([one, *self.windows]),
            np.concatenate([one, *self.timed]),
            list(self.sessions),
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
    sessions: list[str]

    def apart(self) -> tuple[int, int, int] | None:
        """Returns a transaction whose rows stand apart, with two of its rows; None: there is none."""
        order = np.argsort(self.number, kind="stable")
        again = np.flatnonzero(~changes(self.number[order]))
        if not len(again):
            return None
        at = order[again[0] - 1], order[again[0]]
        return int(self.number[at[0]]), int(self.row[at[0]]), int(self.row[at[1]])

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


def numbers_of(column: pa.ChunkedArray) -> Ints:
    """Returns the numbers of transactions. Raises HistoryError: one is missing, or no number."""
    if column.null_count or not pa.types.is_integer(column.type):
        raise HistoryError(f"a transaction is a whole number in each row, not {column.type} with empty cells")
    return numpy(column.cast(pa.int64()))


def changes(numbers: Ints) -> Bools:
    """Tells of each number whether it is another one than that before it."""
    first = np.ones(len(numbers), np.bool_)
    first[1:] = numbers[1:] != numbers[:-1]
    return first


def _window(chosen: pa.Table, begin: str, end: str) -> NDArray[np.float64]:
    """Returns the windows of transactions; no rows where the table has no such columns."""
    if begin not in chosen.column_names or end not in chosen.column_names:
        return np.empty((0, 2))
    found = np.full((len(chosen), 2), np.nan)
    for at, name in enumerate((begin, end)):
        column = chosen[name].cast(pa.float64())
        found[:, at] = numpy(pc.fill_null(column, float("nan")))
    # Who has no end got no answer.
    found[~np.isnan(found[:, 0]) & np.isnan(found[:, 1]), 1] = np.inf
    return found
