"""Faults in semi and anti joins: who is a member, when, and how often."""

from __future__ import annotations

from functools import partial

from campaign.faults.fault import rule_fault
from campaign.faults.pieces import inserts, recomputed
from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.outer_join import marked
from dynamic_tables.differentiate.semi_join import delta_semi_join, touched
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import Col, Expr, Fn, Lit
from dynamic_tables.plan.types import BOOLEAN, INT
from workload.outcomes.results import Check


def member(node: nodes.SemiJoin, rows: nodes.Plan, at: At, d: Differentiation) -> nodes.Plan:
    """The rows that are members at one end of the interval."""
    return nodes.SemiJoin(rows, d.state(node.right, at, False), node.on, node.anti)


def only_the_left(node: nodes.SemiJoin, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Only changes of the left side are seen: a match that comes or goes changes nothing."""
    return member(node, d.delta(node.left, want_ids), At.T1, d)


def members_at_t1(node: nodes.SemiJoin, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Membership before the interval is evaluated at t1 too."""
    rows = touched(node, want_ids, d)
    parts = (marked(member(node, rows, At.T1, d), mark) for mark in (nodes.DELETE, nodes.INSERT))
    return nodes.UnionAll((only_the_left(node, want_ids, d), *parts))


def matches_only_come(node: nodes.SemiJoin, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Rows whose last match goes are not looked at, only those that get a match."""
    came = inserts(d.delta(node.right, False))
    rows = nodes.SemiJoin(d.state(node.left, At.T0, want_ids), came, node.on)
    ends = ((At.T0, nodes.DELETE), (At.T1, nodes.INSERT))
    parts = (marked(member(node, rows, at, d), mark) for at, mark in ends)
    return nodes.UnionAll((only_the_left(node, want_ids, d), *parts))


def equal_rows_once(node: nodes.SemiJoin, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Of equal left rows that become members only one enters the result."""
    rows = touched(node, want_ids, d)
    number = Col("$FAULT_NUMBER", INT)
    now = nodes.Numbered(member(node, rows, At.T1, d), nodes.columns(node), number.name)
    first = nodes.Filter(now, Fn("=", (number, Lit(1, INT)), BOOLEAN))
    once = recomputed(first, {}, nodes.columns(rows))
    parts = (marked(member(node, rows, At.T0, d), nodes.DELETE), marked(once, nodes.INSERT))
    return nodes.UnionAll((only_the_left(node, want_ids, d), *parts))


def not_in_as_not_exists(node: nodes.SemiJoin, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """NOT IN is maintained as NOT EXISTS: a row whose comparison is NULL stays in the result."""
    return delta_semi_join(nodes.SemiJoin(node.left, node.right, _plainly(node.on), node.anti), want_ids, d)


def _plainly(condition: Expr) -> Expr:
    match condition:
        case Fn("not", (Fn("is false", (comparison,), _),), _):
            return comparison
        case Fn("and", args, _):
            return Fn("and", tuple(map(_plainly, args)), BOOLEAN)
        case _:
            return condition


def new_rows_in_the_past(node: nodes.SemiJoin, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Changed left rows are members as the right side was at t0."""
    rows = touched(node, want_ids, d)
    parts = (
        marked(member(node, rows, at, d), mark) for at, mark in ((At.T0, nodes.DELETE), (At.T1, nodes.INSERT))
    )
    return nodes.UnionAll((member(node, d.delta(node.left, want_ids), At.T0, d), *parts))


def first_column_decides(node: nodes.SemiJoin, want_ids: bool, d: Differentiation) -> nodes.Plan:
    """Of NOT IN of several columns only the first comparison may be NULL."""
    match node.on:
        case Fn("not", (Fn("is false", (Fn("and", (first, *rest), _),), _),), _):
            on: Expr = Fn("and", (Fn("not", (Fn("is false", (first,), BOOLEAN),), BOOLEAN), *rest), BOOLEAN)
            return delta_semi_join(nodes.SemiJoin(node.left, node.right, on, node.anti), want_ids, d)
        case _:
            return delta_semi_join(node, want_ids, d)


_fault = partial(rule_fault, area="semi and anti joins", operators=("semi join", "anti join"))

FAULTS = (
    _fault("semi-join-sees-left-only", only_the_left, Check.EQUALITY),
    _fault("semi-join-only-t1", members_at_t1, Check.EQUALITY),
    _fault("semi-join-last-match-goes", matches_only_come, Check.EQUALITY),
    _fault("semi-join-loses-duplicates", equal_rows_once, Check.EQUALITY),
    _fault("semi-join-new-rows-at-t0", new_rows_in_the_past, Check.EQUALITY, core=False),
    _fault("not-in-first-column", first_column_decides, Check.EQUALITY, operators=("anti join",), core=False),
    _fault("not-in-as-not-exists", not_in_as_not_exists, Check.EQUALITY, operators=("anti join",)),
)
