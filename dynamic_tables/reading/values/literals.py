"""Constants: read from the text of a query, and converted between types without a loss.

A constant must be the same value to the engine and to Spark. So it is read here, once, by Spark's rules for
its type; a text that Python and Spark may read differently is refused.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Expr, Lit, text
from dynamic_tables.plan.types import (
    BIGINT,
    BINARY,
    DOUBLE,
    FLOAT,
    FLOATING,
    INT,
    INTEGRAL,
    MAX_PRECISION,
    STRING,
    TEMPORAL,
    TINYINT,
    Kind,
    Type,
    decimal,
)

PLAIN: Mapping[Kind, str] = {
    **dict.fromkeys(FLOATING, r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Infinity"),
    **dict.fromkeys(INTEGRAL, r"[+-]?\d+"),
    Kind.DATE: r"\d{4}-\d{2}-\d{2}",
    **dict.fromkeys(
        (Kind.TIMESTAMP_NTZ, Kind.TIMESTAMP), r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?)?"
    ),
}
"""The texts of constants that Python and Spark read as the same value; other texts are refused."""


def literal(node: exp.Expr) -> Lit:
    """Returns the constant of a literal in a query, typed as Spark types it. Raises DefinitionError."""
    value = str(node.this)
    if node.args.get("is_string"):
        return text(value)
    if value.isdigit():
        return integer(int(value))
    if "e" in value.lower():
        if math.isinf(float(value)):
            raise DefinitionError(f"literal {value} is larger than any DOUBLE")
        return Lit(float(value), DOUBLE)
    # 1.50 is a DECIMAL(3, 2): a number with a point and without an exponent is exact in Spark.
    exact = Decimal(value)
    scale = -int(exact.as_tuple().exponent)
    type_ = decimal(max(len(exact.as_tuple().digits), scale), scale)
    if type_ is None:
        raise DefinitionError(f"literal {value} has too many digits; a DECIMAL holds at most {MAX_PRECISION}")
    return Lit(exact, type_)


def binary(node: exp.Expr) -> Lit:
    """Returns the constant of a literal such as X'00ff'. Raises DefinitionError: an odd number of digits."""
    try:
        return Lit(bytes.fromhex(str(node.this)), BINARY)
    except ValueError as error:
        raise DefinitionError(f"X'{node.this}' is no BINARY: write two hexadecimal digits a byte") from error


def integer(number: int) -> Lit:
    """Returns an INT constant, or a BIGINT one if INT is too small. Raises DefinitionError."""
    for type_, bits in ((INT, 31), (BIGINT, 63)):
        if -(2**bits) <= number < 2**bits:
            return Lit(number, type_)
    raise DefinitionError(f"literal {number} is outside BIGINT; write a smaller number, or a DECIMAL")


def folded(constant: Lit, to: Type) -> Lit | None:
    """Returns NULL or an exact number as a constant of another type; None if its value would change."""
    match constant.value:
        case None:
            return Lit(None, to)
        case bool():
            # To Python, True is an int.
            return None
        case int() | Decimal():
            value = Decimal(constant.value)
            fits = value == round(value, to.scale) and abs(value) < Decimal(10) ** (to.precision - to.scale)
            return Lit(value, to) if fits else None
        case _:
            return None


def suffixed(constant: Lit, to: Type) -> Lit | None:
    """Returns the constant of a literal with a suffix, such as 2L or 0.5F; None if it is none.

    sqlglot reads 2L as CAST(2 AS BIGINT), and so on.
    """
    match constant.value:
        case bool():
            return None
        case int() if to.kind in INTEGRAL and _holds(to, constant.value):
            return Lit(constant.value, to)
        case int() | Decimal() if to == FLOAT:
            return Lit(nearest_float(Decimal(constant.value)), FLOAT)
        case _:
            return None


def _holds(type_: Type, number: int) -> bool:
    """Tells whether an integer type holds a number: TINYINT has 8 bits, each later type twice as many."""
    bound = int(2 ** (8 * 2 ** INTEGRAL.index(type_.kind) - 1))
    return -bound <= number < bound


def nearest_float(number: Decimal) -> float:
    """Returns the FLOAT nearest to a number; of two, the one with an even last bit, as Spark does.

    By way of a DOUBLE the number is rounded twice, which may miss by one bit. So the neighbours of that
    result are compared with the exact number. Raises DefinitionError: for too large a number.
    """
    try:
        (bits,) = struct.unpack("I", struct.pack("f", float(number.copy_abs())))
    except OverflowError as error:
        raise DefinitionError(f"{number} is larger than any FLOAT; write it as a DOUBLE") from error
    exact = Fraction(number.copy_abs())

    def distance(candidate: int) -> tuple[Fraction, int]:
        return abs(Fraction(_float_of(candidate)) - exact), candidate % 2

    near = [candidate for candidate in (bits - 1, bits, bits + 1) if 0 <= candidate < INFINITY_BITS]
    return math.copysign(_float_of(min(near, key=distance)), number)


INFINITY_BITS = 0x7F800000
"""The bits of a FLOAT that is infinite; those of finite positive ones are smaller."""


def _float_of(bits: int) -> float:
    """Returns the FLOAT of 32 bits."""
    value: float = struct.unpack("f", struct.pack("I", bits))[0]
    return value


def parsed(value: str, to: Type) -> Lit:
    """Returns a string constant cast to another type.

    Raises DefinitionError: for a string that is no value of the type.
    Raises UnsupportedError: for a type whose strings Python and Spark may read differently.
    """
    try:
        match to.kind:
            case kind if kind in PLAIN and not re.fullmatch(PLAIN[kind], value, re.ASCII):
                raise ValueError(value)
            case Kind.DOUBLE:
                return Lit(float(value), to)
            case Kind.FLOAT:
                finite = math.isfinite(float(value))
                return Lit(nearest_float(Decimal(value)) if finite else float(value), to)
            case kind if kind in INTEGRAL:
                number = int(value)
                if not _holds(to, number):
                    raise ValueError(value)
                return Lit(number, to)
            case Kind.DECIMAL if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", value, re.ASCII):
                exact = folded(Lit(Decimal(value), to), to)
                if exact is not None:
                    return exact
            case Kind.DATE:
                return Lit(dt.date.fromisoformat(value), to)
            case Kind.TIMESTAMP_NTZ | Kind.TIMESTAMP:
                return Lit(dt.datetime.fromisoformat(value), to)
            case Kind.BOOLEAN if value in ("true", "false"):
                return Lit(value == "true", to)
            case _:
                pass
    except ValueError as error:
        raise DefinitionError(f"{value!r} is no {to}") from error
    raise UnsupportedError(f"CAST('{value}' AS {to})", "not a plain literal of that type")


def beside_dates(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Returns the arguments of a comparison, with text constants read as a date or time beside one.

    Spark converts the text, not the date. Raises DefinitionError: for a text that is no date.
    """
    types = {arg.type for arg in args if arg.type != STRING}
    if len(types) != 1 or not {type_.kind for type_ in types} <= set(TEMPORAL):
        return args
    (type_,) = types
    return tuple(
        parsed(arg.value, type_) if isinstance(arg, Lit) and isinstance(arg.value, str) else arg
        for arg in args
    )


def beside_decimal(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Returns the arguments of arithmetic with the types that Spark gives to integer literals in it.

    Beside a DECIMAL, Spark gives an integer literal as many digits as it has, not the ten of an INT; one of
    TINYINT keeps its three (DecimalType.fromLiteral).
    """
    if not any(arg.type.kind is Kind.DECIMAL for arg in args):
        return args
    return tuple(
        Lit(Decimal(arg.value), Type(Kind.DECIMAL, max(1, len(str(abs(arg.value)))), 0))
        if isinstance(arg, Lit) and type(arg.value) is int and arg.type != TINYINT
        else arg
        for arg in args
    )
