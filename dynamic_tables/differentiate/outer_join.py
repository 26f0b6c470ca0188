"""LEFT, RIGHT and FULL joins: the direct derivative (DVS paper, section 5.5.1).

First the affected rows of a side are computed: the rows that changed, and the rows that a changed row of
the other side matches. Then the join is evaluated for them at both ends of the interval. Each child's
changes occur once or twice in the plan and are shared, so that a chain of n outer joins has a plan of size
O(n); rewriting into inner and anti joins would double the plan with each join.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamic_tables.differentiate.differentiation import ID, At, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, sides, with_id_as
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.plan.expressions import Col, Expr, Lit, boolean, text
from dynamic_tables.plan.nodes import (
    ACTION,
    DELETE,
    INSERT,
    ROW_ID,
    Join,
    JoinKind,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    columns,
)
from dynamic_tables.plan.types import STRING

AFFECTED = Col("$AFFECTED", STRING)


def condition(node: Join) -> Expr:
    """Returns the ON condition of an outer join. Raises ValueError if it has none."""
    if node.on is None:
        raise ValueError(f"{node.kind.value} without a condition")
    return node.on


def state_outer_join(node: Join, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the outer join at one end; a side padded with NULLs is the NULL component of the pair's id."""
    left, right = sides(d.state(node.left, at, ids), d.state(node.right, at, ids), ids)
    return Project(
        Join(node.kind, left, right, node.on), same(node) + id_item(ids, d.row_ids.pair(LEFT_ID, RIGHT_ID))
    )


def delta_left_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Returns the results of affected left rows at t0 as DELETE, at t1 as INSERT; equal rows cancel."""
    affected = affected_rows(node, node.left, node.right, d)
    return both_ends(lambda at: preserved_part(node, node.left, node.right, affected, at, ids, d))


def delta_right_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Returns the results of affected right rows at t0 as DELETE, at t1 as INSERT; equal rows cancel."""
    affected = affected_rows(node, node.right, node.left, d)
    return both_ends(lambda at: preserved_part(node, node.right, node.left, affected, at, ids, d))


def delta_full_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Returns the left join's changes, and the changes of right rows without a match.

    A pair with an affected right row needs no term of its own: if the pair changed, one of its rows did,
    and then its left row is affected too.
    """
    left = affected_rows(node, node.left, node.right, d)
    right = affected_rows(node, node.right, node.left, d)

    def part(at: At) -> Plan:
        pairs = preserved_part(node, node.left, node.right, left, at, ids, d)
        return UnionAll((pairs, right_pads(node, right, at, ids, d)))

    return both_ends(part)


def affected_rows(node: Join, side: Plan, other: Plan, d: Differentiation) -> Plan:
    """Returns the ids of the rows of `side` whose part of the result may differ between the ends.

    They are the rows that changed, and the rows at t0 that a changed row of the other side matches (a row
    that is new at t1 has changed itself, so t0 is enough). Both images of an update on the other side count.
    """
    changed = Project(d.delta(side, True), ((AFFECTED.name, ID),))
    before = with_id_as(d.state(side, At.T0, True), AFFECTED)
    matched = Join(JoinKind.INNER, before, d.delta(other, False), condition(node))
    return UnionAll((changed, Project(matched, ((AFFECTED.name, AFFECTED),))))


def only_affected(plan: Plan, id_column: Col, affected: Plan) -> Plan:
    """Returns the rows whose id is among the affected ids."""
    return SemiJoin(plan, affected, boolean("=", id_column, AFFECTED))


def preserved_part(
    node: Join, side: Plan, other: Plan, affected: Plan, at: At, ids: bool, d: Differentiation
) -> Plan:
    """Returns, at one end, the outer join that preserves every row of `side`, for its affected rows."""
    side_id, other_id = (LEFT_ID, RIGHT_ID) if side is node.left else (RIGHT_ID, LEFT_ID)
    preserved = only_affected(with_id_as(d.state(side, at, True), side_id), side_id, affected)
    padded = with_id_as(d.state(other, at, ids), other_id)
    joined = Join(JoinKind.LEFT, preserved, padded, condition(node))
    return Project(joined, same(node) + id_item(ids, d.row_ids.pair(LEFT_ID, RIGHT_ID)))


def right_pads(node: Join, affected: Plan, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the affected right rows without a match, with NULLs for the left columns."""
    rows = only_affected(with_id_as(d.state(node.right, at, True), RIGHT_ID), RIGHT_ID, affected)
    unmatched = SemiJoin(rows, d.state(node.left, at, False), condition(node), anti=True)
    nulls: tuple[tuple[str, Expr], ...] = tuple((c.name, Lit(None, c.type)) for c in columns(node.left))
    pad = d.row_ids.pair(Lit(None, STRING), RIGHT_ID)
    return Project(unmatched, nulls + same(node.right) + id_item(ids, pad))


def both_ends(part: Callable[[At], Plan]) -> Plan:
    """Returns a part of the result at t0 as DELETE and at t1 as INSERT."""
    return UnionAll((marked(part(At.T0), DELETE), marked(part(At.T1), INSERT)))


def marked(plan: Plan, action: str) -> Plan:
    """Returns the rows of a plan with `$ACTION` added before `$ROW_ID`, which comes last if there is one."""
    values = tuple(item for item in same(plan) if item[0] != ROW_ID)
    ids = tuple(item for item in same(plan) if item[0] == ROW_ID)
    return Project(plan, (*values, (ACTION, text(action)), *ids))
