"""Semi and anti joins, the plan of EXISTS, IN and their negations, differentiated one side at a time.

A left row is a member if it has a match on the right. For a fixed right side both joins are filters of the
left side, so changed left rows are filtered by the right side at t1. A left row that did not change can
change its membership only if a changed right row matches it; such rows are computed at both ends (see
`outer_join`).
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.nodes import Plan, SemiJoin, UnionAll


def state_semi_join(node: SemiJoin, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the left rows that have a match, or none, at one end; their ids pass through."""
    return SemiJoin(d.state(node.left, at, ids), d.state(node.right, at, False), node.on, node.anti)


def delta_semi_join(node: SemiJoin, ids: bool, d: Differentiation) -> Plan:
    """Returns the changed left rows by their membership at t1, and the rows at t0 whose membership changed.

    A row at t0 that a changed row of the right side matches is a DELETE if it was a member at t0, and an
    INSERT if it is one at t1; both cancel at the root.
    """
    rows = touched(node, ids, d)
    changed = SemiJoin(d.delta(node.left, ids), d.state(node.right, At.T1, False), node.on, node.anti)
    members = both_ends(lambda at: SemiJoin(rows, d.state(node.right, at, False), node.on, node.anti))
    return UnionAll((changed, members))


def touched(node: SemiJoin, ids: bool, d: Differentiation) -> Plan:
    """Returns the left rows at t0 that a changed row of the right side matches."""
    return SemiJoin(d.state(node.left, At.T0, ids), d.delta(node.right, False), node.on)
