"""A few rows of data files, read by position with Arrow. A Spark job for the same costs half a second.

Arrow is not a full reader of Delta tables. What it might read in another way than Spark (old dates, types
that only Spark writes, partitions, columns that a file lacks) it does not read: the result is then None, and
Spark reads the rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from dynamic_tables.definition import Columns
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.plan.types import Kind, Type
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.places import absolute
from dynamic_tables.store.log.touched import AddAction
from dynamic_tables.store.rows.file_rows import FilePart
from dynamic_tables.store.rows.vectors import read_vector

SETTLED: Mapping[Kind, dt.date] = {Kind.DATE: dt.date(1582, 10, 15), Kind.TIMESTAMP: dt.date(1900, 1, 1)}
"""The first day whose values are read here. Before it the meaning depends on the writer of the file: old
Spark wrote days before 1582-10-15 in the Julian calendar, and times before 1900 with other offsets of a time
zone. Spark converts them by the metadata of the file (rebase); Arrow does not."""

ARROW: Mapping[Kind, pa.DataType] = {
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
    Kind.TIMESTAMP: pa.timestamp("us", "UTC"),
}
"""The types of columns as Spark writes them; a column of another type is not read here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowRows:
    """Reads rows of the table in `folder`, with `$ROW_ID` as the last column if `ids`.

    `columns`: the columns to read. `materialized`: in a base table, the column in which Delta keeps the ids
    of rows that were rewritten. None for a dynamic table, which stores `$ROW_ID` itself. `most_bytes`: larger
    files are left to Spark.
    """

    folder: str
    files: Files
    columns: Columns
    ids: bool
    materialized: str | None
    most_bytes: int

    def rows(self, parts: Sequence[FilePart]) -> pa.Table | None:
        """Returns the rows of parts of files; None where only Spark can read them."""
        if any(type_.kind is Kind.OTHER for _, type_ in self.columns):
            return None
        if sum(int(part.file["size"]) for part in parts) > self.most_bytes:
            return None
        tables = []
        for part in parts:
            table = self._part(part)
            if table is None:
                return None
            tables.append(table)
        return pa.concat_tables(tables) if tables else None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        ids = [(ROW_ID, pa.string())] if self.ids else []
        return pa.schema([*((name, arrow_type(t)) for name, t in self.columns), *ids])

    def _part(self, part: FilePart) -> pa.Table | None:
        """Returns the rows of one part of a file with their ids; None where only Spark can read them."""
        if part.file.get("partitionValues"):
            # The values of partition columns are in the log and not in the file.
            return None
        path = absolute(self.folder, part.file["path"])
        # Spark writes a TIMESTAMP as INT96 by default. Arrow would read it as nanoseconds, whose 64 bits hold
        # only the years from 1677 to 2262.
        with (
            self.files.open(path) as stored,
            pq.ParquetFile(stored, coerce_int96_timestamp_unit="us") as file,
        ):
            names = set(file.schema_arrow.names)
            wanted = [name for name, _ in self.columns]
            stored_id = ROW_ID if self.materialized is None else self.materialized
            # A file that was written before a column was added lacks it.
            if not names.issuperset(wanted) or (self.materialized is None and ROW_ID not in names):
                return None
            # A file that was never rewritten has no materialized ids: see `_base_ids`.
            if self.ids and stored_id in names:
                wanted.append(stored_id)
            positions = self._positions(part, file.metadata.num_rows)
            read = _at(file, positions, wanted)
        columns = [_column(read[name], type_) for name, type_ in self.columns]
        if any(column is None for column in columns):
            return None
        if not self.ids:
            return pa.table(columns, schema=self.schema)
        ids = read[stored_id] if stored_id in names else None
        if self.materialized is not None:
            ids = _base_ids(part.file, positions, ids)
        return pa.table([*columns, ids], schema=self.schema)

    def _positions(self, part: FilePart, rows: int) -> BitMap64:
        """Returns the positions of a part: as given, or of all live rows. `rows`: all rows of the file."""
        if part.positions is not None:
            return part.positions
        deleted = read_vector(self.folder, part.file.get("deletionVector"), self.files)
        return BitMap64(range(rows)) - deleted


def arrow_type(type_: Type) -> pa.DataType:
    """Returns the type by which a column of this type is read."""
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return ARROW[type_.kind]


def _at(file: pq.ParquetFile, positions: BitMap64, names: Sequence[str]) -> pa.Table:
    """Returns the rows at some positions of a file, from the row groups that hold them."""
    tables, start = [], 0
    for number in range(file.metadata.num_row_groups):
        end = start + file.metadata.row_group(number).num_rows
        inside = [at - start for at in positions & BitMap64(range(start, end))]
        if inside:
            group = file.read_row_group(number, columns=list(names))
            tables.append(group.take(pa.array(inside, pa.int64())))
        start = end
    if tables:
        return pa.concat_tables(tables)
    return file.schema_arrow.empty_table().select(list(names))


def _base_ids(file: AddAction, positions: BitMap64, stored: pa.ChunkedArray | None) -> pa.Array:
    """Returns the row ids of a base table as `table_versions.BASE_ROW_ID` writes them.

    Delta's row tracking: the id of a row is the file's `baseRowId` plus the position of the row. A row that
    was moved to another file, by UPDATE or OPTIMIZE, has its id stored in a column of that file instead.
    """
    first = int(file["baseRowId"])
    by_place = pa.array([first + at for at in positions], pa.int64())
    numbers = by_place if stored is None else pc.coalesce(stored.combine_chunks(), by_place)
    texts = [str(number) for number in numbers.to_pylist()]
    return pa.array([f"b{chr(64 + len(text))}{text}" for text in texts], pa.string())


def _column(values: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray | None:
    """Returns the values of a column by the type in which it is read; None where only Spark can read them."""
    if type_.kind is Kind.TIMESTAMP and values.type == pa.timestamp("us"):
        # The form that Spark writes by default has no zone: it is UTC.
        values = values.cast(ARROW[Kind.TIMESTAMP])
    if values.type != arrow_type(type_):
        return None
    return None if type_.kind in SETTLED and _has_older(values, SETTLED[type_.kind]) else values


def has_old_values(rows: pa.Table) -> bool:
    """Tells whether rows have a date or time whose meaning depends on who wrote their file."""
    return any(
        _has_older(column, SETTLED[Kind.DATE if pa.types.is_date(column.type) else Kind.TIMESTAMP])
        for column in rows.columns
        if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)
    )


def _has_older(values: pa.ChunkedArray, day: dt.date) -> bool:
    """Tells whether a value lies before a day."""
    # Compared by Arrow: Python has no dates before the year 1 and after the year 9999, and Spark has.
    return bool(pc.any(pc.less(values, pa.scalar(day, pa.date32()).cast(values.type))).as_py())
