"""SQL types and the Python values that stand for them."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import assert_never

from workload.errors import WorkloadError


class Kind(Enum):
    """The families of types; each is exactly comparable between Spark and DuckDB."""

    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    DECIMAL = "DECIMAL"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    TIMESTAMP = "TIMESTAMP"
    """An instant. All sessions are in UTC, so its value is the UTC date and time, without a zone."""


@dataclass(frozen=True, slots=True)
class SqlType:
    """One SQL type. `precision` and `scale` count decimal digits and are 0 except for DECIMAL."""

    kind: Kind
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision},{self.scale})"
        name: str = self.kind.value
        return name


TINYINT = SqlType(Kind.TINYINT)
SMALLINT = SqlType(Kind.SMALLINT)
INT = SqlType(Kind.INT)
BIGINT = SqlType(Kind.BIGINT)
FLOAT = SqlType(Kind.FLOAT)
DOUBLE = SqlType(Kind.DOUBLE)
BOOLEAN = SqlType(Kind.BOOLEAN)
STRING = SqlType(Kind.STRING)
BINARY = SqlType(Kind.BINARY)
DATE = SqlType(Kind.DATE)
TIMESTAMP_NTZ = SqlType(Kind.TIMESTAMP_NTZ)
TIMESTAMP = SqlType(Kind.TIMESTAMP)

BITS: Mapping[Kind, int] = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}
"""The kinds of integers, narrowest first, with their binary digits, the sign included."""

MAX_DECIMAL_PRECISION = 38

type_pattern = re.compile(r"^(?P<kind>[A-Z_]+)(?:\((?P<precision>\d{1,4}),\s*(?P<scale>\d{1,4})\))?$")


def decimal(precision: int, scale: int) -> SqlType:
    """DECIMAL(precision, scale). Raises WorkloadError where SQL allows no such type."""
    if not (0 <= scale <= precision and 1 <= precision <= MAX_DECIMAL_PRECISION):
        raise WorkloadError(
            f"no such type: DECIMAL({precision},{scale}); use 1 <= precision <= 38, scale <= precision"
        )
    return SqlType(Kind.DECIMAL, precision, scale)


def parse_type(text: str) -> SqlType:
    """The type written as `str(type)` writes it; case does not matter. Raises WorkloadError."""
    match = type_pattern.match(text.strip().upper())
    names = {kind.value: kind for kind in Kind}
    if match is None or match["kind"] not in names:
        raise WorkloadError(f"unknown type {text!r}; known: {', '.join(names)}")
    kind = names[match["kind"]]
    if (match["precision"] is not None) != (kind is Kind.DECIMAL):
        raise WorkloadError(f"type {text!r}: only DECIMAL takes (precision, scale), and it needs both")
    return decimal(int(match["precision"]), int(match["scale"])) if kind is Kind.DECIMAL else SqlType(kind)


Value = None | bool | int | float | Decimal | str | bytes | dt.date | dt.datetime
Row = tuple[Value, ...]


def fits(value: Value, type_: SqlType) -> bool:
    """Whether the value is NULL or of the Python type (and range) that stands for the SQL type."""
    if value is None:
        return True
    match type_.kind:
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            bound = 2 ** (BITS[type_.kind] - 1)
            return type(value) is int and -bound <= value < bound
        case Kind.DECIMAL:
            return isinstance(value, Decimal) and value.is_finite() and _digits_fit(value, type_)
        case Kind.FLOAT:
            return type(value) is float and _fits_float(value)
        case Kind.DOUBLE:
            return type(value) is float
        case Kind.BOOLEAN:
            return type(value) is bool
        case Kind.STRING:
            return type(value) is str and _encodable(value)
        case Kind.BINARY:
            return type(value) is bytes
        case Kind.DATE:
            return type(value) is dt.date
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP:
            return type(value) is dt.datetime and value.tzinfo is None
        case _:
            assert_never(type_.kind)


def to_float(value: float) -> float:
    """The FLOAT nearest to a number. Raises OverflowError: it is finite and larger than any FLOAT."""
    nearest: float = struct.unpack("f", struct.pack("f", value))[0]
    return nearest


def _fits_float(value: float) -> bool:
    try:
        return math.isnan(value) or to_float(value) == value
    except OverflowError:
        return False


def _encodable(value: str) -> bool:
    # A lone surrogate is a Python string, but no text that any engine could store.
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _digits_fit(value: Decimal, type_: SqlType) -> bool:
    # Counted on the digits themselves: decimal arithmetic rounds to the context's precision.
    sign_less = value.copy_abs()
    exponent = int(sign_less.as_tuple().exponent)
    digits = "".join(map(str, sign_less.as_tuple().digits)).lstrip("0")
    if not digits:
        return True
    needed_scale = max(0, -exponent - (len(digits) - len(digits.rstrip("0"))))
    return needed_scale <= type_.scale and len(digits) + exponent <= type_.precision - type_.scale
