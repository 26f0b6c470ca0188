"""Delta tables read from disk by delta-rs, without Spark: the engine's reader must not judge the engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType

from oracle.arrow import from_arrow
from oracle.errors import OracleError
from workload.schema import Column
from workload.types import Row, Value


def newest_version(path: Path) -> int:
    """Returns the number of the last commit in the table's log.

    Raises OracleError: there is no Delta table at the path, or its log is damaged or lacks a version.
    """
    return _open(path, None).version()


def read_rows(path: Path, version: int, columns: Sequence[Column]) -> tuple[Row, ...]:
    """Returns the rows of a table at a version, in no particular order.

    `columns` names and types what is read, in this order; a name may be any text (`$ROW_ID`). Raises
    OracleError: no such table, version or column, or a column of another type. The first call in a process
    takes some 200 ms, the others a few.
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


def frequencies(path: Path, most: int) -> Mapping[str, tuple[int, Mapping[Value, int]]]:
    """Returns by column, in lower case, the percent of NULLs and how many rows have each frequent value.

    Of each column the `most` most frequent values, at the newest version. Columns of nested types are left
    out. Raises OracleError: delta-rs cannot read the table.
    """
    delta = _open(path, None)

    def rows(text: str) -> list[tuple[Any, ...]]:
        content = pa.table(QueryBuilder().register("t", delta).execute(text).read_all())
        return list(zip(*(each.to_pylist() for each in content.columns), strict=True))

    found: dict[str, tuple[int, Mapping[Value, int]]] = {}
    for field in delta.schema().fields:
        if not isinstance(field.type, PrimitiveType):
            continue
        name = '"' + field.name.replace('"', '""') + '"'
        try:
            ((total, filled),) = rows(f"SELECT COUNT(*), COUNT({name}) FROM t")
            counted = rows(
                f"SELECT {name}, COUNT(*) AS n FROM t WHERE {name} IS NOT NULL GROUP BY {name} "
                f"ORDER BY n DESC, {name} LIMIT {most}"
            )
        except Exception as error:  # delta-rs raises Exception itself for files that are gone
            raise OracleError(f"{path}: delta-rs cannot read {field.name}") from error
        nulls = round(100 * (total - filled) / total) if total else 0
        found[field.name.lower()] = nulls, {_without_zone(value): n for value, n in counted}
    return found


def _without_zone(value: Any) -> Value:
    """Returns a time with a zone as a naive time in UTC, as scenarios have it; any other value unchanged."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    plain: Value = value
    return plain


def _open(path: Path, version: int | None) -> DeltaTable:
    try:
        return DeltaTable(path, version=version)
    except (DeltaError, OSError, ValueError) as error:
        at = "" if version is None else f" at version {version}"
        raise OracleError(f"{path}{at}: delta-rs cannot read it: {error}") from error
