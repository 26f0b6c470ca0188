"""What pg_ivm 1.16 does not maintain, by its release notes and its own refusals: declared gaps, no failures.

Queries are first changed into similar ones that pg_ivm may accept (`amended`), because it accepts few random
ones; `gap` names what it still refuses. `engines.others.pg_ivm` declares both as its limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workload.aggregates import FORMS
from workload.limits import Limits, Timestamps
from workload.operators import OPERATORS, SET_OPERATIONS, Operator
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Derived,
    Expr,
    Item,
    Join,
    JoinKind,
    Limited,
    Query,
    Relation,
    Select,
    SetOperation,
    Verbatim,
    With,
    blocks,
    expressions_of,
    relations_of,
    subexpressions,
)
from workload.types import Kind

OUTER = (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL)

STRICT = frozenset(
    "add sub mul mul_decimal neg abs mod concat upper lower trim length replace date_add datediff "
    "year month day cast".split()
)
"""Functions whose SQL text gives NULL if an argument is NULL; `substring`, rendered with CASE, does not."""

REJECTING = frozenset("eq ne lt le gt ge between like".split())
"""Predicates that are never true where an argument is NULL."""


def gap(query: Query) -> str | None:
    """Returns why pg_ivm refuses a query although it supports each operator; None: pg_ivm accepts it."""
    top = _top(query)
    if top is None:
        return "a set operation (UNION or EXCEPT)"
    for block in blocks(query):
        if block is not top and (block.distinct or block.group_by is not None):
            return "an aggregate or DISTINCT in a sub-query"
    outer = any(_outer_joins(block.source) for block in blocks(query))
    return _aggregation_gap(top) or (_outer_gap(query, top) if outer else None)


def _top(query: Query) -> Select | None:
    while isinstance(query, With):
        query = query.body
    return query if isinstance(query, Select) else None


def _aggregation_gap(select: Select) -> str | None:
    if select.having is not None:
        return "HAVING"
    items = [item.expr for item in select.items]
    if not set(select.group_by or ()) <= set(items):
        return "a GROUP BY expression that is not selected"
    for expr in items:
        aggregates = [part for part in subexpressions(expr) if isinstance(part, Aggregate)]
        if aggregates and not isinstance(expr, Aggregate):
            return "an expression over an aggregate"
        for aggregate in aggregates:
            if aggregate.function in FORMS or aggregate.extra:
                return f"{aggregate.function.value}{' of several columns' * bool(aggregate.extra)}"
        if any(aggregate.distinct for aggregate in aggregates):
            return "an aggregate of DISTINCT values"
        averages = (aggregate for aggregate in aggregates if aggregate.function is AggregateFunction.AVG)
        if any(average.type.kind is Kind.DECIMAL for average in averages):
            return "AVG of DECIMAL, whose text rounds the average"
        for kind in (Kind.BOOLEAN, Kind.BINARY):
            if any(aggregate.type.kind is kind for aggregate in aggregates):
                return f"MIN or MAX of {kind.value}"
    return None


def _outer_gap(query: Query, top: Select) -> str | None:
    if isinstance(query, With) or any(isinstance(r, Derived) for r in relations_of(top.source)):
        return "an outer join with sub-queries"
    if top.group_by is not None:
        return "an outer join with aggregates"
    joined = list(expressions_of(top.source))
    if not all(_simple(condition) for condition in joined):
        return "an outer join that is no simple equijoin"
    items = {item.expr for item in top.items}
    if not set(_columns(joined)) <= items:
        return "an outer join whose join columns are not selected"
    calls = (part for expr in items for part in subexpressions(expr) if isinstance(part, Call))
    if any(call.function not in STRICT for call in calls):
        return "an outer join that selects a function of NULL"
    if top.where is not None and not _rejecting(top.where):
        return "an outer join under a condition that may hold for NULL"
    return None


def _outer_joins(relation: Relation) -> bool:
    return any(isinstance(part, Join) and part.kind in OUTER for part in relations_of(relation))


def _simple(condition: Expr) -> bool:
    """Whether a condition is one equality of columns of two relations."""
    match condition:
        case Call("eq", (ColumnRef(one), ColumnRef(two))):
            return one != two
        case _:
            return False


def _rejecting(condition: Expr) -> bool:
    match condition:
        case Call("and", args):
            return all(_rejecting(arg) for arg in args)
        case Call(function, args) if function in REJECTING:
            return any(True for _ in _columns(args)) and all(_strict(arg) for arg in args)
        case _:
            return False


def _strict(expr: Expr) -> bool:
    return all(part.function in STRICT for part in subexpressions(expr) if isinstance(part, Call))


def _columns(exprs: tuple[Expr, ...] | list[Expr]) -> Iterator[ColumnRef]:
    for expr in exprs:
        yield from (part for part in subexpressions(expr) if isinstance(part, ColumnRef))


def amended(query: Query) -> Query:
    """Returns a similar query, with the same columns and perhaps more, that pg_ivm may accept."""
    match query:
        case With(ctes, body):
            return With(ctes, amended(body))
        case SetOperation() | Limited() | Verbatim():
            return query
        case Select():
            return _grouped(query) if query.group_by is not None else _joined(query)


def _grouped(select: Select) -> Select:
    """Returns a grouping without HAVING, with bare aggregates of all values, and with every key selected."""
    items = [Item(_bare(item.expr), item.name) for item in select.items]
    return replace(select, items=_with(items, select.group_by or (), "g"), having=None)


def _joined(select: Select) -> Select:
    """Returns outer joins with one condition each, its columns selected, no WHERE that is true for NULL."""
    if not _outer_joins(select.source):
        return select
    source = _first_conditions(select.source)
    where = select.where if select.where is not None and _rejecting(select.where) else None
    items = _with(list(select.items), _columns(list(expressions_of(source))), "j")
    return replace(select, items=items, source=source, where=where)


def _first_conditions(relation: Relation) -> Relation:
    match relation:
        case Join(kind, left, right, Call("and", (first, *_))):
            return _first_conditions(Join(kind, left, right, first))
        case Join(kind, left, right, on):
            return Join(kind, _first_conditions(left), _first_conditions(right), on)
        case _:
            return relation


def _bare(expr: Expr) -> Expr:
    aggregate = next((part for part in subexpressions(expr) if isinstance(part, Aggregate)), None)
    return expr if aggregate is None or aggregate.type != expr.type else replace(aggregate, distinct=False)


def _with(items: list[Item], wanted: Iterator[ColumnRef] | tuple[Expr, ...], prefix: str) -> tuple[Item, ...]:
    names = {item.name for item in items}
    for expr in wanted:
        if expr not in [item.expr for item in items]:
            name = next(f"{prefix}{n}" for n in range(len(items) + 1) if f"{prefix}{n}" not in names)
            names.add(name)
            items.append(Item(expr, name))
    return tuple(items)


LIMITS = Limits(
    operators=OPERATORS
    - SET_OPERATIONS
    - {Operator.SEMI_JOIN, Operator.ANTI_JOIN, Operator.LIMIT, Operator.EXPLODE}
    - {Operator.WINDOW, Operator.GROUPING_SETS},
    timestamps=Timestamps.COMMIT,
    views=False,
    layered=False,
    stores=lambda value, type_: type_.kind is not Kind.STRING or "\x00" not in str(value),
    gap=gap,
    amend=amended,
)
