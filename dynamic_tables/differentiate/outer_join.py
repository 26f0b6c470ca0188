"""LEFT, RIGHT and FULL joins: the direct derivative.

Which rows of a side are affected is decided first: those that changed, and those that some changed row
of the other side matches. For them the join is evaluated at both ends. Each child's changes occur once
or twice in the plan and are shared, so that a chain of n outer joins has a plan of size O(n), where
rewriting into inner and anti joins doubles it per join (DVS paper, section 5.5.1).
"""

from __future__ import annotations

from collections.abc import Callable

from dynamic_tables.differentiate.differentiation import ID, At, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, sides, with_id_as
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.plan.expressions import Col, Expr, Fn, Lit, text
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
from dynamic_tables.plan.types import BOOLEAN, STRING

AFFECTED = Col("$AFFECTED", STRING)


def condition(node: Join) -> Expr:
    """The ON condition of an outer join."""
    if node.on is None:
        raise ValueError(f"{node.kind.value} without a condition")
    return node.on


def state_outer_join(node: Join, at: At, ids: bool, d: Differentiation) -> Plan:
    """The outer join; a padded side is the NULL component of the pair's id."""
    left, right = sides(d.state(node.left, at, ids), d.state(node.right, at, ids), ids)
    return Project(
        Join(node.kind, left, right, node.on), same(node) + id_item(ids, d.row_ids.pair(LEFT_ID, RIGHT_ID))
    )


def delta_left_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """Rows of affected left rows at t0 as DELETE, at t1 as INSERT; what did not change cancels."""
    affected = affected_rows(node, node.left, node.right, d)
    return both_ends(lambda at: preserved_part(node, node.left, node.right, affected, at, ids, d))


def delta_right_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """The mirror image of the left join."""
    affected = affected_rows(node, node.right, node.left, d)
    return both_ends(lambda at: preserved_part(node, node.right, node.left, affected, at, ids, d))


def delta_full_join(node: Join, ids: bool, d: Differentiation) -> Plan:
    """The left join's part, and the pads of affected right rows.

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
    """Ids of the rows of `side` whose part of the result may differ between the ends.

    Rows that changed; and rows of t0 that a changed row of the other side matches (a row that is new at
    t1 has changed itself, so t0 is enough). Both images of the other side's updates count.
    """
    changed = Project(d.delta(side, True), ((AFFECTED.name, ID),))
    before = with_id_as(d.state(side, At.T0, True), AFFECTED)
    matched = Join(JoinKind.INNER, before, d.delta(other, False), condition(node))
    return UnionAll((changed, Project(matched, ((AFFECTED.name, AFFECTED),))))


def only_affected(plan: Plan, id_column: Col, affected: Plan) -> Plan:
    """The rows whose id is among the affected ones."""
    return SemiJoin(plan, affected, Fn("=", (id_column, AFFECTED), BOOLEAN))


def preserved_part(
    node: Join, side: Plan, other: Plan, affected: Plan, at: At, ids: bool, d: Differentiation
) -> Plan:
    """The outer join that preserves `side`, for its affected rows, at one end."""
    is_left = side is node.left
    own_id, other_id = (LEFT_ID, RIGHT_ID) if is_left else (RIGHT_ID, LEFT_ID)
    preserved = only_affected(with_id_as(d.state(side, at, True), own_id), own_id, affected)
    # The other side is read with its ids whenever they can end up in the pair's id.
    padded = with_id_as(d.state(other, at, ids), other_id)
    joined = Join(JoinKind.LEFT, preserved, padded, condition(node))
    return Project(joined, same(node) + id_item(ids, d.row_ids.pair(LEFT_ID, RIGHT_ID)))


def right_pads(node: Join, affected: Plan, at: At, ids: bool, d: Differentiation) -> Plan:
    """Affected right rows without any match, extended with NULLs on the left."""
    rows = only_affected(with_id_as(d.state(node.right, at, True), RIGHT_ID), RIGHT_ID, affected)
    unmatched = SemiJoin(rows, d.state(node.left, at, False), condition(node), anti=True)
    nulls: tuple[tuple[str, Expr], ...] = tuple((c.name, Lit(None, c.type)) for c in columns(node.left))
    pad = d.row_ids.pair(Lit(None, STRING), RIGHT_ID)
    return Project(unmatched, nulls + same(node.right) + id_item(ids, pad))


def both_ends(part: Callable[[At], Plan]) -> Plan:
    """A part of the result at t0 as DELETE and at t1 as INSERT."""
    return UnionAll((marked(part(At.T0), DELETE), marked(part(At.T1), INSERT)))


def marked(plan: Plan, action: str) -> Plan:
    """The rows with `$ACTION` added (before `$ROW_ID`)."""
    items: list[tuple[str, Expr]] = [
        (column.name, column) for column in columns(plan) if column.name != ROW_ID
    ]
    items.append((ACTION, text(action)))
    items.extend((column.name, column) for column in columns(plan) if column.name == ROW_ID)
    return Project(plan, tuple(items))
