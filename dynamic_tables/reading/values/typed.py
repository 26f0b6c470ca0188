"""Calls, aggregates and casts with their types in Spark, or the error that says why Spark refuses them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError, UntypedError
from dynamic_tables.plan import types
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, walk
from dynamic_tables.plan.functions import CAST, CASTS, FUNCTIONS
from dynamic_tables.plan.nested_types import array_type
from dynamic_tables.reading.text.parse import parts
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.values.literals import beside_dates, beside_decimal, folded, parsed, suffixed

TYPES: Mapping[str, types.Type] = {
    **{
        type_.kind.value: type_
        for type_ in (
            types.TINYINT,
            types.SMALLINT,
            types.INT,
            types.BIGINT,
            types.FLOAT,
            types.DOUBLE,
            types.BOOLEAN,
            types.BINARY,
            types.DATE,
        )
    },
    "TEXT": types.STRING,
    "VARCHAR": types.STRING,
    "TIMESTAMPNTZ": types.TIMESTAMP_NTZ,
    "TIMESTAMPTZ": types.TIMESTAMP,
    # What sqlglot makes of timestamp(x) and to_timestamp(x).
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMPLTZ": types.TIMESTAMP,
}
"""sqlglot's names of types, except DECIMAL."""

HELD = (
    "TINYINT, SMALLINT, INT, BIGINT, DECIMAL(p,s), FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP "
    "or TIMESTAMP_NTZ"
)
"""The types that a CAST may name, as messages list them."""


COMPARISONS = frozenset(
    {"=", "<>", "<", "<=", ">", ">=", "is not distinct from", "is distinct from", "between"}
)
"""Functions that compare their arguments in one type."""


def to_type(node: exp.DataType) -> types.Type:
    """Returns the type of a CAST.

    Raises DefinitionError: for a type that dynamic tables do not hold. Raises UnsupportedError: for one with
    more than its name and parameters, such as a collation, by which texts that differ are equal.
    """
    for part in parts(node):
        if part not in ("this", "expressions", "nested"):
            raise UnsupportedError(f"CAST to {node.sql(SparkText)}", "no rule for such a type yet")
    name = node.this.name if isinstance(node.this, exp.DType) else str(node.this)
    if name == "DECIMAL":
        digits = [int(param.this.name) for param in node.expressions]
        precision, scale = (digits + [10, 0][len(digits) :])[:2]
        type_ = types.decimal(precision, scale)
        if type_ is not None:
            return type_
    if name == "ARRAY" and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.DataType):
        return array_type(to_type(node.expressions[0]))
    if name in TYPES:
        return TYPES[name]
    raise DefinitionError(f"type {node.sql(SparkText)} is not supported; use {HELD}")


def call(name: str, *args: Expr) -> Expr:
    """Returns a function applied to arguments. Raises DefinitionError: not defined for their types."""
    if name in ("+", "-", "*", "%"):
        args = beside_decimal(args)
    if name in COMPARISONS:
        args = beside_dates(args)
    result = FUNCTIONS[name].result(tuple(arg.type for arg in args))
    if result is None:
        shown = ", ".join(str(arg.type) for arg in args)
        if name == "-" and all(arg.type.kind in types.TEMPORAL for arg in args):
            raise UntypedError(
                f"({shown}): their difference is an INTERVAL; write datediff(..) or timestampdiff(SECOND, ..)"
            )
        raise UntypedError(f"{name} is not defined for ({shown}); cast the arguments to types that meet")
    return Fn(name, args, result)


def aggregate(name: str, arg: Expr, distinct: bool) -> Agg:
    """Returns an aggregate over an argument; MIN and MAX ignore DISTINCT, which cannot change them.

    Raises DefinitionError: if the aggregate is not defined for the argument's type.
    """
    match name:
        case "COUNT":
            return Agg(name, arg, distinct, types.BIGINT)
        case "SUM":
            type_ = types.sum_type(arg.type)
        case "AVG":
            type_ = types.average_type(arg.type)
        case "BOOL_AND" | "BOOL_OR":
            if arg.type == types.BOOLEAN:
                # FALSE is less than TRUE.
                return Agg("MIN" if name == "BOOL_AND" else "MAX", arg, False, types.BOOLEAN)
            type_ = None
        case _:
            type_, distinct = arg.type, False
    if type_ is None:
        raise DefinitionError(f"{name} is not defined for {arg.type}")
    return Agg(name, arg, distinct, type_)


def cast(arg: Expr, to: types.Type) -> Expr:
    """Returns a cast; constants are converted now, and a cast to the same type is no cast.

    Raises DefinitionError: for a string constant that is no value of the type.
    Raises UnsupportedError: for a cast that rounds, fails or prints differently from engine to engine.
    """
    if arg.type == to:
        return arg
    if isinstance(arg, Lit) and (arg.value is None or to.kind is types.Kind.DECIMAL):
        constant = folded(arg, to)
        if constant is not None:
            return constant
    if isinstance(arg, Lit) and (literal := suffixed(arg, to)) is not None:
        return literal
    if isinstance(arg, Lit) and isinstance(arg.value, str):
        return parsed(arg.value, to)
    if (
        arg.type == types.STRING
        and to.kind in types.TEMPORAL
        and not any(isinstance(p, Col) for p in walk(arg))
    ):
        raise UnsupportedError(f"CAST of a computed text AS {to}", "the text may stand for today")
    if to.kind not in CASTS.get(arg.type.kind, ()):
        raise UnsupportedError(
            f"CAST({arg.type} AS {to})", "rounds, fails or prints differently from engine to engine"
        )
    return Fn(CAST, (arg,), to)


def predicate(expr: Expr, clause: str) -> Expr:
    """Returns the expression of a clause if it is BOOLEAN. Raises DefinitionError otherwise."""
    if expr.type != types.BOOLEAN:
        raise DefinitionError(f"{clause} is of type {expr.type}; it must be BOOLEAN")
    return expr
