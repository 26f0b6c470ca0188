"""The paper's own rule for outer joins, which the engine does not use; faults of other systems plant in it.

The affected rows of the preserved side, which changed or which a changed row of the other side matches, are
joined anew at both ends of the interval (DVS paper, section 5.5.1).
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import ID, At, Differentiation
from dynamic_tables.differentiate.inner_join import LEFT_ID, RIGHT_ID, with_id_as
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import condition
from dynamic_tables.plan.expressions import Col, boolean
from dynamic_tables.plan.nodes import Join, JoinKind, Plan, Project, SemiJoin, UnionAll
from dynamic_tables.plan.types import STRING

AFFECTED = Col("$AFFECTED", STRING)


def affected_rows(changed: Plan, before: Plan, other_changes: Plan, node: Join) -> Plan:
    """The ids of the rows that changed, and of the rows at t0 that a changed row of the other side matches.

    A row that is new at t1 has changed itself, so t0 is enough. Both images of an update on the other side
    count.
    """
    matched = Join(JoinKind.INNER, with_id_as(before, AFFECTED), other_changes, condition(node))
    return UnionAll(
        (Project(changed, ((AFFECTED.name, ID),)), Project(matched, ((AFFECTED.name, AFFECTED),)))
    )


def only_affected(plan: Plan, id_column: Col, affected: Plan) -> Plan:
    """The rows whose id is among the affected ids."""
    return SemiJoin(plan, affected, boolean("=", id_column, AFFECTED))


def left_part(node: Join, affected: Plan, at: At, want_ids: bool, d: Differentiation) -> Plan:
    """The left join of the affected left rows at one end."""
    rows = only_affected(with_id_as(d.state(node.left, at, True), LEFT_ID), LEFT_ID, affected)
    right = with_id_as(d.state(node.right, at, want_ids), RIGHT_ID)
    joined = Join(JoinKind.LEFT, rows, right, condition(node))
    return Project(joined, same(node) + id_item(want_ids, d.row_ids.pair(LEFT_ID, RIGHT_ID)))
