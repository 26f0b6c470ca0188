"""Conversion of rows to and from Arrow by the declared column types (no type is ever guessed from values)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from oracle.errors import OracleError
from workload.schema import Column
from workload.types import Kind, Row, SqlType

SIMPLE_TYPES: Mapping[Kind, pa.DataType] = {
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.STRING: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
}
"""The Arrow type of every kind but DECIMAL, which carries its precision and scale."""


def arrow_type(type_: SqlType) -> pa.DataType:
    """The Arrow type that DuckDB, Spark, Delta and Parquet all use for the SQL type."""
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
    """The rows of an Arrow table, whose columns must be exactly the given ones, in their order.

    `what` names the table in error messages. Raises OracleError: a column has another name or type.
    """
    actual = [(field.name, _plain_string(field.type)) for field in table.schema]
    declared = [(column.name, arrow_type(column.type)) for column in columns]
    if actual != declared:
        raise OracleError(f"{what}: the columns are {_text(actual)}, but declared are {_text(declared)}")
    # By position, not by name: rows as dictionaries would lose all but the last column of a repeated name.
    return tuple(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _plain_string(type_: pa.DataType) -> pa.DataType:
    # Readers choose among three string types (plain, large, view) freely; all hold the same values.
    return pa.string() if pa.types.is_large_string(type_) or pa.types.is_string_view(type_) else type_


def _text(fields: list[tuple[str, pa.DataType]]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in fields)
