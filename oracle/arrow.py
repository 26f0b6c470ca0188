"""Rows converted to and from Arrow by the declared column types; no type is ever guessed from values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from oracle.documents import json_text
from oracle.errors import OracleError
from workload.schema import Column
from workload.types import NESTED, TIMESTAMP, Kind, Row, SqlType, Value, of_map

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
    Kind.VARIANT: pa.string(),
}
"""The Arrow type of every kind but DECIMAL, which carries its precision and scale."""

INSTANT = pa.timestamp("us", "UTC")
"""The Arrow type of TIMESTAMP in a Delta table; DuckDB gets its UTC date and time, without the zone."""


DOCUMENT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
"""The Arrow type of VARIANT in a Delta table; DuckDB gets its text of JSON."""


def _stored_type(type_: SqlType) -> pa.DataType:
    """Returns the Arrow type of a column of a Delta table."""
    if type_ == TIMESTAMP:
        return INSTANT
    return DOCUMENT if type_.kind is Kind.VARIANT else arrow_type(type_)


def arrow_type(type_: SqlType) -> pa.DataType:
    """Returns the Arrow type by which DuckDB gets values of a type; for Delta see `_stored_type`."""
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    parts = [(name, arrow_type(part)) for name, part in type_.parts]
    match type_.kind:
        case Kind.ARRAY:
            return pa.list_(parts[0][1])
        case Kind.STRUCT:
            return pa.struct(parts)
        case Kind.MAP:
            return pa.map_(parts[0][1], parts[1][1])
        case _:
            return SIMPLE_TYPES[type_.kind]


def to_arrow(columns: Sequence[Column], rows: Sequence[Row], what: str) -> pa.Table:
    """Returns the rows as an Arrow table with the given columns.

    `what` names the rows in error messages. Raises OracleError: a value does not fit its column's type.
    """
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    try:
        arrays = [pa.array(cells, type=arrow_type(c.type)) for cells, c in zip(values, columns, strict=True)]
    except (pa.ArrowException, OverflowError, UnicodeError, ValueError) as error:
        raise OracleError(f"{what}: a row does not fit the columns: {error}") from error
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def from_arrow(table: pa.Table, columns: Sequence[Column], what: str) -> tuple[Row, ...]:
    """Returns the rows of an Arrow table as Delta stores it; its columns must be the given ones, in order.

    `what` names the table in error messages. Raises OracleError: a column has another name or type.
    """
    actual = [(field.name, _plain(field.type)) for field in table.schema]
    declared = [(column.name, _stored_type(column.type)) for column in columns]
    if actual != declared:
        raise OracleError(f"{what}: the columns are {_text(actual)}, but declared are {_text(declared)}")
    # By position, not by name: rows as dictionaries would lose all but the last column of a repeated name.
    plain = (c.cast(pa.timestamp("us")) if c.type == INSTANT else c for c in table.columns)
    values = (
        [nested(value, c.type) for value in column.to_pylist()]
        if c.type.kind in NESTED
        else column.to_pylist()
        for column, c in zip(plain, columns, strict=True)
    )
    return tuple(zip(*values, strict=True))


def nested(value: Any, type_: SqlType) -> Value:
    """Returns a value of Arrow or DuckDB as the harness has it: lists and dictionaries become tuples."""
    parts = [part for _, part in type_.parts]
    match type_.kind, value:
        case Kind.ARRAY, list():
            return tuple(nested(element, parts[0]) for element in value)
        case Kind.STRUCT, dict():
            return tuple(map(nested, value.values(), parts))
        case Kind.VARIANT, dict():
            return json_text(value["metadata"], value["value"])
        case Kind.MAP, dict() | list():
            pairs = dict(value)
            return of_map({nested(key, parts[0]): nested(each, parts[1]) for key, each in pairs.items()})
        case _:
            plain: Value = value
            return plain


def _plain(type_: pa.DataType) -> pa.DataType:
    # Readers choose among three types (plain, large, view) of texts and of bytes freely.
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return pa.binary()
    # Names inside, and whether values inside may be NULL, are the writer's own.
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(_plain(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, _plain(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    return type_


def _text(fields: list[tuple[str, pa.DataType]]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in fields)
