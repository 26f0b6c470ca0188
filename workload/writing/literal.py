"""Literals in the forms that people write in Spark's SQL; each has exactly the given type."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal

from workload.sql.dialect import Dialect, literal, type_name
from workload.types import BITS, Kind, SqlType, Value

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;_-+|")
"""Characters that mean themselves between any quotes."""

SUFFIXES = {Kind.TINYINT: "Y", Kind.SMALLINT: "S", Kind.INT: "", Kind.BIGINT: "L"}


def written_literal(
    value: Value, type_: SqlType, chance: Callable[[int], bool], words: Callable[[str], str]
) -> str:
    """Returns a literal; `chance` decides by a percentage, and `words` gives keywords their case."""
    usual = literal(value, type_, Dialect.SPARK)
    if chance(40):
        return usual
    match value:
        case None:
            return f"{words('NULL')}::{type_name(type_, Dialect.SPARK)}"
        case bool():
            return words(usual)
        case int() if value > -(2 ** (BITS[type_.kind] - 1)):
            return f"{value}{words(SUFFIXES[type_.kind])}"
        case float() if type_.kind is Kind.FLOAT:
            return f"{value!r}{words('F')}" if math.isfinite(value) and not is_minus_zero(value) else usual
        case float() if math.isfinite(value) and not is_minus_zero(value):
            return f"{value!r}{words('D')}" if chance(50) else f"{value:.17e}"
        case Decimal() if _is_bare(value, type_):
            return f"{value:f}"
        case Decimal():
            return f"'{value:f}'::{type_}" if value < 0 else f"{value:f}::{type_}"
        case str() if set(value) <= PLAIN and chance(30):
            return f'"{value}"'
        case dt.date() if type_.kind is Kind.DATE and chance(50):
            return f"'{value.isoformat()}'::{words('DATE')}"
        case _:
            return usual


def _is_bare(value: Decimal, type_: SqlType) -> bool:
    """Tells whether a DECIMAL with exactly these digits is of the type: `1.50` is a DECIMAL(3,2)."""
    scale = -int(value.as_tuple().exponent)
    return scale > 0 and type_.scale == scale and type_.precision == max(len(value.as_tuple().digits), scale)


def is_minus_zero(value: float) -> bool:
    """Tells whether a number is -0.0, which is written in another way than 0."""
    return value == 0 and math.copysign(1, value) < 0
