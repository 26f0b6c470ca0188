"""Operators that commute with changes: scan, projection, filter, UNION ALL."""

from __future__ import annotations

from dynamic_tables.differentiate.differentiation import ACT, ID, At, Differentiation, leaf_name
from dynamic_tables.plan.expressions import Col, Expr
from dynamic_tables.plan.nodes import ACTION, ROW_ID, Filter, Leaf, Plan, Project, Scan, UnionAll, columns


def same(plan: Plan) -> tuple[tuple[str, Expr], ...]:
    """Projection items that keep the columns of a node as they are."""
    return tuple((column.name, column) for column in columns(plan))


def id_item(ids: bool, expr: Expr = ID) -> tuple[tuple[str, Expr], ...]:
    """The `$ROW_ID` item, where ids are wanted."""
    return ((ROW_ID, expr),) if ids else ()


def state_scan(node: Scan, at: At, ids: bool, _: Differentiation) -> Plan:
    """The source's rows as of one end."""
    return Leaf(leaf_name(node.source, at), node.columns + (((ROW_ID, ID),) if ids else ()))


def delta_scan(node: Scan, ids: bool, _: Differentiation) -> Plan:
    """The source's changes: old and new images, as captured between its two versions."""
    extra: tuple[tuple[str, Col], ...] = ((ACTION, ACT),)
    return Leaf(leaf_name(node.source, None), node.columns + extra + (((ROW_ID, ID),) if ids else ()))


def state_project(node: Project, at: At, ids: bool, d: Differentiation) -> Plan:
    """pi(Q): row ids pass through."""
    return Project(d.state(node.child, at, ids), node.items + id_item(ids))


def delta_project(node: Project, ids: bool, d: Differentiation) -> Plan:
    """Delta pi(Q) = pi(Delta Q). Both images of an update are projected; equal ones cancel at the root."""
    return Project(d.delta(node.child, ids), (*node.items, (ACTION, ACT), *id_item(ids)))


def state_filter(node: Filter, at: At, ids: bool, d: Differentiation) -> Plan:
    """sigma_p(Q)."""
    return Filter(d.state(node.child, at, ids), node.predicate)


def delta_filter(node: Filter, ids: bool, d: Differentiation) -> Plan:
    """Delta sigma_p(Q) = sigma_p(Delta Q).

    A predicate that reads only the row itself commutes with the change set, so an update that crosses
    it arrives as the DELETE or the INSERT alone (DVS paper, section 5.5).
    """
    return Filter(d.delta(node.child, ids), node.predicate)


def state_union_all(node: UnionAll, at: At, ids: bool, d: Differentiation) -> Plan:
    """The branches side by side; an id names its branch, for the same row may come from two."""
    return UnionAll(
        tuple(
            Project(d.state(branch, at, ids), same(branch) + id_item(ids, d.row_ids.branch(number, ID)))
            for number, branch in enumerate(node.branches)
        )
    )


def delta_union_all(node: UnionAll, ids: bool, d: Differentiation) -> Plan:
    """Delta (Q1 + Q2) = Delta Q1 + Delta Q2."""
    return UnionAll(
        tuple(
            Project(
                d.delta(branch, ids),
                (*same(branch), (ACTION, ACT), *id_item(ids, d.row_ids.branch(number, ID))),
            )
            for number, branch in enumerate(node.branches)
        )
    )
