"""Parquet with operations of clients, read as columns: of `dvs convert`, or made by somebody else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dvs_model.columns.lookup import numbered
from dvs_model.columns.names import Numbered
from dvs_model.columns.table import APPEND, COMMITTED, READ_LIST, Columns, Ints, Rows
from dvs_model.errors import HistoryError
from dvs_model.formats.listing import Listing, Transactions
from dvs_model.formats.operations import NEEDED, Operations, operations, pairs, with_operation
from dvs_model.observed.seen import Observed, Records

OPERATION = ("kind", "key", "value", "list")
TRANSACTION = (
    "transaction", "session", "status", "began", "ended", "began_by_clock", "ended_by_clock",
)  # fmt: skip
STAMPS = ("start_stamp", "commit_stamp")
BY_DEFINITION = ("writer", *STAMPS, "event")
"""Columns with which a history is not judged share by share of its keys, unless they are empty."""

ReadColumns = Callable[[Sequence[str]], pa.Table]
"""Reads some columns of a history's rows. Not all at once: each takes memory until it is in arrays."""


@dataclass(frozen=True, slots=True)
class Places:
    """The places of transactions: as the file says, else by their first row. `column`: the places, by row."""

    row: Ints
    session: Ints
    sessions: Sequence[str]
    column: pa.ChunkedArray | None = None

    def __call__(self, index: int) -> str:
        """Returns the place of a transaction in words."""
        row = int(self.row[index])
        if self.column is not None and (place := self.column[row - 1].as_py()) is not None:
            return str(place)
        if isinstance(self.sessions, Numbered):
            # Sessions are not known: each is one of its own.
            return f"row {row:,}"
        return f"session {self.sessions[int(self.session[index])]}, row {row:,}"


def suits(parquet: pq.ParquetFile, about: Mapping[str, Any] | None) -> bool:
    """Tells whether a file is one history of clients, judged by shares of its keys. Raises HistoryError."""
    columns = parquet.schema_arrow.names
    if about is None:
        missing = [name for name in NEEDED if name not in columns]
        if missing:
            raise HistoryError(
                f"no table of operations: it has no column {missing[0]}; its columns are {', '.join(columns)}"
            )
        if "history" in columns and len(parquet.read(["history"])["history"].unique()) > 1:
            raise HistoryError("a table of somebody else holds one history, and `history` names several")
        return True
    only = next(iter(about.values())) if len(about) == 1 else {}
    if "records" not in only or only["follows"]:
        return False
    there = [name for name in BY_DEFINITION if name in columns]
    return all(_empty(parquet, name) for name in there)


def _empty(parquet: pq.ParquetFile, name: str) -> bool:
    """Tells whether a column holds nothing."""
    # One group after the other: the first cell that is not empty decides.
    for group in range(parquet.num_row_groups):
        column = parquet.read_row_group(group, [name])[name]
        if column.null_count < len(column):
            return False
    return True


def records_of(columns: Sequence[str], about: Mapping[str, Any] | None, lists: bool) -> Records:
    """Returns what a file records: as it says, else by its columns."""
    if about is not None:
        of = about["records"]
        return Records(**{**of, "initial": frozenset(of["initial"]), "assumed": tuple(of.get("assumed", ()))})
    return Records(
        aborts="status" in columns,
        sessions="session" in columns,
        real_time={"began", "ended"} <= set(columns),
        lists=lists,
    )


def observed_in(
    columns: Sequence[str], read: ReadColumns, name: str, about: Mapping[str, Any] | None
) -> Observed:
    """Returns the history in some rows, which have these columns. Raises HistoryError."""
    listing = Listing()
    txn_of_op = listing.add(read([each for each in TRANSACTION if each in columns]))
    transactions = listing.joined()
    ops = read([each for each in OPERATION if each in columns] + ([] if about is None else ["writer"]))
    there = with_operation(ops)
    if len(there) < len(ops):
        ops = ops.take(pa.array(there))
    txn_of_op = txn_of_op[there]
    if transactions.apart() is not None:
        txn_of_op, transactions, order = _by_transaction(txn_of_op, transactions)
        ops, there = ops.take(pa.array(order)), there[order]
    transactions = transactions.in_lives()
    found = operations(ops, there + 1, escaped=about is not None)
    del ops
    lists = bool(((found.kind == READ_LIST) | (found.kind == APPEND)).any())
    records = records_of(columns, about, lists)
    places = read(["place"])["place"] if "place" in columns else None
    rows = rows_of(found, txn_of_op, transactions, places)
    if about is not None and records.stamps:
        heads = read(STAMPS).take(pa.array(transactions.row - 1))
        rows = replace(rows, start=pairs(heads["start_stamp"]), commit=pairs(heads["commit_stamp"]))
    if not rows.columns.count:
        raise HistoryError("there is no operation in it")
    notes = [] if about is None else list(about["notes"])
    follows = [] if about is None else [(before, after) for before, after in about["follows"]]
    return Observed(name, rows, records, notes, follows)


def _by_transaction(index: Ints, transactions: Transactions) -> tuple[Ints, Transactions, Ints]:
    """Returns rows that stand apart by transaction: the index of each, the transactions, the order of rows.

    Raises HistoryError: rows of one transaction differ in their session or status.
    """
    _, first, inverse = numbered(transactions.number)
    for what, codes in (("session", transactions.session), ("status", transactions.status)):
        other = np.flatnonzero(codes != codes[first][inverse])
        if len(other) and (what == "status" or not isinstance(transactions.sessions, Numbered)):
            number, row = transactions.number[other[0]], transactions.row[other[0]]
            raise HistoryError(f"row {row:,}: transaction {number} has another {what} here than before")
    moved = inverse[index]
    order = np.argsort(moved, kind="stable")
    return moved[order], transactions.chosen(first), order


def rows_of(
    found: Operations, index: Ints, transactions: Transactions, places: pa.ChunkedArray | None = None
) -> Rows:
    """Returns transactions with their operations. `index`: of each operation its transaction.

    Raises HistoryError: a transaction ends before it begins.
    """
    count = len(transactions.number)
    sessions = transactions.sessions
    columns = Columns(
        txn=index,
        kind=found.kind,
        key=found.key,
        value=found.value,
        starts=found.starts,
        items=found.items,
        writer=found.writer,
        first=np.searchsorted(index, np.arange(count + 1)),
        number=transactions.number,
        status=transactions.status,
        session=transactions.session,
        keys=found.keys,
        sessions=sessions,
        values=found.values,
    )
    place = Places(transactions.row, transactions.session, sessions, places)
    _ensure_ends_have_beginnings(transactions)
    # Nothing at all is not a number, too. A transaction that got no answer may have any end.
    back = np.flatnonzero(transactions.windows[:, 1] < transactions.windows[:, 0])
    back = back[transactions.status[back] == COMMITTED]
    if len(back):
        row, number = transactions.row[back[0]], transactions.number[back[0]]
        raise HistoryError(f"row {row:,}: transaction {number} ends before it begins (ended < began)")
    timed = None if np.isnan(transactions.timed).all() else transactions.timed
    windows = None if np.isnan(transactions.windows).all() else transactions.windows
    return Rows(columns, place, windows, timed)


def _ensure_ends_have_beginnings(transactions: Transactions) -> None:
    """Raises HistoryError: a committed transaction says when it ended, and not when it began.

    As if it had no place in time, a level that keeps real time would hold by mistake.
    """
    missing = np.isnan(transactions.windows)
    alone = missing[:, 0] & ~missing[:, 1] & (transactions.status == COMMITTED)[: len(missing)]
    if alone.any():
        at = np.flatnonzero(alone)[0]
        row, number = transactions.row[at], transactions.number[at]
        raise HistoryError(f"row {row:,}: transaction {number} has an end (ended), and no beginning (began)")
