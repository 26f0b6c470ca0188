"""Data frames over chosen data files of a Delta table, or over chosen rows of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyroaring import BitMap64

from dynamic_tables.store.files import Files
from dynamic_tables.store.touched import AddAction, TouchedFile
from dynamic_tables.store.vectors import read_vector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_RANGES = 200
"""Ranges of positions that are written as a condition; more become rows that are joined."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Reads files of the table in `folder`; `items` are the SQL expressions of the columns read."""

    session: SparkSession
    files: Files
    folder: str
    items: Sequence[str]

    def before(self, touched: Sequence[TouchedFile]) -> DataFrame | None:
        """Returns the rows at the start of an interval that are not certain to be there at its end."""
        whole = [file.before for file in touched if file.before is not None and file.after is None]
        lost = {
            file.before["path"]: (file.before, self._vector(file.after) - self._vector(file.before))
            for file in touched
            if file.before is not None and file.after is not None
        }
        return self._both(whole, lost)

    def after(self, touched: Sequence[TouchedFile]) -> DataFrame | None:
        """Returns the rows at the end of an interval that are not certain to be there at its start."""
        whole = [file.after for file in touched if file.after is not None and file.before is None]
        returned = {
            file.after["path"]: (file.after, self._vector(file.before) - self._vector(file.after))
            for file in touched
            if file.before is not None and file.after is not None
        }
        return self._both(whole, returned)

    def rows(self, files: Sequence[AddAction]) -> DataFrame | None:
        """Returns all live rows of some files; None without files."""
        return self._both(files, {})

    def _vector(self, file: AddAction) -> BitMap64:
        return read_vector(self.folder, file.get("deletionVector"), self.files)

    def _both(
        self, whole: Sequence[AddAction], parts: Mapping[str, tuple[AddAction, BitMap64]]
    ) -> DataFrame | None:
        chosen = [(file, positions) for file, positions in parts.values() if positions]
        frames = [self.frame(whole).selectExpr(*self.items)] if whole else []
        if chosen:
            frames.append(self._part(chosen))
        if not frames:
            return None
        return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])

    def _part(self, chosen: Sequence[tuple[AddAction, BitMap64]]) -> DataFrame:
        """Returns the rows at some positions of some files."""
        frame = self.frame([file for file, _ in chosen]).selectExpr(
            *self.items, "_metadata.file_name AS `$FILE`", "_metadata.row_index AS `$INDEX`"
        )
        ranges = {file_name(file["path"]): ranges_of(positions) for file, positions in chosen}
        if sum(map(len, ranges.values())) <= MOST_RANGES:
            frame = frame.where(" OR ".join(condition(name, runs) for name, runs in ranges.items()))
        else:
            frame = frame.join(self._positions(ranges).hint("broadcast"), ["$FILE", "$INDEX"], "left_semi")
        return frame.drop("$FILE", "$INDEX")

    def _positions(self, ranges: Mapping[str, Sequence[tuple[int, int]]]) -> DataFrame:
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
        jvm: Any = self.session.sparkContext._jvm  # noqa: SLF001
        delta = jvm.org.apache.spark.sql.delta
        java = self.session._jsparkSession  # noqa: SLF001
        # Delta makes the frame in the session that is active in this thread.
        jvm.org.apache.spark.sql.SparkSession.setActiveSession(java)
        log = delta.DeltaLog.forTable(java, self.folder)
        nothing = jvm.scala.Option.empty()
        actions = jvm.java.util.ArrayList()
        for body in added:
            actions.add(delta.actions.Action.fromJson(json.dumps({"add": dict(body)})))
        files = jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions).toSeq()
        snapshot = log.update(False, nothing, nothing)
        return DataFrame(log.createDataFrame(snapshot, files, False, nothing), self.session)


def file_name(path: str) -> str:
    """Returns the name of a data file without its folder, as `_metadata.file_name` gives it."""
    return unquote(path).rsplit("/", 1)[-1]


def ranges_of(positions: BitMap64) -> list[tuple[int, int]]:
    """Returns the positions as ranges (first, last)."""
    # Within a range, position minus place is constant.
    runs = groupby(enumerate(positions), lambda pair: pair[1] - pair[0])
    ends = ([position for _, position in run] for _, run in runs)
    return [(run[0], run[-1]) for run in ends]


def condition(name: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Returns the SQL condition for the rows at some ranges of positions in one file."""
    text = name.replace("\\", "\\\\").replace("'", "\\'")
    indexes = " OR ".join(f"`$INDEX` BETWEEN {first} AND {last}" for first, last in ranges)
    return f"(`$FILE` = '{text}' AND ({indexes}))"
