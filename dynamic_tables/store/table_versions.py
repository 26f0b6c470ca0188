"""Reads tables: a whole version, or the rows that the commits between two versions touched."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dynamic_tables.definition import BaseTable, Columns, DynamicTable
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.plan.types import STRING
from dynamic_tables.store.file_rows import FileRows, file_name
from dynamic_tables.store.folder import Folder
from dynamic_tables.store.port import Touched
from dynamic_tables.store.relations import LOCAL_ROWS, SparkRelation, Workspace, bound
from dynamic_tables.store.spark_errors import store_errors
from dynamic_tables.store.touched import AddAction, live_rows, touched_files
from dynamic_tables.versions import SourceVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CACHED = 64
"""How many small versions are kept for the next refresh."""

_NUMBER = "CAST(_metadata.row_id AS STRING)"
BASE_ROW_ID = f"concat('b', chr(64 + length({_NUMBER})), {_NUMBER}) AS {SPARK.identifier(ROW_ID)}"
"""The row id of a base row: Delta's id. A letter for the number of digits makes texts sort as numbers do, so
that the file statistics of a dynamic table bound the ids of the rows in each file."""

END = SPARK.identifier("$END")
"""Marks rows of the end of an interval, among rows of both ends."""

Stored = BaseTable | DynamicTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersions:
    """The versions of the tables in a folder. `snapshots`: small ones that were read, the last read last."""

    folder: Folder
    workspace: Workspace
    snapshots: OrderedDict[tuple[str, str, int, bool], SparkRelation] = field(default_factory=OrderedDict)

    def snapshot(self, table: Stored, version: int, ids: bool) -> SparkRelation:
        """Returns the rows of a version, with `$ROW_ID` if `ids`. Raises StoreError: it cannot be read."""
        key = (table.name, self.folder.log(table.name).newest.table.id, version, ids)
        known = self.snapshots.get(key)
        if known is not None:
            self.snapshots.move_to_end(key)
            return known
        with store_errors(f"{table.name} at version {version}"):
            relation = self._read(table, version, ids)
        if relation.local:
            self.snapshots[key] = relation
            while len(self.snapshots) > CACHED:
                self.workspace.release([self.snapshots.popitem(last=False)[1]], ())
        return relation

    def touched(self, table: Stored, start: SourceVersion, end: SourceVersion) -> Touched | None:
        """Returns the rows of the files that the commits between two versions touched.

        None for a table without row ids, and where the log does not hold every commit or file in full.
        """
        log = self.folder.log(table.name)
        if start.identity != end.identity or log.commit(start.version) is None:
            return None
        if isinstance(table, DynamicTable) and not table.incremental:
            return None
        files = touched_files(log, start.version, end.version)
        states = [state for file in files for state in (file.before, file.after) if state is not None]
        if isinstance(table, BaseTable) and any("baseRowId" not in state for state in states):
            return None
        # Positions are looked up by the name of the file without its folder.
        if len({file_name(file.path) for file in files}) < len(files):
            return None
        rows = self._file_rows(table, ids=True)
        with store_errors(f"the changes of {table.name} from version {start.version} to {end.version}"):
            before, after = rows.before(files), rows.after(files)
            if before is not None and after is not None:
                return self._together(before, after)
            return Touched(self._relation(table, before), self._relation(table, after))

    def cached(self) -> Sequence[SparkRelation]:
        """Returns the versions that are kept for later refreshes."""
        return tuple(self.snapshots.values())

    def forget(self, name: str) -> None:
        """Drops what is kept of a table."""
        for key in [key for key in self.snapshots if key[0] == name]:
            self.workspace.release([self.snapshots.pop(key)], ())

    def clear(self) -> None:
        """Drops what is kept of every table."""
        self.workspace.release(self.cached(), ())
        self.snapshots.clear()

    def _read(self, table: Stored, version: int, ids: bool) -> SparkRelation:
        files = self._files_at(table, version, ids)
        if files is not None:
            frame = self._file_rows(table, ids=ids).rows(files)
            if frame is None:
                return self.workspace.nothing(_columns(table, ids))
        else:
            items = ", ".join(_items(table, ids))
            place = self.folder.sql_name(table.name)
            frame = self.workspace.session.sql(f"SELECT {items} FROM {place} VERSION AS OF {version}")
        if files is not None and sum(map(live_rows, files)) > LOCAL_ROWS:
            return bound(frame, local=False)
        return self.workspace.small(frame) or bound(frame, local=False)

    def _files_at(self, table: Stored, version: int, ids: bool) -> Sequence[AddAction] | None:
        """Returns the files of a version; None where only Delta's own time travel can tell them."""
        active = self.folder.active(table.name)
        files = None if active is None else active.at(version)
        if files is None or any("stats" not in file for file in files):
            return None
        if ids and isinstance(table, BaseTable) and any("baseRowId" not in file for file in files):
            return None
        return files

    def _file_rows(self, table: Stored, *, ids: bool) -> FileRows:
        folder = self.folder.path_of(table.name)
        return FileRows(self.workspace.session, self.folder.files, folder, _items(table, ids))

    def _together(self, before: DataFrame, after: DataFrame) -> Touched:
        """Returns the rows of both ends, fetched by one job if they are few."""
        both = before.selectExpr("*", f"FALSE AS {END}").unionAll(after.selectExpr("*", f"TRUE AS {END}"))
        few = self.workspace.small(both)
        if few is None:
            return Touched(bound(before, local=False), bound(after, local=False))
        ends = (few.frame.where(condition).drop("$END") for condition in (f"NOT {END}", END))
        return Touched(*(bound(end, local=True) for end in ends))

    def _relation(self, table: Stored, frame: DataFrame | None) -> SparkRelation:
        if frame is None:
            return self.workspace.nothing(_columns(table, True))
        return self.workspace.small(frame) or bound(frame, local=False)


def _items(table: Stored, ids: bool) -> list[str]:
    items = [SPARK.identifier(column) for column, _ in table.columns]
    if ids:
        items.append(BASE_ROW_ID if isinstance(table, BaseTable) else SPARK.identifier(ROW_ID))
    return items


def _columns(table: Stored, ids: bool) -> Columns:
    return (*table.columns, (ROW_ID, STRING)) if ids else table.columns
