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
from dynamic_tables.plan.expressions import Col, Expr, Fn, conjuncts, replace_columns, walk
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

Pairs = Sequence[tuple[Expr, Expr]]
"""Expressions that a match makes equal: (over the many rows, over the few)."""

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
                if _reads(mine, _names(many)) and _reads(other, _names(few))
            ]
        case _:
            return ()


def _names(plan: Plan) -> frozenset[str]:
    return frozenset(column.name for column in columns(plan))


def _reads(expr: Expr, names: frozenset[str]) -> bool:
    """Tells whether an expression reads columns, and only those of some names."""
    read = {part.name for part in walk(expr) if isinstance(part, Col)}
    return bool(read) and read <= names


def _below(plan: Plan, few: Plan, pairs: Pairs) -> Plan:
    """Returns a node with the groups in it and below it reduced; the node itself where there are none."""
    match plan:
        case Project(child, items):
            return rebuilt(plan, (_below_items(child, dict(items), few, pairs),))
        case Filter(child, _):
            # An expression may fail on rows that the filter drops; a column cannot.
            plain = [pair for pair in pairs if isinstance(pair[0], Col)]
            return rebuilt(plan, (_below(child, few, plain),)) if plain else plan
        case SemiJoin(left, right) | Mark(left, right):
            return rebuilt(plan, (_below_child(left, few, pairs), right))
        case Explode(child):
            return rebuilt(plan, (_below_child(child, few, pairs),))
        case Join(kind, left, right):
            sides = zip((left, right), PRESERVED[kind], strict=True)
            return rebuilt(plan, [_below_child(side, few, pairs) if kept else side for side, kept in sides])
        case UnionAll(branches):
            return rebuilt(plan, [_below(branch, few, pairs) for branch in branches])
        case Distinct(child):
            return rebuilt(plan, (_reduced(child, few, pairs),))
        case Aggregate(child, keys):
            named = dict(keys)
            of_keys = [(_over(mine, named), other) for mine, other in pairs if _reads(mine, frozenset(named))]
            return rebuilt(plan, (_reduced(child, few, of_keys),))
        case Window(child):
            return rebuilt(plan, (_reduced(child, few, [p for p in pairs if p[0] in plan.partition]),))
        case _:
            return plan


def _below_items(child: Plan, items: Mapping[str, Expr], few: Plan, pairs: Pairs) -> Plan:
    """Returns the input of a projection, reduced by what its items say of its columns."""
    over = [(_over(mine, items), other) for mine, other in pairs]
    # A constant says nothing of the rows below.
    return _below_child(child, few, over)


def _below_child(child: Plan, few: Plan, pairs: Pairs) -> Plan:
    """Returns an input, reduced by those of the pairs that read its columns."""
    own = [pair for pair in pairs if _reads(pair[0], _names(child))]
    return _below(child, few, own) if own else child


def _over(expr: Expr, items: Mapping[str, Expr]) -> Expr:
    return replace_columns(expr, lambda column: items[column.name])


def _reduced(rows: Plan, few: Plan, pairs: Pairs) -> Plan:
    """Returns the rows below a grouping with the keys that the few rows have; all of them without pairs."""
    if not pairs:
        return rows
    # Groups of groups: where the inner ones can be reduced, the outer ones are made of few rows already.
    inner = _below_child(rows, few, pairs)
    if inner is not rows:
        return inner
    affected = affected_keys(few, [other for _, other in pairs])
    return only_groups(rows, [mine for mine, _ in pairs], affected)
