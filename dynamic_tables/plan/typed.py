"""Typed expressions by construction: calls, aggregates and casts, or the reason why they make no sense."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Expr, Fn, Lit
from dynamic_tables.plan.functions import CAST, CASTS, FUNCTIONS
from dynamic_tables.plan.parse import SparkText
from dynamic_tables.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGRAL,
    STRING,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    decimal,
    sum_type,
)

TYPES: Mapping[str, Type] = {
    "INT": INT,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "BOOLEAN": BOOLEAN,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "DATE": DATE,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ,
}


def to_type(node: exp.DataType) -> Type:
    """The type of a CAST or a column definition. Raises DefinitionError for one that no table may hold."""
    name = node.this.name if isinstance(node.this, exp.DType) else str(node.this)
    if name == "DECIMAL":
        digits = [int(param.this.name) for param in node.expressions]
        precision, scale = (digits + [10, 0][len(digits) :])[:2]
        type_ = decimal(precision, scale)
        if type_ is not None:
            return type_
    if name in TYPES:
        return TYPES[name]
    known = "INT, BIGINT, DECIMAL(p,s), DOUBLE, BOOLEAN, STRING, DATE or TIMESTAMP_NTZ"
    raise DefinitionError(f"type {node.sql(SparkText)} is not supported; use {known}")


def call(name: str, *args: Expr) -> Expr:
    """A function applied to typed arguments. Raises DefinitionError where it has none for their types."""
    if name in ("+", "-", "*", "%"):
        args = _exact_literals(args)
    result = FUNCTIONS[name].result(tuple(arg.type for arg in args))
    if result is None:
        shown = ", ".join(str(arg.type) for arg in args)
        raise DefinitionError(f"{name} is not defined for ({shown}); cast the arguments to types that meet")
    return Fn(name, args, result)


def aggregate(name: str, arg: Expr, distinct: bool) -> Agg:
    """An aggregate over a typed argument. Raises DefinitionError or UnsupportedError by its type."""
    match name:
        case "COUNT":
            return Agg(name, arg, distinct, BIGINT)
        case "SUM":
            type_ = sum_type(arg.type)
        case "AVG":
            if arg.type.kind is Kind.DECIMAL:
                raise UnsupportedError(
                    "AVG of DECIMAL", "its digits depend on the engine; use CAST(SUM(x) AS DOUBLE) / COUNT(x)"
                )
            type_ = DOUBLE if arg.type.kind in INTEGRAL | {Kind.DOUBLE} else None
        case _:
            type_ = arg.type
    if type_ is None:
        raise DefinitionError(f"{name} is not defined for {arg.type}")
    return Agg(name, arg, distinct, type_)


def cast(arg: Expr, to: Type) -> Expr:
    """A cast between types for which it means the same everywhere."""
    if arg.type == to:
        return arg
    if isinstance(arg, Lit) and (arg.value is None or to.kind is Kind.DECIMAL):
        folded = _fold_literal(arg, to)
        if folded is not None:
            return folded
    if isinstance(arg, Lit) and isinstance(arg.value, str):
        return _parse_literal(arg.value, to)
    if to.kind not in CASTS[arg.type.kind]:
        raise UnsupportedError(
            f"CAST({arg.type} AS {to})", "rounds, fails or prints differently from engine to engine"
        )
    return Fn(CAST, (arg,), to)


def _fold_literal(literal: Lit, to: Type) -> Lit | None:
    match literal.value:
        case None:
            return Lit(None, to)
        case bool():
            return None
        case int() | Decimal():
            value = Decimal(literal.value)
            fits = value == round(value, to.scale) and abs(value) < Decimal(10) ** (to.precision - to.scale)
            return Lit(value, to) if fits else None
        case _:
            return None


PLAIN: Mapping[Kind, str] = {
    Kind.DOUBLE: r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Infinity",
    Kind.INT: r"[+-]?\d+",
    Kind.BIGINT: r"[+-]?\d+",
    Kind.DATE: r"\d{4}-\d{2}-\d{2}",
    Kind.TIMESTAMP_NTZ: r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?)?",
}
"""How the text of a constant is written for Python to read it as Spark does, and in full."""


def _parse_literal(value: str, to: Type) -> Expr:
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


def _exact_literals(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    # Beside a DECIMAL, Spark gives an integer literal just the digits it has, not the ten of an INT.
    if not any(arg.type.kind is Kind.DECIMAL for arg in args):
        return args
    return tuple(
        Lit(Decimal(arg.value), Type(Kind.DECIMAL, max(1, len(str(abs(arg.value)))), 0))
        if isinstance(arg, Lit) and type(arg.value) is int
        else arg
        for arg in args
    )
