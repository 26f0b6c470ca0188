"""Conversion of rows to and from Arrow by the declared column types (no type is ever guessed from values)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from oracle.errors import OracleError
from workload.schema import Column
from workload.types import TIMESTAMP, Kind, Row, SqlType

SIMPLE_TYPES: Mapping[Kind, pa.DataType] = {
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
    Kind.TIMESTAMP: pa.timestamp("us"),
}
"""The Arrow type of every kind but DECIMAL, which carries its precision and scale."""

INSTANT = pa.timestamp("us", "UTC")
"""The Arrow type of TIMESTAMP in a Delta table; DuckDB gets its UTC date and time, without the zone."""


def arrow_type(type_: SqlType) -> pa.DataType:
    """The Arrow type by which DuckDB gets values of the SQL type, and Delta too, but for TIMESTAMP."""
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return SIMPLE_TYPES[type_.kind]


def to_arrow(columns: Sequence[Column], rows: Sequence[Row], what: str) -> pa.Table:
    """The rows as an Arrow table with the given columns.

    `what` names the rows in error messages. Raises OracleError: a value does not fit its column's type.
    """
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    try:
        arrays = [pa.array(cells, type=arrow_type(c.type)) for cells, c in zip(values, columns, strict=True)]
    except (pa.ArrowException, OverflowError, UnicodeError, ValueError) as error:
        raise OracleError(f"{what}: a row does not fit the columns: {error}") from error
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def from_arrow(table: pa.Table, columns: Sequence[Column], what: str) -> tuple[Row, ...]:
    """The rows of an Arrow table as Delta stores it: its columns must be the given ones, in their order.

    `what` names the table in error messages. Raises OracleError: a column has another name or type.
    """
    actual = [(field.name, _plain(field.type)) for field in table.schema]
    declared = [
        (column.name, INSTANT if column.type == TIMESTAMP else arrow_type(column.type)) for column in columns
    ]
    if actual != declared:
        raise OracleError(f"{what}: the columns are {_text(actual)}, but declared are {_text(declared)}")
    # By position, not by name: rows as dictionaries would lose all but the last column of a repeated name.
    plain = (c.cast(pa.timestamp("us")) if c.type == INSTANT else c for c in table.columns)
    return tuple(zip(*(column.to_pylist() for column in plain), strict=True))


def _plain(type_: pa.DataType) -> pa.DataType:
    # Readers choose among three types (plain, large, view) of texts and of bytes freely.
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return pa.binary()
    return type_


def _text(fields: list[tuple[str, pa.DataType]]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in fields)
