"""ORDER BY with LIMIT and OFFSET (top-k): the first rows at both ends of the interval."""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import ID, At, Differentiation
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.expressions import SortKey
from dynamic_tables.plan.nodes import Limit, Plan, Project


def state_limit(node: Limit, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the first rows at one end; their ids pass through.

    Rows that are equal in all keys of the order are taken in the order of their ids, so that the rows that
    were first before a change are found again in a later refresh.
    """
    if not d.identified:
        return Limit(d.state(node.child, at, False), node.order, node.count, node.offset)
    order = (*node.order, SortKey(ID))
    rows = Limit(d.state(node.child, at, True), order, node.count, node.offset)
    return rows if ids else Project(rows, same(node))


def delta_limit(node: Limit, ids: bool, d: Differentiation) -> Plan:
    """Returns the first rows at t0 as DELETE and at t1 as INSERT; rows that stay cancel at the root.

    A row may come in because another one goes, so the changes of the child do not suffice: both ends are
    computed from all rows. The change set still holds only the rows that come in or go out.
    """
    return both_ends(lambda at: d.state(node, at, ids))
