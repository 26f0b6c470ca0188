"""The elements of an array as rows: a linear operator, as a row's elements depend on that row alone."""

from __future__ import annotations

from dataclasses import replace

from dynamic_tables.differentiate.differentiation import ACT, ID, At, Differentiation
from dynamic_tables.differentiate.linear import id_item, same
from dynamic_tables.plan.expressions import Expr
from dynamic_tables.plan.nodes import ACTION, Explode, Plan, Project


def state_explode(node: Explode, at: At, ids: bool, d: Differentiation) -> Plan:
    """Returns the elements at one end of the interval; an id is that of the row and the position.

    The row (1, [7, 7]) with the id x gives (1, 7) with the ids e(x, 0) and e(x, 1); with OUTER the row
    (2, []) with the id y gives (2, NULL) with the id e(y, NULL).
    """
    return exploded(node, d.state(node.child, at, ids), (), ids, d)


def delta_explode(node: Explode, ids: bool, d: Differentiation) -> Plan:
    """Returns Delta explode(Q) = explode(Delta Q), pads included.

    Both images of an update are exploded; the elements that are the same at the same position cancel at the
    root. With OUTER, a row that loses its last element gives a DELETE of this and an INSERT of its pad.
    """
    return exploded(node, d.delta(node.child, ids), ((ACTION, ACT),), ids, d)


def exploded(
    node: Explode, rows: Plan, kept: tuple[tuple[str, Expr], ...], ids: bool, d: Differentiation
) -> Plan:
    """Returns the elements of given rows of the child; `kept`: more columns of these rows."""
    row_id = d.row_ids.element(ID, node.position)
    return Project(replace(node, child=rows), (*same(node), *kept, *id_item(ids, row_id)))
