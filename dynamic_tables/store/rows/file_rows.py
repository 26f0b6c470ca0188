"""Data frames over a version of a Delta table, over chosen data files of it, or over chosen rows of them.

Delta's Python interface reads whole versions only. These functions call the Scala classes of Delta through
the JVM gateway, so that Delta's own reader (deletion vectors, row ids) reads just the files that are named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap64

from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.touched import AddAction, TouchedFile, live_rows
from dynamic_tables.store.rows.vectors import read_vector
from dynamic_tables.store.sizes import Sizes
from dynamic_tables.store.spark.java_classes import COLLECTIONS, DELTA_LOG, java_class, java_list, java_none

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some rows of a data file, by their positions in it; None: all rows that are not deleted."""

    file: AddAction
    positions: BitMap64 | None = None

    @property
    def rows(self) -> int:
        """The number of these rows. Raises KeyError: the log has no count of the file's rows."""
        return live_rows(self.file) if self.positions is None else len(self.positions)


@dataclass(frozen=True, slots=True)
class FileRows:
    """Reads files of the table in `folder`; `items` are the SQL expressions of the columns read."""

    session: SparkSession
    files: Files
    folder: str
    items: Sequence[str]
    sizes: Sizes

    def parts(self, touched: Sequence[TouchedFile]) -> tuple[list[FilePart], list[FilePart]]:
        """Returns the parts of files that may differ between the ends of an interval: (at start, at end)."""
        before: list[FilePart] = []
        after: list[FilePart] = []
        for file in touched:
            if file.before is None or file.after is None:
                before += [FilePart(file.before)] if file.before is not None else []
                after += [FilePart(file.after)] if file.after is not None else []
                continue
            # The file is at both ends: only rows whose position is in one of the two vectors differ. A row
            # that was deleted in the interval is a row at the start, and one that came back (RESTORE) one at
            # the end.
            vectors = self._vector(file.before), self._vector(file.after)
            lost, returned = vectors[1] - vectors[0], vectors[0] - vectors[1]
            if len(lost) + len(returned) > self.sizes.positions:
                before.append(FilePart(file.before))
                after.append(FilePart(file.after))
            else:
                before += [FilePart(file.before, lost)] if lost else []
                after += [FilePart(file.after, returned)] if returned else []
        return before, after

    def rows(self, parts: Sequence[FilePart]) -> DataFrame | None:
        """Returns the rows of parts of files; None without parts."""
        whole = [part.file for part in parts if part.positions is None]
        chosen = [(part.file, part.positions) for part in parts if part.positions is not None]
        frames = [self.frame(whole).selectExpr(*self.items)] if whole else []
        if chosen:
            frames.append(self._part(chosen))
        if not frames:
            return None
        return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])

    def _vector(self, file: AddAction) -> BitMap64:
        """Returns the positions of a file's deleted rows."""
        return read_vector(self.folder, file.get("deletionVector"), self.files)

    def _part(self, chosen: Sequence[tuple[AddAction, BitMap64]]) -> DataFrame:
        """Returns the rows at some positions of some files."""
        frame = self.frame([file for file, _ in chosen]).selectExpr(
            *self.items, "_metadata.file_name AS `$FILE`", "_metadata.row_index AS `$INDEX`"
        )
        ranges = {file_name(file["path"]): ranges_of(positions) for file, positions in chosen}
        if sum(map(len, ranges.values())) <= self.sizes.ranges:
            frame = frame.where(" OR ".join(condition(name, runs) for name, runs in ranges.items()))
        else:
            frame = frame.join(self._positions(ranges).hint("broadcast"), ["$FILE", "$INDEX"], "left_semi")
        return frame.drop("$FILE", "$INDEX")

    def _positions(self, ranges: Mapping[str, Sequence[tuple[int, int]]]) -> DataFrame:
        """Returns a row (file name, position) for each position in some ranges (first, last)."""
        import pyarrow as pa

        rows = [(name, first, last) for name, pairs in ranges.items() for first, last in pairs]
        names, firsts, lasts = zip(*rows, strict=True)
        table = pa.table({"$FILE": names, "first": firsts, "last": lasts})
        return self.session.createDataFrame(table).selectExpr(
            "`$FILE`", "explode(sequence(first, last)) AS `$INDEX`"
        )

    def frame(self, added: Sequence[AddAction]) -> DataFrame:
        """Returns the live rows of some files, with Delta's `_metadata`."""
        from pyspark.sql import DataFrame

        # Delta has no public way to read chosen files under its protocol: vectors, row ids, partitions.
        log, snapshot = _newest(self.session, self.folder)
        action = java_class(self.session, "org.apache.spark.sql.delta.actions.Action")
        actions = java_list(
            self.session, [action.fromJson(json.dumps({"add": dict(body)})) for body in added]
        )
        files = java_class(self.session, COLLECTIONS).asScala(actions).toSeq()
        nothing = java_none(self.session)
        return DataFrame(log.createDataFrame(snapshot, files, False, nothing), self.session)


def version_frame(session: SparkSession, folder: str, version: int, items: Sequence[str]) -> DataFrame:
    """Returns SQL expressions over the rows of a version of the table in a folder.

    Delta keeps what the newest version holds. By VERSION AS OF it would replay the whole log for each data
    frame, also for the newest version: that takes twice as long as the reading itself.
    """
    from pyspark.sql import DataFrame

    log, snapshot = _newest(session, folder)
    if snapshot.version() != version:
        table = f"delta.{SPARK.identifier(folder)}"
        return session.sql(f"SELECT {', '.join(items)} FROM {table} VERSION AS OF {version}")
    conditions = java_class(session, COLLECTIONS).asScala(java_list(session)).toSeq()
    chosen = java_class(session, "scala.Option").apply(snapshot)
    # Delta takes it for time travel (`isTimeTravelQuery`), so that the frame stays at this version when
    # others are committed; a frame of the newest version would follow the table.
    relation = log.createRelation(conditions, chosen, java_none(session), True)
    rows = DataFrame(session._jsparkSession.baseRelationToDataFrame(relation), session)  # noqa: SLF001
    return rows.selectExpr(*items)


def _newest(session: SparkSession, folder: str) -> tuple[Any, Any]:
    """Returns Delta's log of the table in a folder, and the newest snapshot of it."""
    java = session._jsparkSession  # noqa: SLF001
    # Delta makes frames in the session that is active in this thread.
    java_class(session, "org.apache.spark.sql.SparkSession").setActiveSession(java)
    log = java_class(session, DELTA_LOG).forTable(java, folder)
    nothing = java_none(session)
    return log, log.update(False, nothing, nothing)


def file_name(path: str) -> str:
    """Returns the name of a data file without its folder, encoded as in the log: as `_metadata` gives it."""
    return path.rsplit("/", 1)[-1]


def ranges_of(positions: BitMap64) -> list[tuple[int, int]]:
    """Returns the positions as ranges (first, last)."""
    # In a run of successive positions, position minus place in the list is constant: 5, 6, 7, 9 minus
    # 0, 1, 2, 3 is 5, 5, 5, 6.
    runs = groupby(enumerate(positions), lambda pair: pair[1] - pair[0])
    ends = ([position for _, position in run] for _, run in runs)
    return [(run[0], run[-1]) for run in ends]


def condition(name: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Returns the SQL condition for the rows at some ranges of positions in one file."""
    text = name.replace("\\", "\\\\").replace("'", "\\'")
    indexes = " OR ".join(f"`$INDEX` BETWEEN {first} AND {last}" for first, last in ranges)
    return f"(`$FILE` = '{text}' AND ({indexes}))"
