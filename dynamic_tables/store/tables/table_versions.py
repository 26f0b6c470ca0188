"""Reads tables: a whole version, or the rows that the commits between two versions touched.

There are three ways to read the same rows, the cheapest first: few rows at known positions are read by Arrow
without Spark; files that the log names are read by Spark through Delta's classes; and where the log does not
tell the files (cleaned up), Delta's own time travel reads the version. Of a table with partitions or mapped
columns Delta reads whole versions, too, and Arrow nothing. Small results are kept as literals, as several
tables read the same source and the same interval.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyroaring import BitMap64

from dynamic_tables.definition import BaseTable, Columns, DynamicTable
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.plan.types import STRING
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.touched import AddAction, TouchedFile, live_rows, records, touched_files
from dynamic_tables.store.names.relations import SparkRelation, Workspace, bound
from dynamic_tables.store.port import Extent, Touched
from dynamic_tables.store.rows.arrow_rows import ArrowRows
from dynamic_tables.store.rows.file_rows import FilePart, FileRows, file_name, version_frame
from dynamic_tables.store.rows.row_places import candidates, places
from dynamic_tables.store.spark.spark_errors import store_errors
from dynamic_tables.store.tables.folder import Folder
from dynamic_tables.versions import SourceVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NUMBER = "CAST(_metadata.row_id AS STRING)"
BASE_ROW_ID = f"concat('b', chr(64 + length({_NUMBER})), {_NUMBER}) AS {SPARK.identifier(ROW_ID)}"
"""The row id of a base row: Delta's id as a text, such as `bA7` or `bB12`.

The letter is the number of digits (A is 1), so that texts sort as the numbers do. Then the least and greatest
`$ROW_ID` in the statistics of a dynamic table's file enclose few ids, and most files are ruled out."""

END = SPARK.identifier("$END")
"""Marks rows of the end of an interval, among rows of both ends."""

Stored = BaseTable | DynamicTable
"""A table that has rows of its own; a view has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersions:
    """The versions of the tables in a folder.

    `snapshots`: small versions that were read, in the order of their last use. `intervals`: few rows that
    commits touched, by table and versions.
    """

    folder: Folder
    workspace: Workspace
    intervals: OrderedDict[tuple[object, ...], Touched] = field(default_factory=OrderedDict)
    snapshots: OrderedDict[tuple[str, str, int, tuple[str, ...]], SparkRelation] = field(
        default_factory=OrderedDict
    )

    def snapshot(self, table: Stored, version: int, ids: bool) -> SparkRelation:
        """Returns the rows of a version, with `$ROW_ID` if `ids`. Raises StoreError: it cannot be read."""
        key = (table.name, self.folder.log(table.name).newest.table.id, version, _items(table, ids))
        cached = self.snapshots.get(key)
        if cached is not None:
            self.snapshots.move_to_end(key)
            return cached
        with store_errors(f"{table.name} at version {version}"):
            relation = self._read(table, version, ids)
        if relation.local:
            self.snapshots[key] = relation
            while len(self.snapshots) > self.workspace.sizes.kept_tables:
                self.workspace.release([self.snapshots.popitem(last=False)[1]], ())
        return relation

    def touched(self, table: Stored, start: SourceVersion, end: SourceVersion) -> Touched | None:
        """Returns the rows of the files that the commits between two versions touched.

        With `$ROW_ID`, but for a table with a primary key. None for a table with neither, and where the log
        does not hold every commit or file in full.
        Few rows are kept, because the other tables that read this one will read the same interval.
        """
        key = (table.name, end.identity, start.version, end.version, table.columns)
        if key in self.intervals:
            self.intervals.move_to_end(key)
            return self.intervals[key]
        found = self._touched(table, start, end)
        if found is not None and found.before.local and found.after.local:
            if self._is_large(found):
                # Of intervals with many rows only the newest is kept, as a bound of memory.
                for other in [other for other, kept in self.intervals.items() if self._is_large(kept)]:
                    self._forget_interval(other)
            self.intervals[key] = found
            if len(self.intervals) > self.workspace.sizes.kept_tables:
                self._forget_interval(next(iter(self.intervals)))
        return found

    def _touched(self, table: Stored, start: SourceVersion, end: SourceVersion) -> Touched | None:
        """Returns the rows as `touched` does, read from the files in any case."""
        log = self.folder.log(table.name)
        if not _read_alike(log, start.version) or not _read_alike(log, end.version):
            return None
        if not (table.identifies if isinstance(table, BaseTable) else table.incremental):
            return None
        ids = not _is_keyed(table)
        files = touched_files(log, start.version, end.version)
        if files is None:
            return None
        # A file without `baseRowId` was written before row tracking was switched on: its rows have no ids.
        states = [state for file in files for state in (file.before, file.after) if state is not None]
        if ids and isinstance(table, BaseTable) and any("baseRowId" not in state for state in states):
            return None
        # `_metadata.file_name` is the name without its folder; two files of one name could not be told apart.
        if len({file_name(file.path) for file in files}) < len(files):
            return None
        rows = self._file_rows(table, ids=ids)
        with store_errors(f"the changes of {table.name} from version {start.version} to {end.version}"):
            before, after = rows.parts(files)
            if self._at_hand([*before, *after]):
                here = self._here(table, before, after)
                if here is not None:
                    return here
            # Rows of both ends come from one Spark job, where two would cost twice the start.
            if before and after and self._few([*before, *after]):
                together = self._together(rows, before, after)
                if together is not None:
                    return together
            return Touched(*(self._relation(table, rows, parts, ids) for parts in (before, after)))

    def extent(self, table: Stored, start: SourceVersion, end: SourceVersion) -> Extent | None:
        """Returns how many rows the commits between two versions took out and put in, by Delta's statistics.

        None where the log does not tell.
        """
        active = self.folder.active(table.name)
        if active is None or not _read_alike(self.folder.log(table.name), start.version):
            return None
        files = touched_files(self.folder.log(table.name), start.version, end.version)
        if files is None:
            return None
        try:
            total = sum(map(live_rows, active.files.values()))
        except KeyError:
            return None
        density = total / max(1, sum(int(file.get("size") or 0) for file in active.files.values()))
        return Extent(sum(_rows_touched(file, density) for file in files), total)

    def chosen(self, table: DynamicTable, row_ids: Sequence[str]) -> SparkRelation | None:
        """Returns the rows of the newest version with some row ids, read by position without Spark.

        None where only Spark can read them.
        """
        active = self.folder.active(table.name)
        if active is None or any("stats" not in file for file in active.files.values()):
            return None
        folder, files = self.folder.path_of(table.name), self.folder.files_of(table.name)
        most = self.workspace.sizes.ids_read_here
        stored = places(folder, files, candidates(active.files.values(), row_ids), row_ids, most)
        if stored is None:
            return None
        parts = [
            FilePart(active.files[path], BitMap64(at for _, at in found)) for path, found in stored.items()
        ]
        return self._literal(table, parts)

    def cached(self) -> Sequence[SparkRelation]:
        """Returns the versions that are kept for later refreshes."""
        ends = (end for interval in self.intervals.values() for end in (interval.before, interval.after))
        return (*self.snapshots.values(), *(end for end in ends if isinstance(end, SparkRelation)))

    def forget(self, name: str) -> None:
        """Drops what is kept of a table."""
        for key in [key for key in self.snapshots if key[0] == name]:
            self.workspace.release([self.snapshots.pop(key)], ())
        for interval in [interval for interval in self.intervals if interval[0] == name]:
            self._forget_interval(interval)

    def _forget_interval(self, key: tuple[object, ...]) -> None:
        """Drops the rows that are kept of one interval."""
        kept = self.intervals.pop(key)
        self.workspace.release([kept.before, kept.after], ())

    def clear(self) -> None:
        """Drops what is kept of every table."""
        self.workspace.release(self.cached(), ())
        self.snapshots.clear()
        self.intervals.clear()

    def frame(self, table: Stored, version: int, columns: Sequence[str]) -> DataFrame:
        """Returns columns of a version as a data frame, not read yet.

        Where a table is small, Delta is told which files to read: otherwise it would find them by a replay of
        the log, which takes longer than they do. In a large one it skips files by their statistics.
        """
        items = [SPARK.identifier(column) for column in columns]
        files = self._files_at(table, version, ids=False)
        if files is not None and self._may_be_named(files):
            return self._file_rows(table, ids=False).frame(files).selectExpr(*items)
        return version_frame(self.workspace.session, self.folder.path_of(table.name), version, items)

    def _read(self, table: Stored, version: int, ids: bool) -> SparkRelation:
        """Returns the rows of a version as `snapshot` does, read from the files in any case."""
        files = self._files_at(table, version, ids)
        if files is not None:
            rows = self._file_rows(table, ids=ids)
            return self._relation(table, rows, [FilePart(file) for file in files], ids)
        items = self._items_at(table, version, ids)
        frame = version_frame(self.workspace.session, self.folder.path_of(table.name), version, items)
        return self.workspace.small(frame) or bound(frame, local=False)

    def _items_at(self, table: Stored, version: int, ids: bool) -> Sequence[str]:
        """Returns the columns at a version; one that was added later is NULL, as Delta reads it."""
        commit = self.folder.log(table.name).commit(version)
        if commit is None:
            return _items(table, ids)
        then = {str(field["name"]).lower() for field in json.loads(commit.table.schema)["fields"]}
        added = {
            SPARK.identifier(name): f"CAST(NULL AS {SPARK.type_name(type_)}) AS {SPARK.identifier(name)}"
            for name, type_ in table.columns
            if name.lower() not in then
        }
        return [added.get(item, item) for item in _items(table, ids)]

    def _files_at(self, table: Stored, version: int, ids: bool) -> Sequence[AddAction] | None:
        """Returns the files of a version; None where only Delta's own time travel can tell them."""
        active = self.folder.active(table.name)
        if active is None or not _is_plain(active.log) or not _read_alike(active.log, version):
            return None
        files = active.at(version)
        if files is None or any("stats" not in file for file in files):
            return None
        if ids and isinstance(table, BaseTable) and any("baseRowId" not in file for file in files):
            return None
        return files

    def _file_rows(self, table: Stored, *, ids: bool) -> FileRows:
        """Returns the reader of a table's files by Spark."""
        folder = self.folder.path_of(table.name)
        return FileRows(
            self.workspace.session,
            self.folder.files_of(table.name),
            folder,
            _items(table, ids),
            self.workspace.sizes,
        )

    def _here(self, table: Stored, before: Sequence[FilePart], after: Sequence[FilePart]) -> Touched | None:
        """Returns few rows of both ends, read without Spark; None where only Spark can read them."""
        ends = [self._literal(table, parts) for parts in (before, after)]
        if ends[0] is None or ends[1] is None:
            return None
        return Touched(ends[0], ends[1])

    def _literal(self, table: Stored, parts: Sequence[FilePart]) -> SparkRelation | None:
        """Returns few rows as `touched` does, read without Spark; None where only Spark can read them."""
        ids = not _is_keyed(table)
        files = self.folder.files_of(table.name)
        if _is_padded(table) or not _is_plain(self.folder.log(table.name)):
            return None
        properties = self.folder.log(table.name).newest.table.properties
        materialized = None
        if isinstance(table, BaseTable):
            materialized = properties.get("delta.rowTracking.materializedRowIdColumnName", "")
        rows = ArrowRows(
            folder=self.folder.path_of(table.name),
            files=files,
            columns=table.columns,
            ids=ids,
            materialized=materialized,
            most_bytes=self.workspace.sizes.arrow_bytes,
        )
        if not parts:
            return self.workspace.nothing(_columns(table, ids))
        read = rows.rows(parts)
        return None if read is None else self.workspace.literal(read, _columns(table, ids))

    def _together(
        self, rows: FileRows, before: Sequence[FilePart], after: Sequence[FilePart]
    ) -> Touched | None:
        """Returns the rows of both ends, fetched by one job; None if they are too many."""
        start, end = rows.rows(before), rows.rows(after)
        assert start is not None
        assert end is not None
        both = start.selectExpr("*", f"FALSE AS {END}").unionAll(end.selectExpr("*", f"TRUE AS {END}"))
        few = self.workspace.small(both)
        if few is None:
            return None
        ends = (few.frame.where(condition).drop("$END") for condition in (f"NOT {END}", END))
        return Touched(*(bound(frame, local=True) for frame in ends))

    def _relation(self, table: Stored, rows: FileRows, parts: Sequence[FilePart], ids: bool) -> SparkRelation:
        """Returns the rows of parts of files as a relation; as literals if they are few."""
        frame = rows.rows(parts)
        if frame is None:
            if not _is_padded(table):
                return self.workspace.nothing(_columns(table, ids))
            # Spark pads what it compares with a CHAR(n): it must know that a column without rows is one.
            frame = rows.frame([]).selectExpr(*rows.items)
        few = self.workspace.small(frame) if self._few(parts) else None
        return few or bound(frame, local=False)

    def _may_be_named(self, files: Sequence[AddAction]) -> bool:
        """Tells whether files are so few and small that a data frame names each; see `Sizes.named_files`."""
        sizes = self.workspace.sizes
        return len(files) <= sizes.named_files and sum(file["size"] for file in files) <= sizes.named_bytes

    def _few(self, parts: Sequence[FilePart]) -> bool:
        """Tells whether parts of files may be kept as literals; True if the log does not tell."""
        try:
            return sum(part.rows for part in parts) <= self.workspace.sizes.literal_rows
        except KeyError:
            return True

    def _at_hand(self, parts: Sequence[FilePart]) -> bool:
        """Tells whether changed rows in parts of files may be kept as literals; False if nobody knows.

        A row counts with its share of the file's bytes, times three, because files are compressed.
        """
        sizes = self.workspace.sizes
        try:
            rows = sum(part.rows for part in parts)
            size = sum(3 * part.rows * int(part.file["size"]) // max(1, records(part.file)) for part in parts)
        except KeyError:
            return False
        return rows <= sizes.changed_rows and size <= sizes.changed_bytes

    def _is_large(self, interval: Touched) -> bool:
        """Tells whether the rows at one end of an interval are more than are kept for many intervals."""
        return any(map(self.workspace.is_large, (interval.before, interval.after)))


def _is_keyed(table: Stored) -> bool:
    """Tells whether the ids of a table's rows are made of its primary key, and not stored."""
    return isinstance(table, BaseTable) and bool(table.key)


def _is_padded(table: Stored) -> bool:
    """Tells whether a table has a column of type CHAR(n), which Spark pads with spaces."""
    return isinstance(table, BaseTable) and table.padded


def _read_alike(log: TableLog, version: int) -> bool:
    """Tells whether files of a version mean the same when they are read as files of the newest version.

    Delta's classes read chosen files by the newest schema and protocol, so these must be the same then and
    now. The schema has the stored names of mapped columns, too.
    """
    then, now = log.commit(version), log.newest
    if then is None or then.features is None:
        return False
    ends = [(each.table.id, each.table.schema, each.table.partitions, each.features) for each in (then, now)]
    return ends[0] == ends[1]


def _is_plain(log: TableLog) -> bool:
    """Tells whether the files of a table hold all its columns, under their own names.

    With mapped columns a file has other names for them, and with partitions it lacks some: Delta reads it.
    """
    table = log.newest.table
    return not table.partitions and table.properties.get("delta.columnMapping.mode", "none") == "none"


def _items(table: Stored, ids: bool) -> tuple[str, ...]:
    """Returns the SQL expressions of a table's columns, and of `$ROW_ID` if `ids`."""
    items = tuple(SPARK.identifier(column) for column, _ in table.columns)
    if not ids:
        return items
    return (*items, BASE_ROW_ID if isinstance(table, BaseTable) else SPARK.identifier(ROW_ID))


def _columns(table: Stored, ids: bool) -> Columns:
    """Returns names and types of a table's columns, and of `$ROW_ID` if `ids`."""
    return (*table.columns, (ROW_ID, STRING)) if ids else table.columns


def _rows_touched(file: TouchedFile, density: float) -> int:
    """Returns the difference of the numbers of live rows of a file's two states; 0 rows where it is absent.

    It estimates what a refresh must read, from the log alone. If some rows left and as many came back, it is
    too small. `density`: rows in a byte, for a file that was removed without its statistics, as an overwrite
    does it.
    """

    def rows(state: AddAction | None) -> int:
        if state is None:
            return 0
        return live_rows(state) if "stats" in state else round(density * int(state.get("size") or 0))

    return abs(rows(file.before) - rows(file.after))
