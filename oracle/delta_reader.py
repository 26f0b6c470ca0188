"""Delta tables read from disk by delta-rs, without Spark: the engine's reader must not judge the engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from oracle.arrow import from_arrow
from oracle.errors import OracleError
from workload.schema import Column
from workload.types import Row


def newest_version(path: Path) -> int:
    """The number of the last commit in the table's log.

    Raises OracleError: there is no Delta table at the path, or its log is damaged or lacks a version.
    """
    return _open(path, None).version()


def read_rows(path: Path, version: int, columns: Sequence[Column]) -> tuple[Row, ...]:
    """The rows of a table at a version, in no particular order.

    `columns` names and types what is read, in this order; a name may be any text (`$ROW_ID`). Raises
    OracleError: no such table, version or column, or a column of another type. The first call in a
    process takes some 200 ms, the others a few.
    """
    what = f"{path} at version {version}"
    table = _open(path, version)
    items = ", ".join('"' + column.name.replace('"', '""') + '"' for column in columns)
    try:
        # Not `to_pyarrow_table`, which refuses tables with deletion vectors.
        reader = QueryBuilder().register("t", table).execute(f"SELECT {items} FROM t")
        content = pa.table(reader.read_all())
    except (DeltaError, OSError, ValueError) as error:
        raise OracleError(f"{what}: delta-rs cannot read it: {error}") from error
    return from_arrow(content, columns, what)


def _open(path: Path, version: int | None) -> DeltaTable:
    try:
        return DeltaTable(path, version=version)
    except (DeltaError, OSError, ValueError) as error:
        at = "" if version is None else f" at version {version}"
        raise OracleError(f"{path}{at}: delta-rs cannot read it: {error}") from error
