"""Constants: read from the text of a query, and converted between types without a loss."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from decimal import Decimal

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Expr, Lit, text
from dynamic_tables.plan.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    decimal,
)

PLAIN: Mapping[Kind, str] = {
    Kind.DOUBLE: r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Infinity",
    Kind.INT: r"[+-]?\d+",
    Kind.BIGINT: r"[+-]?\d+",
    Kind.DATE: r"\d{4}-\d{2}-\d{2}",
    Kind.TIMESTAMP_NTZ: r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?)?",
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
    exact = Decimal(value)
    scale = -int(exact.as_tuple().exponent)
    type_ = decimal(max(len(exact.as_tuple().digits), scale), scale)
    if type_ is None:
        raise DefinitionError(f"literal {value} has too many digits; a DECIMAL holds at most {MAX_PRECISION}")
    return Lit(exact, type_)


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
            return None
        case int() | Decimal():
            value = Decimal(constant.value)
            fits = value == round(value, to.scale) and abs(value) < Decimal(10) ** (to.precision - to.scale)
            return Lit(value, to) if fits else None
        case _:
            return None


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
            case Kind.INT | Kind.BIGINT:
                number = int(value)
                bits = 31 if to.kind is Kind.INT else 63
                if not -(2**bits) <= number < 2**bits:
                    raise ValueError(value)
                return Lit(number, to)
            case Kind.DECIMAL if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", value, re.ASCII):
                exact = folded(Lit(Decimal(value), to), to)
                if exact is not None:
                    return exact
            case Kind.DATE:
                return Lit(dt.date.fromisoformat(value), to)
            case Kind.TIMESTAMP_NTZ:
                return Lit(dt.datetime.fromisoformat(value), to)
            case Kind.BOOLEAN if value in ("true", "false"):
                return Lit(value == "true", to)
            case _:
                pass
    except ValueError as error:
        raise DefinitionError(f"{value!r} is no {to}") from error
    raise UnsupportedError(f"CAST('{value}' AS {to})", "not a plain literal of that type")


def beside_dates(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Returns the arguments of a comparison, with text constants read as DATE or TIMESTAMP_NTZ beside one.

    Spark converts the text, not the date. Raises DefinitionError: for a text that is no date.
    """
    types = {arg.type for arg in args if arg.type != STRING}
    if len(types) != 1 or not types <= {DATE, TIMESTAMP_NTZ}:
        return args
    (type_,) = types
    return tuple(
        parsed(arg.value, type_) if isinstance(arg, Lit) and isinstance(arg.value, str) else arg
        for arg in args
    )


def beside_decimal(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Returns the arguments of arithmetic with the types that Spark gives to integer literals in it.

    Beside a DECIMAL, Spark gives an integer literal as many digits as it has, not the ten of an INT.
    """
    if not any(arg.type.kind is Kind.DECIMAL for arg in args):
        return args
    return tuple(
        Lit(Decimal(arg.value), Type(Kind.DECIMAL, max(1, len(str(abs(arg.value)))), 0))
        if isinstance(arg, Lit) and type(arg.value) is int
        else arg
        for arg in args
    )
