"""Small parts of plans that several faults are built from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce

from dynamic_tables.differentiate.differentiation import ACT, ID
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Col, Expr, Fn, text
from dynamic_tables.plan.types import BOOLEAN, STRING

OTHER = Col("$FAULT_ID", STRING)
"""The row id of a second plan, renamed so that it can be compared with `$ROW_ID`."""

OUTER = frozenset({nodes.JoinKind.LEFT, nodes.JoinKind.RIGHT, nodes.JoinKind.FULL})


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


def inserts(changes: nodes.Plan) -> nodes.Plan:
    """The rows of a change set that are INSERTs."""
    return nodes.Filter(changes, equal(ACT, text(nodes.INSERT)))


def deletes(changes: nodes.Plan) -> nodes.Plan:
    """The rows of a change set that are DELETEs."""
    return nodes.Filter(changes, equal(ACT, text(nodes.DELETE)))


def ids(changes: nodes.Plan) -> nodes.Plan:
    """The distinct row ids of a plan, as the column OTHER."""
    return nodes.Distinct(nodes.Project(changes, ((OTHER.name, ID),)))


def among(changes: nodes.Plan, others: nodes.Plan, *, anti: bool = False) -> nodes.Plan:
    """The rows whose id is (anti: is not) one of `others`, which come from `ids`."""
    return nodes.SemiJoin(changes, others, equal(ID, OTHER), anti)


def without_id(plan: nodes.Plan, wanted: bool) -> nodes.Plan:
    """The plan without its row ids, unless they are wanted."""
    if wanted:
        return plan
    return nodes.Project(plan, tuple((c.name, c) for c in nodes.columns(plan) if c.name != nodes.ROW_ID))


def recomputed(
    plan: nodes.Plan, changed: Mapping[str, Expr], outputs: Iterable[Col] | None = None
) -> nodes.Plan:
    """The plan with some columns computed by other expressions.

    `outputs`: the columns of the result, in order; by default all columns of the plan.
    """
    outputs = nodes.columns(plan) if outputs is None else outputs
    return nodes.Project(plan, tuple((c.name, changed.get(c.name, c)) for c in outputs))


def with_nodes(plan: nodes.Plan, change: Callable[[nodes.Plan], nodes.Plan]) -> nodes.Plan:
    """The plan with `change` of every node, the lowest ones first."""
    done: dict[int, nodes.Plan] = {}
    for node in nodes.children_first(plan):
        done[id(node)] = change(nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node))))
    return done[id(plan)]


def rewritten(plan: nodes.Plan, change: Callable[[Fn], Expr]) -> nodes.Plan:
    """The plan with `change` of every function call in its projections and conditions, innermost first."""
    done: dict[int, nodes.Plan] = {}
    for node in nodes.children_first(plan):
        made = nodes.rebuilt(node, tuple(done[id(child)] for child in nodes.children(node)))
        match made:
            case nodes.Project(_, items):
                made = replace(made, items=tuple((name, changed_calls(expr, change)) for name, expr in items))
            case nodes.Filter(_, predicate):
                made = replace(made, predicate=changed_calls(predicate, change))
            case nodes.Join(_, _, _, on) if on is not None:
                made = replace(made, on=changed_calls(on, change))
            case nodes.SemiJoin(_, _, on):
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


def joins_in(plan: nodes.Plan, kinds: frozenset[nodes.JoinKind]) -> list[nodes.Join]:
    """The joins of some kinds in a plan, at any depth."""
    return [node for node in nodes.walk(plan) if isinstance(node, nodes.Join) and node.kind in kinds]


def below_filters(plan: nodes.Plan) -> nodes.Plan:
    """The first node of a plan, from the top, that is no filter."""
    while isinstance(plan, nodes.Filter):
        plan = plan.child
    return plan
