"""Transactions that are held as columns, as Arrow tables to be written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dvs_model.columns.table import KINDS, READ_LIST, STATUSES, Bools, Columns, Ints, Rows, Values, pair_of
from dvs_model.formats.operations import cell

BY_FILE, BY_CLOCK = ("began", "ended"), ("began_by_clock", "ended_by_clock")
AT_ONCE = 1_000_000
"""The most rows of one table."""


def tables(rows: Rows, schema: pa.Schema, history: str) -> Iterator[pa.Table]:
    """Yields tables with the operations of transactions in their order, a row each.

    A transaction without operations has one row, without a kind.
    """
    first = rows.columns.first
    empty = first[1:] == first[:-1]
    txn = np.repeat(np.arange(len(empty)), np.where(empty, 1, first[1:] - first[:-1]))
    # By row its operation; the row of a transaction without any has none, which `empty` says.
    op = np.cumsum(~empty[txn]) - 1
    for begin in range(0, len(txn), AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        yield _table(rows, schema, history, txn[some], op[some], empty[txn[some]])


def _table(rows: Rows, schema: pa.Schema, history: str, txn: Ints, op: Ints, empty: Bools) -> pa.Table:
    """Returns a table of rows. `txn`, `op`: by row its transaction, and its operation if not `empty`."""
    columns = rows.columns
    # What is known of transactions is made once for each, and repeated.
    txns, place = np.unique(txn, return_inverse=True)
    found: dict[str, pa.Array] = {
        "history": pa.array([history] * len(txn)),
        "transaction": pa.array(columns.number[txn]),
        "session": _repeated([columns.sessions[at] for at in columns.session[txns].tolist()], place),
        "status": _repeated([STATUSES[at].value for at in columns.status[txns].tolist()], place),
        "place": _repeated([rows.place(at) for at in txns.tolist()], place),
        "start_stamp": _pairs(rows.start, txn),
        "commit_stamp": _pairs(rows.commit, txn),
    }
    for windows, names in ((rows.windows, BY_FILE), (rows.timed, BY_CLOCK)):
        if windows is not None:
            of = windows[txn]
            found |= {name: pa.array(of[:, at], from_pandas=True) for at, name in enumerate(names)}
    ops = op[~empty]
    if len(ops):
        shown = columns.kind[ops] == READ_LIST
        of_ops = {
            "number": pa.array(ops + 1),
            "kind": _repeated([kind.value for kind in KINDS], columns.kind[ops]),
            "key": _keys(columns, ops),
            "value": _cells(columns.value[ops], columns.values, ~shown),
            "list": _lists(columns, ops, shown),
            "writer": _pairs(columns.writer, ops),
        }
        places = pa.array(np.cumsum(~empty) - 1, mask=empty)
        found |= {name: each.take(places) if empty.any() else each for name, each in of_ops.items()}
    return pa.table(
        [
            found[name] if name in found else pa.nulls(len(txn), kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ],
        schema,
    )


def _pairs(pairs: Ints | None, chosen: Ints) -> pa.Array:
    """Returns some rows of pairs as lists; nothing where there is no pair."""
    found = [None] * len(chosen) if pairs is None else [pair_of(pairs, at) for at in chosen.tolist()]
    return pa.array(found, pa.list_(pa.int64()))


def _repeated(names: list[str], places: np.ndarray[tuple[int], np.dtype[np.integer]]) -> pa.Array:
    """Returns names by their places."""
    return pa.array(names, pa.string()).take(pa.array(places))


def _keys(columns: Columns, ops: Ints) -> pa.Array:
    """Returns the name of the key of each operation."""
    codes, place = np.unique(columns.key[ops], return_inverse=True)
    return _repeated([columns.keys[code] for code in codes.tolist()], place)


def _cells(codes: Ints, values: Values, wanted: Bools) -> pa.Array:
    """Returns the texts of values; nothing where none is wanted."""
    plain = (codes > -(10**18)) & (codes < 10**18)
    found = pa.array(np.where(plain, codes, 0), mask=~(plain & wanted)).cast(pa.string())
    rest = np.flatnonzero(~plain & wanted)
    if not len(rest):
        return found
    texts = np.asarray(found.to_numpy(zero_copy_only=False), object)
    texts[rest] = [cell(values.value(code)) for code in codes[rest].tolist()]
    return pa.array(texts, pa.string())


def _lists(columns: Columns, ops: Ints, shown: Bools) -> pa.Array:
    """Returns the elements of lists that were read; nothing for other operations."""
    if columns.starts is None:
        return pa.nulls(len(ops), pa.list_(pa.string()))
    starts = columns.starts[ops[0] : ops[-1] + 2]
    items = columns.items[starts[0] : starts[-1]]
    cells = _cells(items, columns.values, np.ones(len(items), np.bool_))
    offsets = pa.array((starts - starts[0]).astype(np.int32), mask=np.append(~shown, False))
    return pa.ListArray.from_arrays(offsets, cells)
