"""LEFT, RIGHT and FULL joins, differentiated one side at a time.

L LEFT JOIN R preserves L: a row of L without a match stays as a pad, with NULLs for the columns of R. Let
L0, R0 be the sides at t0 and L1, R1 those at t1. The change is split into one of each side:

    L1 join R1 - L0 join R0 = (L1 - L0) join R1 + (L0 join R1 - L0 join R0).

In the first term R is fixed, and the join is linear in L: the changed rows of L are joined with R1. In the
second term L is fixed. A row of L0 that no changed row of R matches has the same result in both parts and
cancels, so only the matched rows of L0 are computed, at both ends.

The paper's rule (section 5.5.1) joins all affected rows of a side anew, and so reads the whole side when a
few of its rows changed. Each child's changes occur once or twice in the plan and are shared, so that a chain
of n outer joins has a plan of size O(n); rewriting into inner and anti joins doubles the plan with each join.
"""

from __future__ import annotations

from collections.abc import Callable

from dynamic_tables.differentiate.differentiation import ACT, At, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, with_id_as
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.plan.expressions import Col, Expr, Lit, text
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

Items = tuple[tuple[str, Expr], ...]


def condition(node: Join) -> Expr:
    """Returns the ON condition of an outer join. Raises ValueError if it has none."""
    if node.on is None:
        raise ValueError(f"{node.kind.value} without a condition")
    return node.on


def delta_left_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Returns the changes of L LEFT JOIN R."""
    return UnionAll(preserved(node, node.left, node.right, ids, d))


def delta_right_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Returns the changes of L RIGHT JOIN R, which is R LEFT JOIN L with the columns in another order."""
    return UnionAll(preserved(node, node.right, node.left, ids, d))


def delta_full_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Returns the left join's changes, and the changes of right rows without a match."""
    return UnionAll((*preserved(node, node.left, node.right, ids, d), *right_pads(node, ids, d)))


def preserved(node: Join, side: Plan, other: Plan, ids: bool, d: Differentiation) -> tuple[Plan, Plan, Plan]:
    """Returns the changes of the outer join that preserves every row of `side`, in three parts.

    1. The changed rows of `side`, outer joined with the other side at t1.
    2. Pairs that come and go: the rows of `side` at t0, inner joined with the changed rows of the other side.
    3. Pads that come and go: of the rows of `side` at t0 that such a change matches, those without a match at
       t0 are DELETEs of pads, those without one at t1 INSERTs.
    """
    side_id, other_id = (LEFT_ID, RIGHT_ID) if side is node.left else (RIGHT_ID, LEFT_ID)
    values, row_id = same(node), id_item(ids, d.row_ids.pair(LEFT_ID, RIGHT_ID))

    changed = with_id_as(d.delta(side, ids), side_id)
    now = with_id_as(d.state(other, At.T1, ids), other_id)
    # Parts 2 and 3 share these rows. Without a change of the other side they are empty, and the rows of
    # `side` at t0 are not read: `plan.rewrites.empty` leaves both parts out.
    rows = matched(node, side, other, side_id, ids, d)
    changes = with_id_as(d.delta(other, ids), other_id)
    return (
        with_action(Join(JoinKind.LEFT, changed, now, condition(node)), values + row_id),
        with_action(Join(JoinKind.INNER, rows, changes, condition(node)), values + row_id),
        both_ends(lambda at: pads(node, side, unmatched(node, rows, d.state(other, at, False)), ids, d)),
    )


def right_pads(node: Join, ids: bool, d: Differentiation) -> tuple[Plan, Plan]:
    """Returns the changes of the pads of the right side: right rows without a match.

    The pairs are not among them: `preserved` returns them for the left side.
    """
    left = {at: d.state(node.left, at, False) for at in At}
    changed = with_id_as(d.delta(node.right, ids), RIGHT_ID)
    rows = matched(node, node.right, node.left, RIGHT_ID, ids, d)
    return (
        pads(node, node.right, unmatched(node, changed, left[At.T1]), ids, d, changes=True),
        both_ends(lambda at: pads(node, node.right, unmatched(node, rows, left[at]), ids, d)),
    )


def unmatched(node: Join, rows: Plan, other: Plan) -> Plan:
    """Returns the rows of one side that match no row of the other side."""
    return SemiJoin(rows, other, condition(node), anti=True)


def pads(node: Join, side: Plan, rows: Plan, ids: bool, d: Differentiation, *, changes: bool = False) -> Plan:
    """Returns rows of `side` as pads; `changes`: the rows are a change set and keep their `$ACTION`."""
    left = side is node.left
    nulls: Items = tuple((c.name, Lit(None, c.type)) for c in columns(node.right if left else node.left))
    values = same(node.left) + nulls if left else nulls + same(node.right)
    none = Lit(None, STRING)
    pair = d.row_ids.pair(LEFT_ID, none) if left else d.row_ids.pair(none, RIGHT_ID)
    items = values + id_item(ids, pair)
    return with_action(rows, items) if changes else Project(rows, items)


def matched(node: Join, side: Plan, other: Plan, side_id: Col, ids: bool, d: Differentiation) -> Plan:
    """Returns the rows of `side` at t0 that a changed row of the other side matches, by its old or new image.

    Each row once, however many changed rows match it: therefore a semi join.
    """
    rows = with_id_as(d.state(side, At.T0, ids), side_id)
    return SemiJoin(rows, d.delta(other, False), condition(node))


def with_action(changes: Plan, items: Items) -> Plan:
    """Returns a projection of a change set, with its `$ACTION` before `$ROW_ID`, which comes last."""
    ids = tuple(item for item in items if item[0] == ROW_ID)
    return Project(changes, (*(item for item in items if item[0] != ROW_ID), (ACTION, ACT), *ids))


def both_ends(part: Callable[[At], Plan]) -> Plan:
    """Returns a part of the result at t0 as DELETE and at t1 as INSERT; equal rows cancel at the root."""
    return UnionAll((marked(part(At.T0), DELETE), marked(part(At.T1), INSERT)))


def marked(plan: Plan, action: str) -> Plan:
    """Returns the rows of a plan with `$ACTION` added before `$ROW_ID`, which comes last if there is one."""
    values = tuple(item for item in same(plan) if item[0] != ROW_ID)
    ids = tuple(item for item in same(plan) if item[0] == ROW_ID)
    return Project(plan, (*values, (ACTION, text(action)), *ids))
