"""A small change set as one Delta commit, made without Spark.

Delta files are immutable, so a merge is: one new Parquet file with the inserted and updated rows, and for
each file with an old row a `remove` and an `add` of it with another deletion vector. Files with few rows are
rewritten into the new one if there are too many of them, or each refresh would leave one more file to read.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from dynamic_tables.differentiate.apply import OPERATION, UPDATE
from dynamic_tables.errors import ChangeDoesNotFit, StoreError
from dynamic_tables.plan.nodes import ACTION, DELETE, INSERT, ROW_ID
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.own_commit import Actions
from dynamic_tables.store.log.places import absolute
from dynamic_tables.store.log.touched import AddAction, records, removed
from dynamic_tables.store.rows.arrow_rows import has_old_values
from dynamic_tables.store.rows.row_places import Places, candidates, places
from dynamic_tables.store.rows.vectors import new_vector, read_vector
from dynamic_tables.store.sizes import SIZES, Sizes
from dynamic_tables.store.tables.merge_text import REFUSED

SPARK_VERSION = version("pyspark")
"""What a file says about its writer; see `new_file`."""

Locate = Callable[[Sequence[AddAction], Sequence[str]], Places]
"""(files, row ids) -> where the row ids are stored in these files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallMerge:
    """Merges folded changes into the files of a table in `folder`.

    `folded`: the columns of the table, `$ROW_ID`, `$OPERATION`. `strict`: changes that do not fit are
    refused. `locate`: finds the rows in a table that is too large to be read here. `sizes`: what that is, and
    which files are rewritten as one.
    """

    folder: str
    files: Files
    active: ActiveFiles
    folded: pa.Table
    strict: bool
    locate: Locate
    sizes: Sizes

    def actions(self) -> Actions:
        """Returns the actions of the commit, after writing the new data file. Raises ChangeDoesNotFit."""
        operations = dict(
            zip(self.folded[ROW_ID].to_pylist(), self.folded[OPERATION.name].to_pylist(), strict=True)
        )
        if len(operations) < self.folded.num_rows:
            raise StoreError(f"{REFUSED}: a row id occurs twice among the changes")
        stored = self._stored(list(operations))
        if self.strict:
            _ensure_fits(operations, {row_id for places in stored.values() for row_id, _ in places})
        actions: list[Mapping[str, Mapping[str, Any]]] = []
        deleted = {path: BitMap64(at for _, at in places) for path, places in stored.items()}
        written = [self.folded.filter(pc.not_equal(self.folded[OPERATION.name], DELETE))]
        written[0] = written[0].drop_columns([OPERATION.name])
        # Compaction in the same commit: small files go, and their live rows move to the new file. A file with
        # old dates stays: what they mean depends on its writer, and only Spark knows (`arrow_rows.SETTLED`).
        small = [file for file in self.active.files.values() if records(file) < self.sizes.small_file]
        if len(small) > self.sizes.small_files:
            for file in small:
                live = self._live_rows(file, deleted.get(file["path"], BitMap64()))
                if has_old_values(live):
                    continue
                deleted.pop(file["path"], None)
                written.append(live)
                actions.append({"remove": removed(file)})
        for path, positions in deleted.items():
            actions.extend(self._without(self.active.files[path], positions))
        rows = pa.concat_tables(map(with_nulls, written))
        if rows.num_rows:
            actions.append({"add": new_file(self.folder, rows, self.sizes, self.files)})
        return actions

    def _stored(self, row_ids: Sequence[str]) -> Places:
        """Returns where the rows with some ids are: found here, or by `locate` in a large table."""
        among = candidates(self.active.files.values(), row_ids)
        stored = places(self.folder, self.files, among, row_ids, self.sizes.ids_read_here)
        return self.locate(among, row_ids) if stored is None else stored

    def _live_rows(self, file: AddAction, deleted: BitMap64) -> pa.Table:
        """Returns the live rows of a file, but for the positions `deleted` that this merge takes out."""
        # Spark writes a TIMESTAMP as INT96, which Arrow would read as nanoseconds: years 1677 to 2262 only.
        with self.files.open(absolute(self.folder, file["path"])) as stored:
            rows = pq.read_table(stored, columns=self._columns, coerce_int96_timestamp_unit="us")
        live = BitMap64(range(rows.num_rows)) - self._vector(file) - deleted
        return rows.take(pa.array(live, pa.int64()))

    @property
    def _columns(self) -> list[str]:
        """The names of the columns that are stored."""
        return [name for name in self.folded.column_names if name != OPERATION.name]

    def _vector(self, file: AddAction) -> BitMap64:
        """Returns the positions of a file's deleted rows."""
        return read_vector(self.folder, file.get("deletionVector"), self.files)

    def _without(self, file: AddAction, positions: BitMap64) -> Actions:
        """Returns the actions that take rows out of a file; a file without rows leaves the table."""
        deleted = self._vector(file) | positions
        if len(deleted) >= records(file):
            return [{"remove": removed(file)}]
        # The least and greatest values may now be those of deleted rows: Delta calls such bounds not tight.
        statistics = {**json.loads(file["stats"]), "tightBounds": False}
        kept = {**file, "dataChange": True, "stats": json.dumps(statistics)}
        return [
            {"remove": removed(file)},
            {"add": {**kept, "deletionVector": new_vector(self.folder, deleted, self.files)}},
        ]


def folded_here(changes: pa.Table) -> pa.Table:
    """Returns one row per row id, with `$OPERATION`: a DELETE and an INSERT of one id become an UPDATE.

    The same as the plan `differentiate.apply.fold`, without a query.
    """
    is_insert = pc.equal(changes[ACTION], INSERT)
    inserts, deletes = changes.filter(is_insert), changes.filter(pc.invert(is_insert))
    replaced = pc.is_in(inserts[ROW_ID], value_set=deletes[ROW_ID])
    written = inserts.append_column(OPERATION.name, pc.if_else(replaced, UPDATE, INSERT))
    gone = deletes.filter(pc.invert(pc.is_in(deletes[ROW_ID], value_set=inserts[ROW_ID])))
    removed = gone.append_column(OPERATION.name, pa.array([DELETE] * gone.num_rows, pa.string()))
    return pa.concat_tables([written, removed]).drop_columns([ACTION])


def new_file(folder: str, rows: pa.Table, sizes: Sizes, files: Files) -> AddAction:
    """Writes rows as a data file of the table in a folder; returns its `add` action. Raises OSError."""
    name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    # Arrow leaves NaN out of the bounds in Parquet's footer. To Spark NaN is greater than any number, so it
    # would skip rows with NaN by such bounds. Columns of floats get none.
    bounded = [field.name for field in rows.schema if not pa.types.is_floating(field.type)]
    # Spark reads old dates as they are written only from files that name a recent Spark.
    named = rows.replace_schema_metadata({"org.apache.spark.version": SPARK_VERSION})
    content = pa.BufferOutputStream()
    pq.write_table(named, content, write_statistics=bounded)
    parquet = content.getvalue().to_pybytes()
    files.write(f"{folder}/{name}", parquet)
    return {
        "path": name,
        "partitionValues": {},
        "size": len(parquet),
        "modificationTime": time.time_ns() // 1_000_000,
        "dataChange": True,
        "stats": json.dumps(statistics_of(rows, sizes.statistics)),
    }


def with_nulls(rows: pa.Table) -> pa.Table:
    """Returns rows whose columns may hold NULLs, as all columns of a table may."""
    return rows.cast(pa.schema([field.with_nullable(True) for field in rows.schema]))


def statistics_of(rows: pa.Table, most: int = SIZES.statistics) -> Mapping[str, object]:
    """Returns Delta's statistics of a file: number of rows; bounds of integers and texts; numbers of NULLs.

    `most`: columns that get bounds and numbers of NULLs, and characters of the longest text that gets bounds
    (a long text would make the log long). `$ROW_ID` always gets them: rows are found by it.
    """
    names = rows.column_names[:most]
    if ROW_ID not in names:
        names = [*names, ROW_ID]
    least: dict[str, object] = {}
    greatest: dict[str, object] = {}
    for name in names:
        kind = rows.schema.field(name).type
        if pa.types.is_integer(kind) or (pa.types.is_string(kind) and _short(rows[name], most)):
            try:
                bounds = pc.min_max(rows[name]).as_py()
            except UnicodeDecodeError:
                # Of bytes that are no UTF-8, as CAST(X'FF' AS STRING) is. They get no bounds.
                continue
            if bounds["min"] is not None:
                least[name], greatest[name] = bounds["min"], bounds["max"]
    return {
        "numRecords": rows.num_rows,
        "minValues": least,
        "maxValues": greatest,
        "nullCount": {name: rows[name].null_count for name in names},
        "tightBounds": True,
    }


def _short(texts: pa.ChunkedArray, most: int) -> bool:
    """Tells whether no text has more than `most` characters; False where all are NULL."""
    longest = pc.max(pc.utf8_length(texts)).as_py()
    return longest is not None and longest <= most


def _ensure_fits(operations: Mapping[str, str], stored: set[str]) -> None:
    """Raises ChangeDoesNotFit where the MERGE of `merge_text` does (DVS paper, section 6.1)."""
    for row_id, operation in operations.items():
        if operation == INSERT and row_id in stored:
            raise ChangeDoesNotFit(f"{REFUSED}: {INSERT} of a row that is there: {row_id}")
        if operation in (UPDATE, DELETE) and row_id not in stored:
            raise ChangeDoesNotFit(f"{REFUSED}: a change of a row that is not there: {row_id}")
