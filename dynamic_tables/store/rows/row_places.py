"""Where the rows with some row ids are stored (file and position), found in the data files without Spark.

A commit that deletes or updates rows needs their positions for the deletion vectors. The bounds of `$ROW_ID`
in the statistics of each file rule most files out; of the others only the column of row ids is read.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dynamic_tables.plan.nodes import ROW_ID
from dynamic_tables.store.log.files import Files
from dynamic_tables.store.log.places import absolute
from dynamic_tables.store.log.touched import AddAction, records
from dynamic_tables.store.rows.vectors import read_vector

Places = Mapping[str, Sequence[tuple[str, int]]]
"""By the path of a file: pairs of a row id and a position in the file."""


def candidates(active: Iterable[AddAction], row_ids: Sequence[str]) -> list[AddAction]:
    """Returns the files whose statistics do not rule out that they hold one of the row ids."""
    ordered = sorted(row_ids)
    return [file for file in active if _may_hold(file, ordered)]


def places(
    folder: str, files: Files, among: Sequence[AddAction], row_ids: Sequence[str], most: int
) -> Places | None:
    """Returns where the rows with some ids are in the files `among` of a table in `folder`.

    None if these files have more than `most` rows. Raises KeyError: the log has no count of a file's rows.

    Rows that a deletion vector takes out are not found.
    """
    if sum(map(records, among)) > most:
        return None
    wanted = pa.array(row_ids, pa.string())
    found: dict[str, Sequence[tuple[str, int]]] = {}
    for file in among:
        with files.open(absolute(folder, file["path"])) as stored:
            ids = pq.read_table(stored, columns=[ROW_ID])[ROW_ID]
        deleted = read_vector(folder, file.get("deletionVector"), files)
        positions = pc.indices_nonzero(pc.is_in(ids, wanted)).to_pylist()
        live = [(ids[at].as_py(), at) for at in positions if at not in deleted]
        if live:
            found[file["path"]] = live
    return found


def _may_hold(file: AddAction, ordered: Sequence[str]) -> bool:
    """Tells whether one of the row ids, given in order, lies within the bounds of a file's row ids."""
    statistics = json.loads(file["stats"])
    least = statistics.get("minValues", {}).get(ROW_ID)
    greatest = statistics.get("maxValues", {}).get(ROW_ID)
    if least is None or greatest is None:
        return True
    # The first wanted id that is not below the file's least one must not be above its greatest one.
    next_id = bisect_left(ordered, least)
    return next_id < len(ordered) and ordered[next_id] <= greatest
