"""Rendering: IR to text. One tree, several dialects, no parsing."""

from __future__ import annotations

from typing import assert_never

from workload import query as ir
from workload.errors import WorkloadError
from workload.sql.averages import decimal_average
from workload.sql.dialect import Dialect, literal, type_name
from workload.sql.exploded import exploded_text
from workload.sql.functions import CASE, FUNCTIONS, IN
from workload.types import Kind, SqlType


def render_query(query: ir.Query, dialect: Dialect) -> str:
    """The text of a well-formed query (see `workload.scope`)."""
    match query:
        case ir.Select():
            return _select(query, dialect)
        case ir.SetOperation(branches):
            return f" {query.sql} ".join(f"({render_query(branch, dialect)})" for branch in branches)
        case ir.Limited(limited, order, count, offset):
            keys = ", ".join(map(_sort_key, order))
            after = f" OFFSET {offset}" if offset else ""
            return (
                f"SELECT * FROM ({render_query(limited, dialect)}) AS q ORDER BY {keys} LIMIT {count}{after}"
            )
        case ir.With(ctes, body):
            while isinstance(body, ir.With):
                # SQL allows no WITH right inside another; the CTEs of both are visible to the inner body.
                ctes, body = ctes + body.ctes, body.body
            named = ", ".join(f"{cte.name} AS ({render_query(cte.query, dialect)})" for cte in ctes)
            return f"WITH {named} {render_query(body, dialect)}"
        case _:
            assert_never(query)


def _sort_key(key: ir.SortKey) -> str:
    return f"{key.column} {'DESC NULLS LAST' if key.descending else 'ASC NULLS FIRST'}"


def _select(select: ir.Select, dialect: Dialect) -> str:
    items = ", ".join(f"{render_expr(item.expr, dialect)} AS {item.name}" for item in select.items)
    parts = [f"SELECT {'DISTINCT ' if select.distinct else ''}{items}"]
    parts.append(f"FROM {render_relation(select.source, dialect)}")
    if select.where is not None:
        parts.append(f"WHERE {render_expr(select.where, dialect)}")
    if select.group_by:
        parts.append("GROUP BY " + ", ".join(render_expr(key, dialect) for key in select.group_by))
    if select.having is not None:
        parts.append(f"HAVING {render_expr(select.having, dialect)}")
    return " ".join(parts)


def render_relation(relation: ir.Relation, dialect: Dialect) -> str:
    """The text of a FROM item; a join on the right side of a join gets parentheses."""
    match relation:
        case ir.Named(name, alias):
            return name if name == alias else f"{name} AS {alias}"
        case ir.Derived(query, alias):
            return f"({render_query(query, dialect)}) AS {alias}"
        case ir.Join(kind, left, right, on):
            right_text = render_relation(right, dialect)
            if isinstance(right, ir.Join | ir.Exploded):
                right_text = f"({right_text})"
            condition = "" if on is None else f" ON {render_expr(on, dialect)}"
            return f"{render_relation(left, dialect)} {kind.value} {right_text}{condition}"
        case ir.Exploded(inner, array, _, _, _):
            texts = render_relation(inner, dialect), render_expr(array, dialect)
            return exploded_text(relation, *texts, dialect)
        case _:
            assert_never(relation)


def render_expr(expr: ir.Expr, dialect: Dialect) -> str:
    """The text of an expression, always safe to put beside an operator."""
    match expr:
        case ir.ColumnRef(relation, name, _):
            return f"{relation}.{name}"
        case ir.Literal(value, type_):
            return literal(value, type_, dialect)
        case ir.Call():
            return _call(expr, dialect)
        case ir.Aggregate():
            return _aggregate(expr, dialect)
        case _:
            assert_never(expr)


TYPED = frozenset({"cast", "mul_decimal"})
"""Functions whose DuckDB text casts by itself."""


def _call(call: ir.Call, dialect: Dialect) -> str:
    text = _call_text(call, dialect)
    if dialect is Dialect.DUCKDB and call.type.kind is Kind.DECIMAL and call.function not in TYPED:
        # Where decimals meet integers DuckDB gives other widths than Spark; the values agree.
        return f"CAST({text} AS {call.type})"
    return text


def _call_text(call: ir.Call, dialect: Dialect) -> str:
    args = [render_expr(arg, dialect) for arg in call.args]
    if call.function == CASE:
        branches = "".join(f" WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
        return f"(CASE{branches} ELSE {args[-1]} END)"
    if call.function == IN:
        return f"({args[0]} IN ({', '.join(args[1:])}))"
    function = FUNCTIONS.get(call.function)
    if function is None:
        raise WorkloadError(f"no function {call.function!r}; see workload.sql.functions")
    fields: dict[str, str] = {"type": type_name(call.type, dialect), "args": ", ".join(args)}
    if call.function == "mul_decimal":
        fields["widened0"] = type_name(widened(call), dialect)
    return function.template(dialect).format(*args, **fields)


def widened(call: ir.Call) -> SqlType:
    """The left factor's type at the precision of the product and its own scale."""
    return SqlType(Kind.DECIMAL, call.type.precision, call.args[0].type.scale)


def _aggregate(aggregate: ir.Aggregate, dialect: Dialect) -> str:
    if aggregate.function is ir.AggregateFunction.COUNT_STAR or aggregate.arg is None:
        return "COUNT(*)"
    distinct = "DISTINCT " if aggregate.distinct else ""
    arg = render_expr(aggregate.arg, dialect)
    average = aggregate.function is ir.AggregateFunction.AVG and aggregate.type.kind is not Kind.DECIMAL
    if dialect is Dialect.POSTGRES and average:
        # PostgreSQL averages integers and decimals as NUMERIC, rounded to some digits.
        arg = f"CAST({arg} AS DOUBLE PRECISION)"
    if aggregate.function is ir.AggregateFunction.AVG and aggregate.type.kind is Kind.DECIMAL:
        if dialect is Dialect.DUCKDB:
            return decimal_average(arg, aggregate.arg.type, aggregate.type, distinct)
        if dialect is Dialect.POSTGRES:
            return f"CAST(round(AVG({distinct}{arg}), {aggregate.type.scale}) AS {aggregate.type})"
    name = aggregate.function.value
    if dialect is Dialect.POSTGRES and aggregate.type.kind is Kind.BOOLEAN:
        # PostgreSQL orders booleans, and yet has no MIN and MAX of them.
        name = {"MIN": "bool_and", "MAX": "bool_or"}.get(name, name)
    text = f"{name}({distinct}{arg})"
    if dialect is Dialect.DUCKDB and aggregate.function is ir.AggregateFunction.SUM:
        # DuckDB sums integers as HUGEINT and decimals at 38 digits.
        return f"CAST({text} AS {type_name(aggregate.type, dialect)})"
    return text
