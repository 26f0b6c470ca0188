"""Casts and literals as people write them where several values meet: Spark converts them by itself.

`CAST(i AS BIGINT) = b` is written `i = b`. Beside a DOUBLE the literal of 1.5 is written `1.5`, which is a
DECIMAL, and beside a DATE that of a date is a text.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from decimal import Decimal

from workload.coercion import common_type_of
from workload.query import Call, Expr, Literal
from workload.sql.functions import CASE, IN
from workload.types import BIGINT, BITS, DOUBLE, INT, STRING, Kind, SqlType, decimal
from workload.writing.literal import is_minus_zero

CALCULATING = frozenset({"add", "sub", "mul", "mod"})
"""Arithmetic, which takes its values in the type of its result if that is BIGINT or DOUBLE."""

COMPARING = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "same", "differs", "between", IN})
"""Functions of values of one type, whose result does not depend on that type."""

CHOOSING = frozenset({"coalesce", "greatest", "least", CASE})
"""Functions that return one of their values."""

CONVERTED = (*BITS, Kind.DECIMAL, Kind.FLOAT, Kind.DATE, Kind.TIMESTAMP_NTZ)
"""The kinds that Spark converts to another one by itself."""


ALIKE = (frozenset({*BITS, Kind.DECIMAL}), frozenset({Kind.FLOAT, Kind.DOUBLE}))
"""Kinds between which a conversion keeps the number, if it fits."""


def with_implied(call: Call, chance: Callable[[int], bool], kept: Collection[Expr] = ()) -> Call:
    """Returns the call without some of the casts that Spark makes itself, and with everyday literals.

    The meaning is the same. `chance` decides by a percentage. `kept`: arguments that stay as they are.
    """
    calculating = call.function in CALCULATING and call.type in (BIGINT, DOUBLE)
    if call.function not in COMPARING | CHOOSING and not calculating:
        return call
    places = _values(call)
    values = [call.args[place] for place in places]
    type_ = values[0].type
    if any(value.type != type_ for value in values) or not chance(60):
        return call
    comparing = call.function in COMPARING
    shorter = [
        _shorter(value, comparing or calculating) if chance(80) and value not in kept else value
        for value in values
    ]
    # Spark compares a value with each of its bounds; other functions bring all values to one type.
    meeting = [shorter[:2], [shorter[0], shorter[2]]] if call.function == "between" else [shorter]
    if not all(_means_the_same(together, type_, comparing) for together in meeting):
        return call
    args = list(call.args)
    for place, value in zip(places, shorter, strict=True):
        args[place] = value
    return replace(call, args=tuple(args))


def _values(call: Call) -> Sequence[int]:
    """Returns the places of the arguments that must meet in one type."""
    if call.function == CASE:
        return [*range(1, len(call.args) - 1, 2), len(call.args) - 1]
    return range(len(call.args))


def _shorter(value: Expr, literals: bool) -> Expr:
    """Returns a value without its cast, or a literal in everyday form, or else the value itself."""
    match value:
        case Call("cast", (inner,), _) if inner.type.kind in CONVERTED:
            return inner
        case Literal(constant, type_) if constant is not None and literals:
            return _everyday(constant, type_) or value
        case _:
            return value


def _everyday(constant: object, type_: SqlType) -> Literal | None:
    """Returns a literal in a form that has another type; None where there is no such form."""
    match constant:
        case bool():
            return None
        case int() if type_.kind is not Kind.INT and abs(constant) < 2**31:
            return Literal(constant, INT)
        case float() if math.isfinite(constant) and abs(constant) < 1000 and not is_minus_zero(constant):
            return _number(Decimal(constant))
        case Decimal():
            return _number(constant)
        case dt.datetime():
            return Literal(constant.isoformat(sep=" "), STRING)
        case dt.date():
            return Literal(constant.isoformat(), STRING)
        case _:
            return None


def _number(value: Decimal) -> Literal | None:
    """Returns a number without an exponent: an INT if whole, else a DECIMAL of as many digits as it has."""
    if value == value.to_integral_value():
        return Literal(int(value), INT) if abs(value) < 2**31 else None
    digits, exponent = len(value.as_tuple().digits), -int(value.as_tuple().exponent)
    return Literal(value, decimal(max(digits, exponent), exponent)) if digits <= 18 else None


def _means_the_same(values: Sequence[Expr], type_: SqlType, comparing: bool) -> bool:
    """Tells whether values meet in a type, or in another one in which they compare alike."""
    # A text beside a DATE becomes a DATE; texts alone would be compared as texts.
    types = tuple(value.type for value in values if value.type != STRING or type_ == STRING)
    meet = common_type_of(types) if types else None
    if meet == type_:
        return True
    # Numbers compare alike in every type that holds them all; DOUBLE rounds integers and decimals.
    return comparing and meet is not None and any({meet.kind, type_.kind} <= exact for exact in ALIKE)
