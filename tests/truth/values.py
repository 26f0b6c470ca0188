"""Values in Spark's sense: order, equality, rounding, ranges, casts."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy

from workload.types import Kind, Row, SqlType, Value

EXACT = decimal.Context(prec=200, Emax=10_000, Emin=-10_000, rounding=decimal.ROUND_HALF_UP)
"""Wide enough that no decimal operation of the IR rounds before `rescale` says so."""


BOUNDS = {Kind.TINYINT: 2**7, Kind.SMALLINT: 2**15, Kind.INT: 2**31, Kind.BIGINT: 2**63}
"""Integers of a type are below this number, and not below minus it."""


ALIKE = {
    (Kind.FLOAT, Kind.DOUBLE),
    (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ),
    (Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP),
}
"""Casts that keep the Python value."""


class EvaluationError(Exception):
    """The query has no result: overflow, division by zero, a bad cast. Spark in ANSI mode raises too."""


def order_key(value: Any) -> Any:
    """A key that sorts the non-NULL values of a type as Spark does: NaN greatest, strings by UTF-8 bytes."""
    match value:
        case float():
            return (1, 0.0) if math.isnan(value) else (0, value)
        case str():
            return value.encode()
        case _:
            return value


def canonical(value: Value) -> Value:
    """One value for each class of equal ones: -0.0 is 0.0, and the NaN is a string that no double is."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    # Some drivers give arrays as lists.
    return tuple(map(canonical, value)) if isinstance(value, list | tuple) else value


def canonical_rows(rows: Iterable[Row]) -> list[Row]:
    """A bag as a list in a fixed order: two bags are equal when these lists are."""
    return sorted((tuple(canonical(v) for v in row) for row in rows), key=_row_order)


def _row_order(row: Row) -> list[tuple[bool, str]]:
    # Equal decimals may be written with different exponents (1.0 and 1.00).
    return [(v is not None, str(v.normalize(EXACT)) if isinstance(v, Decimal) else repr(v)) for v in row]


def fit(value: Value, type_: SqlType) -> Value:
    """The value in the exact form of its type: decimals rounded to the scale. Raises on overflow."""
    match type_.kind:
        case Kind.TINYINT | Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            bound = BOUNDS[type_.kind]
            if isinstance(value, int) and not -bound <= value < bound:
                raise EvaluationError(f"{value} overflows {type_}")
            return value
        case Kind.DECIMAL:
            return rescale(value, type_) if isinstance(value, Decimal) else value
        case Kind.FLOAT if isinstance(value, float):
            # The nearest value of 32 bits.
            return float(numpy.float32(value))
        case _:
            return value


def rescale(value: Decimal, type_: SqlType) -> Decimal:
    """The decimal at the type's scale, halves away from zero. Raises on overflow."""
    scaled = value.quantize(Decimal(1).scaleb(-type_.scale), context=EXACT)
    # `abs` would round to the digits of the usual context.
    if scaled.copy_abs() >= Decimal(10) ** (type_.precision - type_.scale):
        raise EvaluationError(f"{value} overflows {type_}")
    return scaled


def widen(value: Value, type_: SqlType) -> Value:
    """The value as Spark's implicit conversion to a common type gives it."""
    match type_.kind, value:
        case _, None:
            return None
        case Kind.FLOAT | Kind.DOUBLE, int() | Decimal():
            return float(value)
        case Kind.DECIMAL, int():
            return rescale(Decimal(value), type_)
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP, dt.date() if not isinstance(value, dt.datetime):
            return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001  # no zone is the type
        case _:
            return fit(value, type_)


def cast_value(value: Any, source: SqlType, target: SqlType) -> Value:
    """CAST in ANSI mode. Raises where Spark does, and for the casts the IR leaves out (DOUBLE to text)."""
    numeric = {*BOUNDS, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE}
    match source.kind, target.kind:
        case (a, b) if a is b or (a, b) in ALIKE:
            return fit(value, target)
        case Kind.DATE, Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP:
            return widen(value, target)
        case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP, Kind.DATE:
            date: dt.date = value.date()
            return date
        case Kind.STRING, _:
            return _parse(value.strip(), target)
        case (k, Kind.STRING) if k not in (Kind.FLOAT, Kind.DOUBLE, Kind.BINARY):
            return _text(value)
        case (Kind.BOOLEAN, k) if k in numeric:
            return widen(int(value), target)
        case (k, Kind.BOOLEAN) if k in numeric:
            return bool(value != 0)
        case (Kind.DECIMAL | Kind.FLOAT | Kind.DOUBLE, whole) if whole in BOUNDS:
            if not math.isfinite(value):
                raise EvaluationError(f"{value} overflows {target}")
            return fit(int(value), target)
        case (exact, k) if exact in {*BOUNDS, Kind.DECIMAL} and k in numeric:
            return widen(value, target)
        case _:
            raise EvaluationError(f"no rule for CAST({source} AS {target})")


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case dt.datetime():
            whole = value.strftime("%H:%M:%S")
            fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
            return f"{value.date().isoformat()} {whole}{fraction}"
        case _:
            return str(value)


def _parse(text: str, target: SqlType) -> Value:
    try:
        match target.kind:
            case kind if kind in BOUNDS:
                return fit(int(text), target)
            case Kind.DECIMAL:
                return rescale(Decimal(text), target)
            case Kind.DOUBLE:
                return float(text)
            case Kind.DATE:
                return dt.date.fromisoformat(text)
            case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP:
                return dt.datetime.fromisoformat(text)
            case Kind.BOOLEAN if text.lower() in ("true", "false"):
                return text.lower() == "true"
            case _:
                raise EvaluationError(f"{text!r} is no {target}")
    except (ValueError, decimal.InvalidOperation) as error:
        raise EvaluationError(f"{text!r} is no {target}") from error
