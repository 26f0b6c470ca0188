"""Spark's SQL types, and the type of a result where two types meet (Spark 4, ANSI mode)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """The kinds of types that a column of a dynamic table may have."""

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
    OTHER = "OTHER"
    """Any other type of Spark, such as ARRAY<INT>: its values pass through, Spark calculates."""


@dataclass(frozen=True, slots=True)
class Type:
    """A SQL type; precision and scale are 0 except for DECIMAL. `name`: Spark's, for a type of kind OTHER.

    Two of kind OTHER are equal if Spark takes their names for one: ARRAY<INT> and array<int>.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    name: str = field(default="", compare=False)
    _compared: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        if self.name:
            object.__setattr__(self, "_compared", re.sub(r"[`\s]", "", self.name).lower())

    @property
    def identifies(self) -> bool:
        """Whether values that are equal, and no others, have the same text, which a row id can hold."""
        return self.kind is not Kind.OTHER

    def __str__(self) -> str:
        if self.kind is Kind.OTHER:
            return self.name
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision},{self.scale})"
        return str(self.kind.value)


Columns = tuple[tuple[str, Type], ...]
"""Names and types of a relation's columns, in order."""

TINYINT = Type(Kind.TINYINT)
SMALLINT = Type(Kind.SMALLINT)
INT = Type(Kind.INT)
BIGINT = Type(Kind.BIGINT)
FLOAT = Type(Kind.FLOAT)
DOUBLE = Type(Kind.DOUBLE)
BOOLEAN = Type(Kind.BOOLEAN)
STRING = Type(Kind.STRING)
BINARY = Type(Kind.BINARY)
DATE = Type(Kind.DATE)
TIMESTAMP_NTZ = Type(Kind.TIMESTAMP_NTZ)
TIMESTAMP = Type(Kind.TIMESTAMP)
VARIANT = Type(Kind.OTHER, name="variant")
"""A value that carries its own type, such as a JSON document; Spark compares none with another."""

DURATION = Type(Kind.OTHER, name="interval day to second")
"""The distance of two times. No table holds one, but a query may compute with it."""

MAX_PRECISION = 38
INTEGRAL = (Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT)
"""From the narrowest to the widest: an operation on two of these has the type of the later one."""

FLOATING = frozenset({Kind.FLOAT, Kind.DOUBLE})
NUMERIC = FLOATING.union(INTEGRAL, {Kind.DECIMAL})
TEMPORAL = (Kind.DATE, Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP)
"""In the order in which they widen: the common type of two of these is the later one."""

DIGITS: Mapping[Kind, int] = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 20}
"""The digits that Spark gives an integer that meets a DECIMAL."""


def decimal(precision: int, scale: int) -> Type | None:
    """Returns DECIMAL(precision, scale); None where Spark would have to drop digits of the value."""
    if precision > MAX_PRECISION or scale > precision:
        return None
    return Type(Kind.DECIMAL, precision, scale)


def adjusted(precision: int, scale: int) -> Type:
    """Returns the type that Spark gives to the result of decimal arithmetic.

    Of more than 38 digits it drops some after the point, and keeps six (DecimalType.adjustPrecisionScale).
    """
    if precision <= MAX_PRECISION:
        return Type(Kind.DECIMAL, precision, scale)
    before_point = precision - scale
    return Type(Kind.DECIMAL, MAX_PRECISION, max(MAX_PRECISION - before_point, min(scale, 6)))


def as_decimal(type_: Type) -> Type | None:
    """Returns the decimal type that holds every value of an exact numeric type; None for other types."""
    match type_.kind:
        case kind if kind in DIGITS:
            return Type(Kind.DECIMAL, DIGITS[kind], 0)
        case Kind.DECIMAL:
            return type_
        case _:
            return None


def common(left: Type, right: Type) -> Type | None:
    """Returns the type that both sides take in COALESCE, CASE, UNION and comparisons; None if there is none.

    STRING has a common type only with STRING: Spark would cast it to a number, and fail at run time on the
    first value that is no number.
    """
    if left == right:
        return left
    kinds = {left.kind, right.kind}
    if kinds <= set(TEMPORAL):
        return max(left, right, key=lambda type_: TEMPORAL.index(type_.kind))
    if not kinds <= NUMERIC:
        return None
    if kinds & FLOATING:
        # FLOAT has too few digits for an INT: Spark takes DOUBLE for both.
        return DOUBLE
    if Kind.DECIMAL not in kinds:
        return max(left, right, key=lambda type_: INTEGRAL.index(type_.kind))
    first, second = as_decimal(left), as_decimal(right)
    if first is None or second is None:
        return None
    scale = max(first.scale, second.scale)
    return decimal(max(first.precision - first.scale, second.precision - second.scale) + scale, scale)


def common_of(types: tuple[Type, ...]) -> Type | None:
    """Returns the common type of one or more types; None if two of them have none."""
    result: Type | None = types[0]
    for type_ in types[1:]:
        result = None if result is None else common(result, type_)
    return result


def sum_type(type_: Type) -> Type | None:
    """Returns the type of SUM over a type (Spark adds ten digits to a DECIMAL); None if it has no SUM."""
    match type_.kind:
        case kind if kind in INTEGRAL:
            return BIGINT
        case Kind.FLOAT | Kind.DOUBLE:
            return DOUBLE
        case Kind.DECIMAL:
            return Type(Kind.DECIMAL, min(type_.precision + 10, MAX_PRECISION), type_.scale)
        case Kind.OTHER if type_ == DURATION:
            return type_
        case _:
            return None


def average_type(type_: Type) -> Type | None:
    """Returns the type of AVG over a type (Spark adds four digits to a DECIMAL); None if it has no AVG."""
    match type_.kind:
        case kind if kind in INTEGRAL or kind in FLOATING:
            return DOUBLE
        case Kind.DECIMAL:
            precision, scale = min(type_.precision + 4, MAX_PRECISION), min(type_.scale + 4, MAX_PRECISION)
            return Type(Kind.DECIMAL, precision, scale)
        case Kind.OTHER if type_ == DURATION:
            return type_
        case _:
            return None
