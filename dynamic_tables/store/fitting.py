"""Rows in the types of the table that they are written to; others are refused before a file is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from dynamic_tables.definition import Columns
from dynamic_tables.errors import StoreError
from dynamic_tables.plan.types import INTEGRAL, Kind, Type
from dynamic_tables.store.names.catalog import parse_type
from dynamic_tables.store.names.texts import schema_of
from dynamic_tables.store.rows.arrow_rows import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def ensure_fits(name: str, frame: DataFrame, columns: Columns) -> None:
    """Raises StoreError for rows with a type in a column that loses digits in the type of the table `name`.

    Spark would cast them when it writes, and drop the digits without an error; a number that is too large is
    an error of Spark's. A nested type that differs is refused by Delta.
    """
    stored = _by_name(columns)
    for column, text in schema_of(frame):
        type_ = stored.get(column.lower())
        if type_ is not None and not _keeps_digits(parse_type(text), type_):
            raise _other_type(name, column, text, type_)


def as_stored(name: str, rows: pa.Table, columns: Columns) -> pa.Table:
    """Returns rows in the types in which the columns of the table `name` are stored.

    Raises StoreError: a value is none of its column's type.
    """
    stored = _by_name(columns)
    for place, field in enumerate(rows.schema):
        type_ = stored.get(field.name.lower())
        if type_ is None or field.type == arrow_type(type_):
            continue
        try:
            cast = rows.column(place).cast(arrow_type(type_))
        except pa.ArrowException as error:
            raise _other_type(name, field.name, str(field.type), type_) from error
        rows = rows.set_column(place, field.name, cast)
    return rows


def _keeps_digits(given: Type | None, stored: Type) -> bool:
    """Tells whether a cast from one type to another gives the same value, or an error."""
    if given is None or given == stored or stored.kind is Kind.OTHER:
        return given is not None
    match given.kind, stored.kind:
        case Kind.DECIMAL, Kind.DECIMAL:
            return given.scale <= stored.scale
        case kind, other if kind in INTEGRAL:
            return other in INTEGRAL or other is Kind.DECIMAL
        case pair:
            return pair == (Kind.FLOAT, Kind.DOUBLE)


def _by_name(columns: Columns) -> Mapping[str, Type]:
    """Returns the types of columns by name in lower case, as Spark compares names."""
    return {name.lower(): type_ for name, type_ in columns}


def _other_type(name: str, column: str, found: str, type_: Type) -> StoreError:
    """Returns the error of a value of type `found` for a column of type `type_`."""
    return StoreError(
        f"{name}: column {column} is of type {type_}, and a row for it has a value of type {found}; nothing "
        f'was written. `account.reinitialize("{name}")` writes the table anew'
    )
