"""Small parts of plans that several faults are built from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce

from dynamic_tables.differentiate.differentiation import ACT, ID
from dynamic_tables.plan.expressions import Col, Expr, Fn, text
from dynamic_tables.plan.nodes import (
    DELETE,
    INSERT,
    ROW_ID,
    Distinct,
    Filter,
    Join,
    JoinKind,
    Plan,
    Project,
    SemiJoin,
    children,
    children_first,
    columns,
    rebuilt,
    walk,
)
from dynamic_tables.plan.types import BOOLEAN, STRING

OTHER = Col("$FAULT_ID", STRING)
"""The row id of a second plan, renamed so that it can be compared with `$ROW_ID`."""

OUTER = frozenset({JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL})


def all_of(parts: Iterable[Expr]) -> Expr:
    """The conjunction of one or more conditions."""
    return reduce(lambda left, right: Fn("and", (left, right), BOOLEAN), parts)


def equal(left: Expr, right: Expr) -> Expr:
    """`left = right`, which is NULL where either side is NULL."""
    return Fn("=", (left, right), BOOLEAN)


def same_value(left: Expr, right: Expr) -> Expr:
    """The null-safe equality: NULL has the same value as NULL, and NaN as NaN."""
    return Fn("is not distinct from", (left, right), BOOLEAN)


def is_null(expr: Expr) -> Expr:
    """Whether an expression is NULL."""
    return Fn("is null", (expr,), BOOLEAN)


def inserts(changes: Plan) -> Plan:
    """The rows of a change set that are INSERTs."""
    return Filter(changes, equal(ACT, text(INSERT)))


def deletes(changes: Plan) -> Plan:
    """The rows of a change set that are DELETEs."""
    return Filter(changes, equal(ACT, text(DELETE)))


def ids(changes: Plan) -> Plan:
    """The distinct row ids of a plan, as the column OTHER."""
    return Distinct(Project(changes, ((OTHER.name, ID),)))


def among(changes: Plan, others: Plan, *, anti: bool = False) -> Plan:
    """The rows whose id is (anti: is not) one of `others`, which come from `ids`."""
    return SemiJoin(changes, others, equal(ID, OTHER), anti)


def without_id(plan: Plan, wanted: bool) -> Plan:
    """The plan without its row ids, unless they are wanted."""
    if wanted:
        return plan
    return Project(plan, tuple((c.name, c) for c in columns(plan) if c.name != ROW_ID))


def recomputed(plan: Plan, changed: Mapping[str, Expr], outputs: Iterable[Col] | None = None) -> Plan:
    """The plan with some columns computed by other expressions.

    `outputs`: the columns of the result, in order; by default all columns of the plan.
    """
    outputs = columns(plan) if outputs is None else outputs
    return Project(plan, tuple((c.name, changed.get(c.name, c)) for c in outputs))


def rewritten(plan: Plan, change: Callable[[Fn], Expr]) -> Plan:
    """The plan with `change` of every function call in its projections and conditions, innermost first."""
    done: dict[int, Plan] = {}
    for node in children_first(plan):
        made = rebuilt(node, tuple(done[id(child)] for child in children(node)))
        match made:
            case Project(_, items):
                made = replace(made, items=tuple((name, changed_calls(expr, change)) for name, expr in items))
            case Filter(_, predicate):
                made = replace(made, predicate=changed_calls(predicate, change))
            case Join(_, _, _, on) if on is not None:
                made = replace(made, on=changed_calls(on, change))
            case SemiJoin(_, _, on):
                made = replace(made, on=changed_calls(on, change))
            case _:
                pass
        done[id(node)] = made
    return done[id(plan)]


def changed_calls(expr: Expr, change: Callable[[Fn], Expr]) -> Expr:
    """The expression with `change` of every function call in it, innermost first."""
    if not isinstance(expr, Fn):
        return expr
    args = tuple(changed_calls(arg, change) for arg in expr.args)
    return change(Fn(expr.name, args, expr.type))


def joins_in(plan: Plan, kinds: frozenset[JoinKind]) -> list[Join]:
    """The joins of some kinds in a plan, at any depth."""
    return [node for node in walk(plan) if isinstance(node, Join) and node.kind in kinds]


def below_filters(plan: Plan) -> Plan:
    """The first node of a plan, from the top, that is no filter."""
    while isinstance(plan, Filter):
        plan = plan.child
    return plan
