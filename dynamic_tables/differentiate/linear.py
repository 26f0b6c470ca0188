"""Linear operators: scan, constant rows, projection, filter, UNION ALL, and explode, the elements of arrays.

An operator f is linear if the changes of f(Q) are f applied to the changes of Q (DVS paper, section 5.5):
each output row follows from one input row. So a refresh reads only changed rows, and a delta rule looks like
its state rule.
"""

from __future__ import annotations

from dataclasses import replace

from dynamic_tables.differentiate.differentiation import ACT, ID, At, Differentiation, leaf_name
from dynamic_tables.plan import nodes
from dynamic_tables.plan.expressions import FALSE, Col, Expr, text


def same(plan: nodes.Plan) -> tuple[tuple[str, Expr], ...]:
    """Returns projection items that pass on the columns of a node unchanged."""
    return tuple((column.name, column) for column in nodes.columns(plan))


def id_item(ids: bool, expr: Expr = ID) -> tuple[tuple[str, Expr], ...]:
    """Returns the projection item for `$ROW_ID` if `ids`, else no item."""
    return ((nodes.ROW_ID, expr),) if ids else ()


def state_scan(node: nodes.Scan, at: At, ids: bool, _: Differentiation) -> nodes.Plan:
    """Returns the rows of a source at one end of the interval."""
    return nodes.Leaf(leaf_name(node.source, at), node.columns + (((nodes.ROW_ID, ID),) if ids else ()))


def delta_scan(node: nodes.Scan, ids: bool, _: Differentiation) -> nodes.Plan:
    """Returns the changes of a source: old and new images, captured between its versions at t0 and t1."""
    extra: tuple[tuple[str, Col], ...] = ((nodes.ACTION, ACT),)
    return nodes.Leaf(
        leaf_name(node.source, None), node.columns + extra + (((nodes.ROW_ID, ID),) if ids else ())
    )


def state_values(node: nodes.Values, at: At, ids: bool, _: Differentiation) -> nodes.Plan:
    """Returns the row that a query writes out, such as that of SELECT 1.

    The binder makes a UNION ALL of several constant rows, so here is only one, and its id is a constant.
    """
    return nodes.Project(node, same(node) + id_item(ids, text("v"))) if ids else node


def delta_values(node: nodes.Values, ids: bool, _: Differentiation) -> nodes.Plan:
    """Returns no changes, because constants never change; the plan only gives the columns."""
    row = nodes.Project(node, (*same(node), (nodes.ACTION, text(nodes.INSERT)), *id_item(ids, text("v"))))
    return nodes.Filter(row, FALSE)


def state_project(node: nodes.Project, at: At, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns pi(Q) at one end of the interval; row ids pass through."""
    return nodes.Project(d.state(node.child, at, ids), node.items + id_item(ids))


def delta_project(node: nodes.Project, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns Delta pi(Q) = pi(Delta Q) (DVS paper, section 5.5).

    Both images of an update are projected; if they become equal, they cancel at the root.
    """
    return nodes.Project(d.delta(node.child, ids), (*node.items, (nodes.ACTION, ACT), *id_item(ids)))


def state_filter(node: nodes.Filter, at: At, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns sigma_p(Q) at one end of the interval; row ids pass through."""
    return nodes.Filter(d.state(node.child, at, ids), node.predicate)


def delta_filter(node: nodes.Filter, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns Delta sigma_p(Q) = sigma_p(Delta Q) (DVS paper, section 5.5).

    A predicate that reads only the row itself commutes with the change set: of an update that makes it
    true or false, only the INSERT or only the DELETE remains.
    """
    return nodes.Filter(d.delta(node.child, ids), node.predicate)


def state_union_all(node: nodes.UnionAll, at: At, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns the rows of all branches.

    A row id gets the number of the branch as a prefix: two branches may read one table, and then a row of it
    has the same id in both.
    """
    return nodes.UnionAll(
        tuple(
            nodes.Project(d.state(branch, at, ids), same(branch) + id_item(ids, d.row_ids.branch(number, ID)))
            for number, branch in enumerate(node.branches)
        )
    )


def delta_union_all(node: nodes.UnionAll, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns Delta (Q1 + Q2) = Delta Q1 + Delta Q2 (DVS paper, section 5.5)."""
    return nodes.UnionAll(
        tuple(
            nodes.Project(
                d.delta(branch, ids),
                (*same(branch), (nodes.ACTION, ACT), *id_item(ids, d.row_ids.branch(number, ID))),
            )
            for number, branch in enumerate(node.branches)
        )
    )


def state_explode(node: nodes.Explode, at: At, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns the elements at one end of the interval; an id is that of the row and the position.

    The row (1, [7, 7]) with the id x gives (1, 7) with the ids e(x, 0) and e(x, 1); with OUTER the row
    (2, []) with the id y gives (2, NULL) with the id e(y, NULL).
    """
    return exploded(node, d.state(node.child, at, ids), (), ids, d)


def delta_explode(node: nodes.Explode, ids: bool, d: Differentiation) -> nodes.Plan:
    """Returns Delta explode(Q) = explode(Delta Q), pads included.

    Both images of an update are exploded; the elements that are the same at the same position cancel at the
    root. With OUTER, a row that loses its last element gives a DELETE of this and an INSERT of its pad.
    """
    return exploded(node, d.delta(node.child, ids), ((nodes.ACTION, ACT),), ids, d)


def exploded(
    node: nodes.Explode, rows: nodes.Plan, kept: tuple[tuple[str, Expr], ...], ids: bool, d: Differentiation
) -> nodes.Plan:
    """Returns the elements of given rows of the child; `kept`: more columns of these rows."""
    row_id = d.row_ids.element(ID, node.position)
    return nodes.Project(replace(node, child=rows), (*same(node), *kept, *id_item(ids, row_id)))
