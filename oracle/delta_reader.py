"""Delta tables as they lie on disk, read without Spark: the engine's own reader must not judge the engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from oracle.arrow import arrow_type, from_arrow
from oracle.deletion_vector import deleted_positions
from oracle.delta_log import LiveFile, snapshot
from oracle.errors import OracleError
from workload.schema import Column
from workload.types import Row

MATERIALIZED_ROW_ID = "delta.rowTracking.materializedRowIdColumnName"


def read_rows(path: Path, version: int, columns: Sequence[Column]) -> tuple[Row, ...]:
    """The rows of a table at a version, in no particular order, by delta-rs.

    `columns` names and types what is read, in this order; a name may be any text (`$ROW_ID`). Raises
    OracleError: no such table, version or column, or a column of another type. The first call in a
    process takes some 200 ms, the others a few.
    """
    what = f"{path} at version {version}"
    # Not `to_pyarrow_table`, which refuses tables with deletion vectors.
    items = ", ".join('"' + column.name.replace('"', '""') + '"' for column in columns)
    try:
        table = DeltaTable(path, version=version)
        reader = QueryBuilder().register("t", table).execute(f"SELECT {items} FROM t")
        content = pa.table(reader.read_all())
    except (DeltaError, OSError, ValueError) as error:
        raise OracleError(f"{what}: delta-rs cannot read it: {error}") from error
    return from_arrow(content, columns, what)


def read_base_row_ids(path: Path, version: int, columns: Sequence[Column]) -> tuple[tuple[int, Row], ...]:
    """Row-tracking id and row of every live row at a version, from log, Parquet and deletion vectors alone.

    A row's id is its materialized one if it has one, else its file's `baseRowId` plus its position there
    (Delta protocol, row tracking). Raises OracleError: the table does not track rows, is partitioned, maps
    columns (the harness makes no such tables), or its files are not as the log says.
    """
    state = snapshot(path, version)
    what = f"{path} at version {version}"
    if state.partition_columns or state.properties.get("delta.columnMapping.mode", "none") != "none":
        raise OracleError(f"{what}: row ids of partitioned or column-mapped tables are not read")
    id_column = state.properties.get(MATERIALIZED_ROW_ID)
    if id_column is None:
        raise OracleError(f"{what}: the table does not track rows (no {MATERIALIZED_ROW_ID})")
    return tuple(row for file in state.files for row in _rows_with_ids(path, file, id_column, columns))


def _rows_with_ids(
    path: Path, file: LiveFile, id_column: str, columns: Sequence[Column]
) -> list[tuple[int, Row]]:
    what = str(path / file.path)
    if file.base_row_id is None:
        raise OracleError(f"{what}: the log gives no baseRowId")
    try:
        content = pq.read_table(path / file.path)
    except (OSError, pa.ArrowException) as error:
        raise OracleError(f"{what}: cannot be read: {error}") from error
    rows = from_arrow(_select(content, columns), columns, what)
    ids = [file.base_row_id + position for position in range(content.num_rows)]
    if id_column in content.column_names:
        stored = content[id_column].to_pylist()
        ids = [id_ if own is None else int(own) for id_, own in zip(ids, stored, strict=True)]
    vector = file.deletion_vector
    deleted = frozenset[int]() if vector is None else deleted_positions(vector, path)
    return [
        (id_, row)
        for position, (id_, row) in enumerate(zip(ids, rows, strict=True))
        if position not in deleted
    ]


def _select(content: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """The columns by name; NULL where the file is older than the column."""
    arrays = [
        content[column.name]
        if column.name in content.column_names
        else pa.nulls(content.num_rows, arrow_type(column.type))
        for column in columns
    ]
    return pa.table(arrays, names=[column.name for column in columns])
