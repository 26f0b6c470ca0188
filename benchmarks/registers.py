"""Serializable histories of registers in Parquet, made by arrays and written in pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

AT_ONCE = 100_000
"""Transactions that are made at once."""

SESSIONS = 20

SCHEMA = pa.schema(
    [
        ("transaction", pa.int64()),
        ("session", pa.string()),
        ("kind", pa.string()),
        ("key", pa.int64()),
        ("value", pa.int64()),
    ]
)


def write_registers(path: Path, transactions: int, operations: int) -> None:
    """Writes transactions one after the other, each with some reads and writes of random keys, once each."""
    random = np.random.default_rng(1)
    last = np.zeros(max(1, transactions // 2), np.int64)
    written = 0
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for begin in range(0, transactions, AT_ONCE):
            txn = np.repeat(np.arange(begin, min(begin + AT_ONCE, transactions)), operations)
            key = random.integers(0, len(last), len(txn))
            _, once = np.unique(txn * len(last) + key, return_index=True)
            once.sort()
            txn, key = txn[once], key[once]
            writes = random.random(len(txn)) < 0.5
            value = np.where(writes, written + np.cumsum(writes), 0)
            written += int(writes.sum())
            _read(key, value, writes, last)
            writer.write_table(_table(txn, key, value, writes))


def _read(
    key: NDArray[np.int64], value: NDArray[np.int64], writes: NDArray[np.bool_], last: NDArray[np.int64]
) -> None:
    """Gives each read the value written last. `last`: by key that of earlier pieces, then of this one too."""
    order = np.argsort(key, kind="stable")
    keys, values, is_write = key[order], value[order], writes[order]
    # Of each place the last write at or before it; a transaction has one operation of a key.
    newest = np.maximum.accumulate(np.where(is_write, np.arange(len(order)), -1))
    there = (newest >= 0) & (keys[newest] == keys)
    shown = np.where(there, values[newest], last[keys])
    value[order] = np.where(is_write, values, shown)
    last[keys[is_write]] = values[is_write]


def _table(
    txn: NDArray[np.int64], key: NDArray[np.int64], value: NDArray[np.int64], writes: NDArray[np.bool_]
) -> pa.Table:
    columns = {
        "transaction": txn + 1,
        "session": pa.array((txn % SESSIONS).astype(str)),
        "kind": pa.array(np.where(writes, "w", "r")),
        "key": key,
        "value": pa.array(value, mask=value == 0),
    }
    return pa.table(columns, schema=SCHEMA)
