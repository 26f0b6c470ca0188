"""The type rules of Spark 4.2 (ANSI mode) for the functions and aggregates of the IR.

Written from Spark's documentation and from observation, independently of the generators, so that a
query in a test has the types that Spark will report. Decimal rules hold while no precision passes 38.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from workload.aggregates import PAIRED, STATISTICS
from workload.query import AggregateFunction, Expr, Literal
from workload.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    ESTIMATE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Kind,
    SqlType,
    array_of,
    decimal,
)

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "same", "differs", "between", "in", "like", "rlike")
LOGIC = ("and", "or", "not", "is_null", "is_not_null", "is_true", "is_false")
TEXTS = ("concat", "upper", "lower", "trim", "substring", "replace")
NUMBERS = ("length", "datediff", "year", "month", "day")
KEEPS_FIRST = ("neg", "abs", "nullif")
DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
WHOLE = list(DIGITS)
DATED = [DATE, TIMESTAMP_NTZ, TIMESTAMP]


class NoTypeRuleError(Exception):
    """The arguments have no common type, or the function no rule: Spark would refuse the query."""


def as_decimal(type_: SqlType) -> SqlType:
    """The decimal type that holds an integer type; a decimal type is itself."""
    return type_ if type_.kind is Kind.DECIMAL else decimal(DIGITS[type_], 0)


def common_type(types: Iterable[SqlType]) -> SqlType:
    """The type to which Spark brings the branches of CASE, the arguments of coalesce, both sides of `=`."""
    return reduce(_wider, types)


def _wider(left: SqlType, right: SqlType) -> SqlType:
    kinds = {left.kind, right.kind}
    if left == right:
        return left
    for order in (WHOLE, DATED):
        if left in order and right in order:
            return order[max(order.index(left), order.index(right))]
    for type_ in (left, right):
        if type_ not in (*WHOLE, FLOAT, DOUBLE) and type_.kind is not Kind.DECIMAL:
            raise NoTypeRuleError(f"no common type of {left} and {right}")
    if {Kind.FLOAT, Kind.DOUBLE} & kinds:
        return DOUBLE
    a, b = as_decimal(left), as_decimal(right)
    scale = max(a.scale, b.scale)
    return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def call_type(function: str, args: Sequence[Expr]) -> SqlType:
    """The type of a call. `cast` has none of its own: give it."""
    if function in COMPARISONS + LOGIC:
        return BOOLEAN
    if function in TEXTS:
        return STRING
    if function in NUMBERS:
        return INT
    if function in KEEPS_FIRST:
        return args[0].type
    match function:
        case "add" | "sub" | "mul" | "mul_decimal" | "mod":
            return arithmetic_type(function, *(_factor_type(arg, args) for arg in args))
        case "div" | "div_guarded":
            return DOUBLE
        case "coalesce" | "greatest" | "least":
            return common_type(arg.type for arg in args)
        case "array":
            return array_of(common_type(arg.type for arg in args))
        case "split":
            return array_of(STRING)
        case "case":
            return common_type(arg.type for arg in (*args[1::2], args[-1]))
        case "date_add":
            return DATE
        case _:
            raise NoTypeRuleError(f"no type rule for {function}")


def arithmetic_type(function: str, left: SqlType, right: SqlType) -> SqlType:
    """The type of `left op right`."""
    kinds = {left.kind, right.kind}
    if Kind.DECIMAL not in kinds or kinds & {Kind.FLOAT, Kind.DOUBLE}:
        return common_type((left, right))
    a, b = as_decimal(left), as_decimal(right)
    if function.startswith("mul"):
        return decimal(a.precision + b.precision + 1, a.scale + b.scale)
    scale = max(a.scale, b.scale)
    whole = a.precision - a.scale, b.precision - b.scale
    return decimal(min(whole) + scale, scale) if function == "mod" else decimal(max(whole) + scale + 1, scale)


def _factor_type(arg: Expr, args: Sequence[Expr]) -> SqlType:
    """A bare INT literal beside a decimal counts as the decimal of its own digits."""
    beside_decimal = any(other.type.kind is Kind.DECIMAL for other in args)
    if beside_decimal and isinstance(arg, Literal) and arg.type == INT and arg.value is not None:
        return decimal(len(str(abs(int(str(arg.value))))), 0)
    return arg.type


def aggregate_type(function: AggregateFunction, arg: SqlType) -> SqlType:
    """The type of an aggregate over an argument of a type."""
    match function:
        case AggregateFunction.COUNT | AggregateFunction.COUNT_STAR:
            return BIGINT
        case AggregateFunction.MIN | AggregateFunction.MAX:
            return arg
        case AggregateFunction.SUM if arg.kind is Kind.DECIMAL:
            return decimal(min(38, arg.precision + 10), arg.scale)
        case AggregateFunction.SUM:
            return DOUBLE if arg in (FLOAT, DOUBLE) else BIGINT
        case AggregateFunction.AVG if arg.kind is Kind.DECIMAL:
            return decimal(min(38, arg.precision + 4), min(38, arg.scale + 4))
        case AggregateFunction.AVG | AggregateFunction.PERCENTILE:
            return DOUBLE
        case AggregateFunction.COLLECT_LIST | AggregateFunction.COLLECT_SET:
            return array_of(arg)
        case AggregateFunction.LISTAGG:
            return STRING
        case function if function in STATISTICS | PAIRED:
            return ESTIMATE
        case _:
            return arg
