"""Parquet with more operations than fit into memory: put into files by keys, which are read one by one."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dvs_model.columns.shares import Listed, Share
from dvs_model.columns.table import Ints, Values
from dvs_model.errors import HistoryError
from dvs_model.formats.listing import Listing, Transactions, changes
from dvs_model.formats.operations import WORDS, Operations, numpy, operations, text, with_operation, words
from dvs_model.formats.parquet_columns import OPERATION, TRANSACTION, records_of, rows_of
from dvs_model.observed.seen import Observed

T = TypeVar("T")

PER_OPERATION = 250
"""The most bytes of memory that an operation takes while it is judged."""

PER_ELEMENT = 120
"""Bytes that an element of a list takes."""

BATCH = 1_000_000
"""Rows that are put into files at once."""

MOST_SHARES = 250
"""The most files that are open at once."""

SHARES_OF_MEMORY = 3
"""A share may take one part in so many of the memory; the dependencies of all shares need the rest."""


@dataclass(frozen=True, slots=True)
class Spilled:
    """The operations of a history in a folder, a file for each share of keys."""

    files: tuple[Path, ...]
    transactions: Transactions
    escaped: bool

    def each(self, task: Callable[[Share], T]) -> Iterator[T]:
        """Yields what a task returns for each share."""
        for path in self.files:
            with pa.memory_map(str(path)) as file:
                table = pa.ipc.open_file(file).read_all()
                if len(table):
                    yield task(share_of(table, self.transactions, escaped=self.escaped))


def share_of(table: pa.Table, transactions: Transactions, *, escaped: bool) -> Share:
    """Returns a share of which `txn` is the index of each row's transaction, and `op` its number.

    `escaped`: as in `operations`. Raises HistoryError: a cell is none.
    """
    txn, ops = numpy(table["txn"]), numpy(table["op"])
    found = operations(table, ops + 1, escaped=escaped)
    first = changes(txn)
    txns = txn[first]
    rows = rows_of(found, np.cumsum(first) - 1, transactions.chosen(txns))
    return Share(rows, txns, ops)


def need(parquet: pq.ParquetFile) -> int:
    """Returns how many bytes of memory a file needs that is judged as a whole, at most."""
    metadata = parquet.metadata
    elements = 0
    for at in range(metadata.num_columns):
        if metadata.schema.column(at).path.startswith("list."):
            elements = sum(
                metadata.row_group(group).column(at).num_values for group in range(metadata.num_row_groups)
            )
    # A row without a list has an element of its own there.
    lists = max(0, elements - metadata.num_rows)
    return int(metadata.num_rows * PER_OPERATION + lists * PER_ELEMENT)


def observed_in(
    parquet: pq.ParquetFile, name: str, about: Mapping[str, Any] | None, folder: Path, memory: int
) -> Observed:
    """Returns the history of a file, with its operations in files of a folder. Raises HistoryError.

    `memory`: bytes that may be used.
    """
    columns = parquet.schema_arrow.names
    count = min(MOST_SHARES, -(-need(parquet) * SHARES_OF_MEMORY // max(memory, 1)))
    wanted = [each for each in columns if each in (*OPERATION, *TRANSACTION)]
    listing, lists = Listing(), False
    with Files(folder, count) as files:
        for batch in parquet.iter_batches(BATCH, columns=wanted):
            table = pa.Table.from_batches([batch])
            index = listing.add(table)
            lists = lists or has_lists(table)
            files.add(table, index)
    transactions = listing.joined()
    if (apart := transactions.apart()) is not None:
        number, one, other = apart
        raise HistoryError(
            f"the rows of transaction {number} stand apart, from row {one:,} and from row {other:,} on; a "
            "table that is larger than memory is sorted by transaction"
        )
    if not listing.count:
        raise HistoryError("there is no operation in it")
    transactions = transactions.in_lives()
    return listed(
        name, transactions, Spilled(files.paths, transactions, about is not None), columns, about, lists=lists
    )


def listed(
    name: str,
    transactions: Transactions,
    shares: Any,
    columns: Sequence[str],
    about: Mapping[str, Any] | None,
    *,
    lists: bool,
) -> Observed:
    """Returns a history whose operations lie in shares."""
    no_numbers = np.empty(0, np.int64)
    no_operations = Operations(
        no_numbers.astype(np.int8), no_numbers, no_numbers, None, no_numbers, None, [], Values()
    )
    rows = rows_of(no_operations, no_numbers, transactions)
    listed_rows = Listed(rows.columns, rows.place, rows.windows, rows.timed, shares=shares)
    notes = [] if about is None else list(about["notes"])
    return Observed(name, listed_rows, records_of(columns, about, lists), notes)


class Files:
    """Files with the operations of shares of keys, written in batches and closed at the end of `with`."""

    def __init__(self, folder: Path, count: int) -> None:
        self.paths = tuple(folder / f"share-{number}.arrow" for number in range(count))
        self.writers: list[pa.ipc.RecordBatchFileWriter] = []
        self.operations = 0

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self.writers:
            writer.close()

    def add(self, table: pa.Table, index: Ints) -> None:
        """Adds operations. `index`: by row its transaction."""
        names = [name for name in table.column_names if name in OPERATION]
        # Of texts that only refer to their characters nothing can be taken.
        views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
        columns = [table[name].cast(views.get(table[name].type, table[name].type)) for name in names]
        ops = pa.table(columns, names)
        ops = ops.append_column("txn", pa.array(index))
        ops = ops.append_column("op", pa.array(self.operations + np.arange(len(ops))))
        self.operations += len(ops)
        ops = ops.take(pa.array(with_operation(ops)))
        words(ops["kind"], WORDS, "a kind")
        share = share_numbers(ops["key"], len(self.paths))
        order = np.argsort(share, kind="stable")
        ops, share = ops.take(pa.array(order)), share[order]
        ends = np.searchsorted(share, np.arange(len(self.paths) + 1)).tolist()
        if not self.writers:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self.writers = [pa.ipc.new_file(str(path), ops.schema, options=options) for path in self.paths]
        for writer, begin, end in zip(self.writers, ends[:-1], ends[1:], strict=True):
            writer.write_table(ops.slice(begin, end - begin))


def has_lists(table: pa.Table) -> bool:
    """Tells whether lists are appended to or read."""
    kinds = text(table["kind"])
    if pc.any(pc.is_in(kinds, pa.array(["append", "r list"], pa.large_string()))).as_py():
        return True
    if "list" not in table.column_names:
        return False
    return bool(pc.any(pc.and_(pc.fill_null(pc.equal(kinds, "r"), False), table["list"].is_valid())).as_py())


def share_numbers(keys: pa.ChunkedArray, count: int) -> Ints:
    """Returns by operation the share of its key, the same in every process."""
    coded = text(keys).combine_chunks().dictionary_encode()
    names = coded.dictionary.to_pylist()
    share = np.array([zlib.crc32(name.encode()) % count for name in names], np.int64)
    if coded.indices.null_count:
        raise HistoryError("an operation has no key")
    return share[numpy(coded.indices)]
