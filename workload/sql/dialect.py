"""The spelling of names, types and literals in each dialect; that of functions is in `functions`."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, assert_never

from workload.errors import WorkloadError
from workload.keywords import KEYWORDS, PLAIN_NAME
from workload.types import NESTED, SCALAR, TYPE_WORDS, Kind, SqlType, Value


class Dialect(Enum):
    """The SQL dialects a query is rendered for."""

    SPARK = "spark"
    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SQLITE = "sqlite"
    MYSQL = "mysql"
    """What MariaDB reads too, in a session whose text is compared by code points, and whose UPDATE gives all
    columns their values at once (`SIMULTANEOUS_ASSIGNMENT`)."""
    ANSI = "ansi"
    """The SQL standard, as far as PostgreSQL and DuckDB give one text the same meaning."""
    FLINK = "flink"
    """Flink SQL: queries over streams. Base tables are streams of changes, which no statement writes to."""


STANDARD = (Dialect.ANSI, Dialect.FLINK)
"""The SQL standard, and what is written as there where nothing else is said."""


def column_name(name: str, dialect: Dialect) -> str:
    """Returns the name of a column as a text writes it: in quotes where it is no plain word."""
    if PLAIN_NAME.fullmatch(name) and name not in KEYWORDS:
        return name
    mark = "`" if dialect in (Dialect.SPARK, Dialect.MYSQL, Dialect.FLINK) else '"'
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"


@cache
def type_name(type_: SqlType, dialect: Dialect) -> str:
    """Returns a type's name in a CAST; in DuckDB and PostgreSQL both timestamps are the plain TIMESTAMP."""
    if dialect in WHOLE and type_.kind not in NAMES[dialect]:
        raise WorkloadError(f"type {type_} has no name in the dialect {dialect.value}")
    if type_.kind is Kind.DECIMAL:
        return str(type_)
    if type_.kind in NESTED:
        return _nested_name(type_, dialect)
    return NAMES[dialect].get(type_.kind, type_.kind.value)


def _nested_name(type_: SqlType, dialect: Dialect) -> str:
    names = [(_field(name, dialect), type_name(part, dialect)) for name, part in type_.parts]
    match dialect, type_.kind:
        case Dialect.SPARK, Kind.VARIANT:
            return "VARIANT"
        case Dialect.DUCKDB, Kind.VARIANT:
            return "JSON"
        case Dialect.SPARK, Kind.STRUCT:
            return f"STRUCT<{', '.join(f'{name}: {part}' for name, part in names)}>"
        case Dialect.SPARK, _:
            return f"{type_.kind.value}<{', '.join(part for _, part in names)}>"
        case Dialect.DUCKDB, Kind.STRUCT:
            return f"STRUCT({', '.join(f'{name} {part}' for name, part in names)})"
        case Dialect.DUCKDB, Kind.MAP:
            return f"MAP({', '.join(part for _, part in names)})"
        case (Dialect.DUCKDB, _) | (Dialect.POSTGRES, Kind.ARRAY):
            return f"{names[0][1]}[]"
        case _:
            raise WorkloadError(f"type {type_} has no name in the dialect {dialect.value}")


def _field(name: str, dialect: Dialect) -> str:
    """Returns the name of a field as it stands in a type: a word of SQL is in quotes."""
    quote = "`" if dialect is Dialect.SPARK else '"'
    return f"{quote}{name}{quote}" if name in KEYWORDS or name in TYPE_WORDS else name


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
    # SQLite has five types of values: booleans are the numbers 0 and 1, and there is no date and no decimal.
    Dialect.SQLITE: {
        **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.BOOLEAN), "INTEGER"),
        **dict.fromkeys((Kind.FLOAT, Kind.DOUBLE), "REAL"),
        Kind.STRING: "TEXT",
        Kind.BINARY: "BLOB",
    },
    # Dates of MySQL begin in the year 1000, its DECIMAL has other digits after a division.
    Dialect.MYSQL: {
        **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.BOOLEAN), "SIGNED"),
        Kind.DOUBLE: "DOUBLE",
        Kind.STRING: "CHAR",
    },
    # The standard has no TINYINT, and PostgreSQL not its VARBINARY.
    Dialect.ANSI: {
        **{kind: kind.value for kind in (Kind.SMALLINT, Kind.BIGINT, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE)},
        **dict.fromkeys((Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP), "TIMESTAMP"),
        Kind.INT: "INTEGER",
        Kind.FLOAT: "REAL",
        Kind.DOUBLE: "DOUBLE PRECISION",
        Kind.STRING: "VARCHAR",
    },
    # Arrays, maps and rows it has, too; nobody has measured them.
    Dialect.FLINK: {
        **{kind: kind.value for kind in SCALAR},
        **dict.fromkeys((Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP), "TIMESTAMP(6)"),
        Kind.BINARY: "BYTES",
    },
}
"""Names of types that are not spelled as in Spark."""

WHOLE = (Dialect.SQLITE, Dialect.MYSQL, *STANDARD)
"""The dialects that have no other types than those in NAMES."""


def column_type(type_: SqlType, dialect: Dialect) -> str:
    """Returns the type's name in CREATE TABLE: MySQL casts to other names than its columns have."""
    name = type_name(type_, dialect)
    if dialect is not Dialect.MYSQL:
        return name
    return "LONGTEXT" if type_.kind is Kind.STRING else type_.kind.value


def literal(value: Value, type_: SqlType, dialect: Dialect) -> str:
    """Returns a literal that has exactly the given type: bare numbers and NULL would take another one."""
    name = type_name(type_, dialect)
    match value:
        case None:
            return f"CAST(NULL AS {name})"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return _integer(value, type_, name)
        case float():
            if dialect is Dialect.SQLITE:
                # It reads no number from the text Infinity, and others inexactly.
                return f"({double_text(value).replace('Infinity', '9e999')})"
            return f"CAST('{double_text(value)}' AS {name})"
        case Decimal():
            return f"CAST({value:f} AS {name})"
        case str():
            return _text(value, type_, name, dialect)
        case bytes():
            return _binary(value, name, dialect)
        case dt.datetime():
            return _moment(value, name, dialect)
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case tuple():
            return f"CAST({_nested(value, type_, dialect)} AS {name})"
        case _:
            assert_never(value)


def _moment(value: dt.datetime, name: str, dialect: Dialect) -> str:
    text = _quoted(value.isoformat(sep=" "))
    # In Flink a literal has the digits that are written, and no others can be asked for.
    return f"CAST(TIMESTAMP {text} AS {name})" if dialect is Dialect.FLINK else f"{name} {text}"


def _text(value: str, type_: SqlType, name: str, dialect: Dialect) -> str:
    text = string_literal(value, dialect)
    if type_.kind is Kind.VARIANT and dialect is Dialect.SPARK:
        return f"parse_json({text})"
    # Bare, it would have no type yet, or in the standard one of a fixed length.
    untyped = dialect is Dialect.POSTGRES or dialect in STANDARD
    return f"CAST({text} AS {name})" if untyped or type_.kind is Kind.VARIANT else text


def _nested(value: tuple[Any, ...], type_: SqlType, dialect: Dialect) -> str:
    types = [part for _, part in type_.parts]
    spark = dialect is Dialect.SPARK
    match type_.kind:
        case Kind.STRUCT:
            fields = [
                (name, literal(field, part, dialect))
                for field, (name, part) in zip(value, type_.parts, strict=True)
            ]
            if spark:
                return f"named_struct({', '.join(f'{_quoted(name)}, {text}' for name, text in fields)})"
            return f"{{{', '.join(f'{_quoted(name)}: {text}' for name, text in fields)}}}"
        case Kind.MAP:
            pairs = [
                (literal(key, types[0], dialect), literal(each, types[1], dialect)) for key, each in value
            ]
            if spark:
                return f"map({', '.join(f'{key}, {each}' for key, each in pairs)})"
            return f"MAP {{{', '.join(f'{key}: {each}' for key, each in pairs)}}}"
        case _:
            elements = ", ".join(literal(element, types[0], dialect) for element in value)
            if dialect is Dialect.POSTGRES:
                return f"ARRAY[{elements}]"
            return f"array({elements})" if spark else f"[{elements}]"


def string_literal(text: str, dialect: Dialect) -> str:
    """Returns a string literal. In Spark a backslash is an escape, and `${` is replaced before parsing."""
    if dialect is Dialect.MYSQL:
        return _quoted(text.replace("\\", "\\\\").replace("\0", "\\0"))
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
        case Dialect.SPARK | Dialect.SQLITE:
            return f"X'{value.hex().upper()}'"
        case Dialect.DUCKDB:
            return f"unhex('{value.hex()}')"
        case Dialect.FLINK:
            return f"CAST(X'{value.hex().upper()}' AS {name})"
        case Dialect.POSTGRES:
            return f"CAST('\\x{value.hex()}' AS {name})"
        case Dialect.MYSQL | Dialect.ANSI:
            raise WorkloadError(f"BINARY has no text in {dialect.value}")
        case _:
            assert_never(dialect)


def double_text(value: float) -> str:
    """Returns a DOUBLE or FLOAT as the engines write and read it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
