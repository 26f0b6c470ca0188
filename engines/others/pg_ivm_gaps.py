"""What pg_ivm 1.16 does not maintain, by its release notes and its own refusals: declared gaps, no failures.

Queries are first changed into similar ones that pg_ivm may accept (`amended`), because it accepts few random
ones; `gap` names what it still refuses. `engines.others.pg_ivm` declares both as its limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workload import query as ir
from workload.aggregates import FORMS
from workload.limits import Limits, Timestamps
from workload.operators import OPERATORS, SET_OPERATIONS, Operator
from workload.types import Kind

OUTER = (ir.JoinKind.LEFT, ir.JoinKind.RIGHT, ir.JoinKind.FULL)

STRICT = frozenset(
    "add sub mul mul_decimal neg abs mod concat upper lower trim length replace date_add datediff "
    "year month day cast".split()
)
"""Functions whose SQL text gives NULL if an argument is NULL; `substring`, rendered with CASE, does not."""

REJECTING = frozenset("eq ne lt le gt ge between like".split())
"""Predicates that are never true where an argument is NULL."""


def gap(query: ir.Query) -> str | None:
    """Returns why pg_ivm refuses a query although it supports each operator; None: pg_ivm accepts it."""
    top = _top(query)
    if top is None:
        return "a set operation (UNION or EXCEPT)"
    for block in ir.blocks(query):
        if block is not top and (block.distinct or block.group_by is not None):
            return "an aggregate or DISTINCT in a sub-query"
    outer = any(_outer_joins(block.source) for block in ir.blocks(query))
    return _aggregation_gap(top) or (_outer_gap(query, top) if outer else None)


def _top(query: ir.Query) -> ir.Select | None:
    while isinstance(query, ir.With):
        query = query.body
    return query if isinstance(query, ir.Select) else None


def _aggregation_gap(select: ir.Select) -> str | None:
    if select.having is not None:
        return "HAVING"
    items = [item.expr for item in select.items]
    if not set(select.group_by or ()) <= set(items):
        return "a GROUP BY expression that is not selected"
    for expr in items:
        aggregates = [part for part in ir.subexpressions(expr) if isinstance(part, ir.Aggregate)]
        if aggregates and not isinstance(expr, ir.Aggregate):
            return "an expression over an aggregate"
        for aggregate in aggregates:
            if aggregate.function in FORMS or aggregate.extra:
                return f"{aggregate.function.value}{' of several columns' * bool(aggregate.extra)}"
        if any(aggregate.distinct for aggregate in aggregates):
            return "an aggregate of DISTINCT values"
        averages = (aggregate for aggregate in aggregates if aggregate.function is ir.AggregateFunction.AVG)
        if any(average.type.kind is Kind.DECIMAL for average in averages):
            return "AVG of DECIMAL, whose text rounds the average"
        for kind in (Kind.BOOLEAN, Kind.BINARY):
            if any(aggregate.type.kind is kind for aggregate in aggregates):
                return f"MIN or MAX of {kind.value}"
    return None


def _outer_gap(query: ir.Query, top: ir.Select) -> str | None:
    if isinstance(query, ir.With) or any(isinstance(r, ir.Derived) for r in ir.relations_of(top.source)):
        return "an outer join with sub-queries"
    if top.group_by is not None:
        return "an outer join with aggregates"
    joined = list(ir.expressions_of(top.source))
    if not all(_simple(condition) for condition in joined):
        return "an outer join that is no simple equijoin"
    items = {item.expr for item in top.items}
    if not set(_columns(joined)) <= items:
        return "an outer join whose join columns are not selected"
    calls = (part for expr in items for part in ir.subexpressions(expr) if isinstance(part, ir.Call))
    if any(call.function not in STRICT for call in calls):
        return "an outer join that selects a function of NULL"
    if top.where is not None and not _rejecting(top.where):
        return "an outer join under a condition that may hold for NULL"
    return None


def _outer_joins(relation: ir.Relation) -> bool:
    return any(isinstance(part, ir.Join) and part.kind in OUTER for part in ir.relations_of(relation))


def _simple(condition: ir.Expr) -> bool:
    """Tells whether a condition is one equality of columns of two relations."""
    match condition:
        case ir.Call("eq", (ir.ColumnRef(one), ir.ColumnRef(two))):
            return one != two
        case _:
            return False


def _rejecting(condition: ir.Expr) -> bool:
    match condition:
        case ir.Call("and", args):
            return all(_rejecting(arg) for arg in args)
        case ir.Call(function, args) if function in REJECTING:
            return any(True for _ in _columns(args)) and all(_strict(arg) for arg in args)
        case _:
            return False


def _strict(expr: ir.Expr) -> bool:
    return all(part.function in STRICT for part in ir.subexpressions(expr) if isinstance(part, ir.Call))


def _columns(exprs: tuple[ir.Expr, ...] | list[ir.Expr]) -> Iterator[ir.ColumnRef]:
    for expr in exprs:
        yield from (part for part in ir.subexpressions(expr) if isinstance(part, ir.ColumnRef))


def amended(query: ir.Query) -> ir.Query:
    """Returns a similar query, with the same columns and perhaps more, that pg_ivm may accept."""
    match query:
        case ir.With(ctes, body):
            return ir.With(ctes, amended(body))
        case ir.SetOperation() | ir.Limited() | ir.Verbatim():
            return query
        case ir.Select():
            return _grouped(query) if query.group_by is not None else _joined(query)


def _grouped(select: ir.Select) -> ir.Select:
    """Returns a grouping without HAVING, with bare aggregates of all values, and with every key selected."""
    items = [ir.Item(_bare(item.expr), item.name) for item in select.items]
    return replace(select, items=_with(items, select.group_by or (), "g"), having=None)


def _joined(select: ir.Select) -> ir.Select:
    """Returns outer joins with one condition each, its columns selected, no WHERE that is true for NULL."""
    if not _outer_joins(select.source):
        return select
    source = _first_conditions(select.source)
    where = select.where if select.where is not None and _rejecting(select.where) else None
    items = _with(list(select.items), _columns(list(ir.expressions_of(source))), "j")
    return replace(select, items=items, source=source, where=where)


def _first_conditions(relation: ir.Relation) -> ir.Relation:
    match relation:
        case ir.Join(kind, left, right, ir.Call("and", (first, *_))):
            return _first_conditions(ir.Join(kind, left, right, first))
        case ir.Join(kind, left, right, on):
            return ir.Join(kind, _first_conditions(left), _first_conditions(right), on)
        case _:
            return relation


def _bare(expr: ir.Expr) -> ir.Expr:
    """Returns the aggregate in an expression, without DISTINCT; the expression if the types differ."""
    aggregate = next((part for part in ir.subexpressions(expr) if isinstance(part, ir.Aggregate)), None)
    return expr if aggregate is None or aggregate.type != expr.type else replace(aggregate, distinct=False)


def _with(
    items: list[ir.Item], wanted: Iterator[ir.ColumnRef] | tuple[ir.Expr, ...], prefix: str
) -> tuple[ir.Item, ...]:
    """Returns the items and one more, named `prefix` and a number, for each wanted expression they lack."""
    names = {item.name for item in items}
    for expr in wanted:
        if expr not in [item.expr for item in items]:
            name = next(f"{prefix}{n}" for n in range(len(items) + 1) if f"{prefix}{n}" not in names)
            names.add(name)
            items.append(ir.Item(expr, name))
    return tuple(items)


LIMITS = Limits(
    operators=OPERATORS
    - SET_OPERATIONS
    - {Operator.SEMI_JOIN, Operator.ANTI_JOIN, Operator.LIMIT, Operator.EXPLODE}
    - {Operator.WINDOW, Operator.GROUPING_SETS},
    timestamps=Timestamps.COMMIT,
    views=False,
    layered=False,
    rollbacks=True,
    stores=lambda value, type_: type_.kind is not Kind.STRING or "\x00" not in str(value),
    gap=gap,
    amend=amended,
)
