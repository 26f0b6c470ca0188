"""Inner and cross joins: the changes of each side are joined with the other side (DVS paper, section 5.5)."""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import ACT, At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.plan.expressions import Col
from dynamic_tables.plan.nodes import ACTION, ROW_ID, Join, JoinKind, Plan, Project, UnionAll, columns
from dynamic_tables.plan.types import STRING

LEFT_ID = Col("$LEFT_ID", STRING)
RIGHT_ID = Col("$RIGHT_ID", STRING)


def with_id_as(plan: Plan, name: Col) -> Plan:
    """Returns a plan with `$ROW_ID` renamed, to join it with another plan that also has a `$ROW_ID`."""
    return Project(
        plan, tuple((name.name if column.name == ROW_ID else column.name, column) for column in columns(plan))
    )


def sides(left: Plan, right: Plan, ids: bool) -> tuple[Plan, Plan]:
    """Returns both inputs of a join, with different names for their row ids if they have any."""
    return (with_id_as(left, LEFT_ID), with_id_as(right, RIGHT_ID)) if ids else (left, right)


def state_join(node: Join, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns L join R, of any kind, at one end of the interval.

    `ids`: each row also gets a row id, the pair of the row ids of both sides; NULL for a side that is padded.
    """
    left, right = sides(d.state(node.left, at, ids), d.state(node.right, at, ids), ids)
    return Project(
        Join(node.kind, left, right, node.on), same(node) + id_item(ids, d.row_ids.pair(LEFT_ID, RIGHT_ID))
    )


def delta_inner_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Returns Delta (L join R) = Delta L join R@t1 + L@t0 join Delta R (DVS paper, section 5.5).

    One side is read at t1 and the other at t0, so that a pair that is new on both sides counts once.
    Example: l and r are inserted together: Delta L join R@t1 gives the pair, L@t0 join Delta R nothing.

    The terms may also pair rows that were never there together: if l is deleted and r inserted, the first has
    a DELETE of the pair and the second an INSERT. They cancel, but the condition is evaluated on them, and
    may fail; then `refresh.execute` evaluates the query as a whole.
    """
    return UnionAll(
        (
            changed_pairs(node, d.delta(node.left, ids), d.state(node.right, At.T1, ids), ids, d),
            changed_pairs(node, d.state(node.left, At.T0, ids), d.delta(node.right, ids), ids, d),
        )
    )


def changed_pairs(node: Join, left: Plan, right: Plan, ids: bool, d: Differentiation) -> Plan:
    """Returns the join of two inputs, one of which is a change set, whose `$ACTION` each pair takes."""
    kind = JoinKind.CROSS if node.on is None else JoinKind.INNER
    joined = Join(kind, *sides(left, right, ids), node.on)
    items = (*same(node), (ACTION, ACT), *id_item(ids, d.row_ids.pair(LEFT_ID, RIGHT_ID)))
    return Project(joined, items)
