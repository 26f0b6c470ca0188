"""Conditions on the current time: columns whose values change as time passes, though no row does.

A projection m with such a column is another one at t0 than at t1. With m0 and m1 for both:

    m1(Q1) - m0(Q0) = m1(delta Q) + (m1(Q0) - m0(Q0)).

The first term is that of any projection. The second one needs only the rows of Q0 whose column differs. For
`ts > now() - INTERVAL 3 DAYS` these have ts between `t0 - 3 days` and `t1 - 3 days`: a range over the source,
for which statistics of files tell what need not be read. Differential dataflow calls this a temporal filter.
"""

from __future__ import annotations

from collections.abc import Iterator

from dynamic_tables.differentiate.differentiation import ACT, At, Differentiation
from dynamic_tables.differentiate.linear import id_item
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.expressions import Col, Expr, Fn, boolean, joined, walk
from dynamic_tables.plan.functions import NOW_AT_T0, NOW_AT_T1, PASSED
from dynamic_tables.plan.nodes import ACTION, Filter, Plan, Project, UnionAll
from dynamic_tables.plan.time import at_end, holds_time

ENDS = {At.T0: NOW_AT_T0, At.T1: NOW_AT_T1}

FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}
"""The comparisons whose value changes only for what lies between both values of the other side."""

NULL_SAFE = frozenset({"is distinct from", "is not distinct from"})


def state_time(node: Project, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the rows at one end with the columns as of its time; row ids pass through."""
    return at_one_end(node, d.state(node.child, at, ids), at, id_item(ids))


def delta_time(node: Project, ids: bool, d: Differentiation) -> Plan:
    """Returns the changed rows with the columns at t1, and the rows at t0 whose columns change with time."""
    changed = at_one_end(node, d.delta(node.child, ids), At.T1, ((ACTION, ACT), *id_item(ids)))
    crossing = rows_that_cross(node, d.state(node.child, At.T0, ids))
    return UnionAll((changed, both_ends(lambda at: at_one_end(node, crossing, at, id_item(ids)))))


def rows_that_cross(node: Project, rows: Plan) -> Plan:
    """Returns the rows at t0 for which a column has one value at t0 and another one at t1."""
    timed = [expr for _, expr in node.items if holds_time(expr)]
    return Filter(rows, _any([crossed(expr) for expr in timed]))


def crossed(expr: Expr) -> Expr:
    """Returns the condition that an expression differs between t0 and t1, with the range of such rows."""
    differs = boolean("is distinct from", at_end(expr, NOW_AT_T0), at_end(expr, NOW_AT_T1))
    ranges = [_range(part) for part in _comparisons(expr)]
    known = [each for each in ranges if each is not None]
    # A part without a range may differ for any row.
    return boolean("and", _any(known), differs) if known and len(known) == len(ranges) else differs


def _comparisons(expr: Expr) -> Iterator[Expr]:
    """Yields the smallest conditions that read the time."""
    if isinstance(expr, Fn) and expr.name in ("and", "or", "not", "is null", "is true", "is false"):
        for arg in expr.args:
            yield from _comparisons(arg)
    elif isinstance(expr, Fn) and expr.name == "between":
        value, low, high = expr.args
        yield from (each for each in _halves(value, low, high) if holds_time(each))
    elif holds_time(expr):
        yield expr


def _halves(value: Expr, low: Expr, high: Expr) -> tuple[Expr, Expr]:
    return boolean(">=", value, low), boolean("<=", value, high)


def _range(condition: Expr) -> Expr | None:
    """Returns the condition that a comparison may differ between t0 and t1; None where none is known."""
    match condition:
        case Fn(name, (left, right), _) if name in FLIPPED or name in NULL_SAFE:
            value, time = (left, right) if holds_time(right) else (right, left)
            if holds_time(value) or any(isinstance(part, Col) for part in walk(time)):
                return None
            ends = (at_end(time, NOW_AT_T0), at_end(time, NOW_AT_T1))
            low, high = (Fn(name, ends, time.type) for name in ("least", "greatest"))
            within = boolean("and", *_halves(value, low, high))
            if not any(isinstance(part, Fn) and part.name == PASSED for part in walk(time)):
                return within
            # What Spark evaluates may be NULL at one end alone, and then no range holds all rows that differ.
            return boolean("or", within, boolean("<>", *(boolean("is null", end) for end in ends)))
        case _:
            return None


def _any(conditions: list[Expr]) -> Expr:
    return joined(conditions, lambda left, right: boolean("or", left, right))


def at_one_end(node: Project, rows: Plan, at: At, more: tuple[tuple[str, Expr], ...]) -> Plan:
    """Returns the projection of rows with the time at one end, and more columns."""
    return Project(rows, (*((name, at_end(expr, ENDS[at])) for name, expr in node.items), *more))
