"""What the dialects spell differently below the level of functions: types and literals."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import assert_never

from workload.types import Kind, SqlType, Value


class Dialect(Enum):
    """The SQL dialects a query is rendered for."""

    SPARK = "spark"
    DUCKDB = "duckdb"
    POSTGRES = "postgres"


def type_name(type_: SqlType, dialect: Dialect) -> str:
    """The type's name; both types of timestamps are the plain TIMESTAMP of DuckDB and PostgreSQL."""
    if type_.kind is Kind.DECIMAL:
        return str(type_)
    return NAMES[dialect].get(type_.kind, type_.kind.value)


NAMES: Mapping[Dialect, Mapping[Kind, str]] = {
    Dialect.SPARK: {},
    Dialect.DUCKDB: {Kind.TIMESTAMP_NTZ: "TIMESTAMP", Kind.STRING: "VARCHAR", Kind.BINARY: "BLOB"},
    Dialect.POSTGRES: {
        Kind.TIMESTAMP_NTZ: "TIMESTAMP",
        Kind.STRING: "TEXT",
        Kind.BINARY: "BYTEA",
        Kind.TINYINT: "SMALLINT",
        Kind.FLOAT: "REAL",
        Kind.DOUBLE: "DOUBLE PRECISION",
    },
}
"""Names of types that are not spelled as in Spark."""


def literal(value: Value, type_: SqlType, dialect: Dialect) -> str:
    """A literal that has exactly the given type: bare numbers and NULL would take another one."""
    name = type_name(type_, dialect)
    match value:
        case None:
            return f"CAST(NULL AS {name})"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return _integer(value, type_, name)
        case float():
            return f"CAST('{double_text(value)}' AS {name})"
        case Decimal():
            return f"CAST({value:f} AS {name})"
        case str():
            text = string_literal(value, dialect)
            # Bare, it would have no type yet.
            return f"CAST({text} AS {name})" if dialect is Dialect.POSTGRES else text
        case bytes():
            return _binary(value, name, dialect)
        case dt.datetime():
            return f"{name} '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case _:
            assert_never(value)


def string_literal(text: str, dialect: Dialect) -> str:
    """A string literal. In Spark a backslash is an escape, and `${` would be replaced before parsing."""
    if dialect is not Dialect.SPARK:
        return _quoted(text)
    pieces = text.replace("\\", "\\\\").split("${")
    if len(pieces) == 1:
        return _quoted(pieces[0])
    first, *rest = pieces
    parts = [first + "$", *("{" + piece + "$" for piece in rest[:-1]), "{" + rest[-1]]
    return "(" + " || ".join(_quoted(part) for part in parts) + ")"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _integer(value: int, type_: SqlType, name: str) -> str:
    # The smallest value of a type cannot be written as minus its absolute value: that one overflows.
    if type_.kind is Kind.INT and value > -(2**31):
        return str(value) if value >= 0 else f"({value})"
    return f"CAST('{value}' AS {name})"


def _binary(value: bytes, name: str, dialect: Dialect) -> str:
    match dialect:
        case Dialect.SPARK:
            return f"X'{value.hex().upper()}'"
        case Dialect.DUCKDB:
            return f"unhex('{value.hex()}')"
        case Dialect.POSTGRES:
            return f"CAST('\\x{value.hex()}' AS {name})"
        case _:
            assert_never(dialect)


def double_text(value: float) -> str:
    """A DOUBLE or FLOAT as the engines write and read it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
