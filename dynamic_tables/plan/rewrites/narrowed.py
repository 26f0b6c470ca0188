"""Groups and partitions that are joined with few rows: only those that the few rows ask for are made.

Spark makes all groups, and drops those without a match afterwards. Example: twelve changed bids are joined
with the highest price of each window of time,

    bids JOIN (SELECT win, MAX(price) AS price FROM bid GROUP BY win) AS m ON bids.win = m.win

and the grouping needs the rows of the windows of the twelve alone. So the rows below the grouping are reduced
by a semi join to those with the keys of the few. A group is kept or dropped as a whole: it has all its rows,
and so the same aggregates. The same holds for partitions of window functions and for DISTINCT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynamic_tables.plan.affected import affected_keys, only_groups
from dynamic_tables.plan.expressions import Col, Expr, Fn, conjuncts
from dynamic_tables.plan.nodes import (
    Aggregate,
    Distinct,
    Explode,
    Filter,
    Join,
    JoinKind,
    Mark,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    Window,
    columns,
    rebuilt,
)
from dynamic_tables.plan.rewrites.rounded import rounded

Pairs = Sequence[tuple[Col, Expr]]
"""What a match makes equal: (a column of the many rows, an expression over the few).

An expression over the many would be computed on rows that the query drops before, and may fail on them. It
may also tell -0.0 from 0.0, which are one group."""

FEW = "$FEW"
"""How the names of the keys of few rows begin: the many may be keys themselves, and have those of `KEY`."""

PRESERVED = {
    JoinKind.INNER: (True, True),
    JoinKind.CROSS: (True, True),
    JoinKind.LEFT: (True, False),
    JoinKind.RIGHT: (False, True),
    JoinKind.FULL: (False, False),
}
"""By join: whether each result of it has a row of the left side, and one of the right side.

If it has, then rows of this side whose results nobody asks for can be left out below the join."""


def narrowed(many: Plan, few: Plan, on: Expr) -> Plan:
    """Returns `many` with the groups, partitions and distinct rows in it reduced to those that may match.

    The result has all rows that match a row of `few` by the condition `on`, and some or all of the others.
    `many` itself is returned where it has no groups with such keys.
    """
    pairs = [pair for condition in conjuncts(on) for pair in _compared(condition, many, few)]
    return _below(many, few, pairs) if pairs else many


def _compared(condition: Expr, many: Plan, few: Plan) -> Pairs:
    """Returns the two sides of an equation between `many` and `few`; none for any other condition."""
    match condition:
        case Fn("=" | "is not distinct from", (left, right), _) if left.type == right.type:
            return [
                (mine, other)
                for mine, other in ((left, right), (right, left))
                if isinstance(mine, Col) and mine.name in _names(many) and _is_of(other, few)
            ]
        case _:
            return ()


def _is_of(expr: Expr, few: Plan) -> bool:
    """Tells whether an expression is a column of the few rows, or rounds one, so that it fails on no row."""
    known = None if isinstance(expr, Col) else rounded(expr)
    column = known[0] if known is not None else expr
    return isinstance(column, Col) and column.name in _names(few)


def _names(plan: Plan) -> frozenset[str]:
    return frozenset(column.name for column in columns(plan))


def _below(plan: Plan, few: Plan, pairs: Pairs) -> Plan:
    """Returns a node with the groups in it and below it reduced; the node itself where there are none."""
    match plan:
        case Project(child, items):
            below = [(mine, other) for mine, other in _over(pairs, dict(items)) if isinstance(mine, Col)]
            return rebuilt(plan, (_below_child(child, few, below),))
        case Filter(child, _) | Explode(child):
            return rebuilt(plan, (_below_child(child, few, pairs),))
        case SemiJoin(left, right) | Mark(left, right):
            return rebuilt(plan, (_below_child(left, few, pairs), right))
        case Join(kind, left, right):
            sides = zip((left, right), PRESERVED[kind], strict=True)
            return rebuilt(plan, [_below_child(side, few, pairs) if kept else side for side, kept in sides])
        case UnionAll(branches):
            return rebuilt(plan, [_below(branch, few, pairs) for branch in branches])
        case Distinct(child):
            return rebuilt(plan, (_reduced(child, few, pairs),))
        case Aggregate(child, keys):
            return rebuilt(plan, (_reduced(child, few, _over(pairs, dict(keys))),))
        case Window(child):
            return rebuilt(plan, (_reduced(child, few, [p for p in pairs if p[0] in plan.partition]),))
        case _:
            return plan


def _over(pairs: Pairs, items: Mapping[str, Expr]) -> Sequence[tuple[Expr, Expr]]:
    """Returns the pairs whose columns are among some items, by what these are."""
    return [(items[mine.name], other) for mine, other in pairs if mine.name in items]


def _below_child(child: Plan, few: Plan, pairs: Pairs) -> Plan:
    """Returns an input, reduced by those of the pairs that read its columns."""
    own = [pair for pair in pairs if pair[0].name in _names(child)]
    return _below(child, few, own) if own else child


def _reduced(rows: Plan, few: Plan, keys: Sequence[tuple[Expr, Expr]]) -> Plan:
    """Returns the rows below a grouping with the keys that the few rows have; all of them without keys."""
    if not keys:
        return rows
    # Groups of groups: where the inner ones can be reduced, the outer ones are made of few rows already.
    inner = _below_child(rows, few, [(mine, other) for mine, other in keys if isinstance(mine, Col)])
    if inner is not rows:
        return inner
    affected = affected_keys(few, [other for _, other in keys], FEW)
    return only_groups(rows, [mine for mine, _ in keys], affected, FEW)
