"""ORDER BY with LIMIT and OFFSET (top-k): the first rows at both ends of the interval.

The changes of the input are not enough: if one of the first k rows is deleted, the row k + 1, which did not
change, comes in. So both ends are computed from all rows; at the top of a query the stored rows of the table
are the first rows at t0, and only t1 is computed (`delta_of_contents`).
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import CONTENTS, ID, At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.differentiate.outer_join import both_ends, marked
from dynamic_tables.plan import nodes
from dynamic_tables.plan.branches import Branch
from dynamic_tables.plan.expressions import Col, SortKey


def state_limit(node: nodes.Limit, at: At, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns the first rows at one end; their ids pass through.

    Rows that are equal in all keys of the order (ties) are taken in the order of their ids. So a later
    refresh finds the same rows for t0 as this one does for t1, and the DELETEs fit the stored rows.
    """
    if not d.identified:
        # Without row ids nothing is compared with later contents: any of the tied rows is right.
        return nodes.Limit(d.state(node.child, at, False), node.order, node.count, node.offset)
    order = (*node.order, SortKey(ID))
    rows = nodes.Limit(d.state(node.child, at, True), order, node.count, node.offset)
    return rows if ids else nodes.Project(rows, same(node))


def delta_limit(node: nodes.Limit, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns the first rows at t0 as DELETE and at t1 as INSERT; rows that stay cancel at the root.

    What is left are the rows that come in or go out, and rows whose sum of doubles was added in another order
    and has other last bits than before.
    """
    d.met(Branch.LIMIT_BELOW_OFFSET if node.offset else Branch.LIMIT_BELOW)
    if node.free:
        d.met(Branch.LIMIT_OF_TIES)
    return both_ends(lambda at: d.state(node, at, ids))


def on_top(plan: nodes.Plan) -> nodes.Limit | None:
    """Returns the LIMIT at the top of a query, or None.

    Only projections and filters may stand above it.
    """
    while isinstance(plan, nodes.Project | nodes.Filter):
        plan = plan.child
    return plan if isinstance(plan, nodes.Limit) else None


def delta_of_contents(query: nodes.BoundQuery, top: nodes.Limit, d: Differentiation) -> nodes.Plan:
    """Returns the changes of a query with a LIMIT on top: the stored rows as DELETE, those at t1 as INSERT.

    The stored rows are the first rows at t0 (delayed view semantics), so these are not computed once more.
    """
    d.met(Branch.LIMIT_ON_TOP_OFFSET if top.offset else Branch.LIMIT_ON_TOP)
    if top.free:
        d.met(Branch.LIMIT_OF_TIES)
    stored = nodes.Leaf(
        CONTENTS, (*((name, Col(name, type_)) for name, type_ in query.schema), (nodes.ROW_ID, ID))
    )
    now = nodes.Project(d.state(query.plan, At.T1, True), query.outputs + id_item(True))
    return nodes.UnionAll((marked(stored, nodes.DELETE), marked(now, nodes.INSERT)))
