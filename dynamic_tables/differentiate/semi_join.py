"""Semi and anti joins, the plan of EXISTS, IN and their negations, differentiated one side at a time.

A left row is a member if it has a match on the right. For a fixed right side both joins are filters of the
left side, so changed left rows are filtered by the right side at t1. A left row that did not change can
change its membership only if a changed right row matches it; such rows are computed at both ends (see
`outer_join`).

A mark join is EXISTS or IN as a value, under OR and CASE or in the select list. It keeps all left rows and
adds a BOOLEAN column: TRUE for a row with a match, FALSE for one without, and for IN also NULL (1 IN (2,
NULL)). It is differentiated in the same way.
"""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.linear import same
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.plan.expressions import Lit, boolean
from dynamic_tables.plan.nodes import ACTION, ROW_ID, Mark, Plan, Project, SemiJoin, UnionAll
from dynamic_tables.plan.types import BOOLEAN


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


def state_mark(node: Mark, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the left rows at one end with their marks; their ids pass through."""
    return marked_rows(node, d.state(node.left, at, ids), d.state(node.right, at, False))


def marked_rows(node: Mark, rows: Plan, right: Plan) -> Plan:
    """Returns rows with their marks: TRUE for members, NULL for those that may be members, FALSE for others.

    `node.perhaps` is the condition that also holds where a comparison is NULL; without it no mark is NULL.
    """
    members = _with_mark(node, SemiJoin(rows, right, node.on), value=True)
    rest = SemiJoin(rows, right, node.on, anti=True)
    if node.perhaps is None:
        return UnionAll((members, _with_mark(node, rest, value=False)))
    perhaps = _with_mark(node, SemiJoin(rest, right, node.perhaps), value=None)
    others = _with_mark(node, SemiJoin(rest, right, node.perhaps, anti=True), value=False)
    return UnionAll((members, perhaps, others))


def _with_mark(node: Mark, rows: Plan, *, value: bool | None) -> Plan:
    values = [item for item in same(rows) if item[0] not in (ACTION, ROW_ID)]
    rest = [item for item in same(rows) if item[0] in (ACTION, ROW_ID)]
    return Project(rows, (*values, (node.name, Lit(value, BOOLEAN)), *rest))


def delta_mark(node: Mark, ids: bool, d: Differentiation) -> Plan:
    """Returns the changed left rows with their marks at t1, and the rows at t0 whose mark may have changed.

    A row at t0 that a changed row of the right side meets is a DELETE with its mark at t0, and an INSERT with
    its mark at t1; both cancel at the root if the mark is the same.
    """
    # A changed right row can also turn a mark from FALSE to NULL, or back.
    condition = node.on if node.perhaps is None else boolean("or", node.on, node.perhaps)
    rows = SemiJoin(d.state(node.left, At.T0, ids), d.delta(node.right, False), condition)
    changed = marked_rows(node, d.delta(node.left, ids), d.state(node.right, At.T1, False))
    return UnionAll((changed, both_ends(lambda at: marked_rows(node, rows, d.state(node.right, at, False)))))
