"""The plain aggregates (COUNT, SUM, AVG, MIN, MAX, BOOL_AND, BOOL_OR), with FILTER, as they are written."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.reading.text.parse import parts

AGGREGATES: Mapping[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.LogicalAnd: "BOOL_AND",
    exp.LogicalOr: "BOOL_OR",
}
"""The aggregates, by their syntax."""


def aggregate_of(node: exp.Expr) -> tuple[str, exp.Expr] | None:
    """Returns the name of an aggregate and its syntax without FILTER; None for any other expression.

    FILTER and COUNT_IF become an aggregate over a value that is NULL in the rows that do not count:
    `SUM(x) FILTER (WHERE p)` is `SUM(CASE WHEN p THEN x END)`.
    Raises UnsupportedError: for FILTER after an aggregate that is not in the registry.
    """
    match node:
        case exp.Filter():
            pair = aggregate_of(node.this)
            if pair is None:
                raise UnsupportedError("aggregate with FILTER")
            name, inner = pair
            return name, _only_where(inner, node.expression.this)
        case exp.CountIf():
            if isinstance(node.this, exp.Distinct) or node.expressions:
                raise UnsupportedError("COUNT_IF of DISTINCT or several values")
            return "COUNT", _only_where(exp.Count(this=exp.Star()), node.this)
        case _:
            name = AGGREGATES.get(type(node), "")
            return (name, node) if name else None


def _only_where(aggregate: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """Returns an aggregate over its value where a condition holds, and over NULL elsewhere."""
    counted = aggregate.this
    listed = counted.expressions if isinstance(counted, exp.Distinct) else [counted]
    stars = [value for value in listed if isinstance(value, exp.Star) or value.is_star]
    plain = isinstance(aggregate, exp.Count) and isinstance(counted, exp.Star) and not any(parts(counted))
    if aggregate.expressions or len(listed) != 1 or (stars and not plain):
        raise UnsupportedError("FILTER after an aggregate of several columns")
    value = exp.Literal.number(1) if isinstance(counted, exp.Star) else counted
    distinct = isinstance(value, exp.Distinct)
    if distinct and len(value.expressions) == 1:
        value = value.expressions[0]
    kept = exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])
    return type(aggregate)(this=exp.Distinct(expressions=[kept]) if distinct else kept)
