"""Moves a condition of one side of an outer join into ON: `ON r.k = s.k AND EXISTS (SELECT 1 FROM t ..)`.

The padded side is the one whose columns are NULL where a row has no partner: the right one of a LEFT JOIN. In
`r LEFT JOIN (SELECT .. FROM s WHERE c) g ON ..` a condition c of the padded side may be in g or in ON: the
rows are the same. So `writer` can write such a query in a second way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workload import query as ir
from workload.sql.scalars import ScalarJoin, scalar_join

PADDED = {ir.JoinKind.LEFT: "right", ir.JoinKind.RIGHT: "left"}
"""The padded side of an outer join; a full join pads both, so that nothing can be moved."""


def membership_in_on(join: ir.Join) -> tuple[ir.Join, ir.Join] | None:
    """Returns an outer join without the semi or anti join of its padded side, and that join by itself.

    The side `(SELECT s.k AS x FROM s SEMI JOIN t ON s.k = t.k) g` becomes `(SELECT s.k AS x FROM s) g`, and
    the join for ON is `g SEMI JOIN t ON g.x = t.k`. None: the padded side has no such form.
    """
    side = _padded(join)
    match side:
        case ir.Derived(ir.Select(source=ir.Join(on=ir.Call()) as member) as block, alias):
            pass
        case _:
            return None
    if member.kind not in ir.MEMBERSHIP or block != ir.Select(block.items, member):
        return None
    shown = _shown(block, alias)
    if (
        shown is None
        or not isinstance(member.left, ir.Named)
        or isinstance(member.right, ir.Join | ir.Exploded)
    ):
        return None
    assert member.on is not None, "only CROSS has no condition"
    on = _renamed(member.on, shown)
    if _reads(on, member.left.alias):
        return None
    plain = ir.Derived(ir.Select(block.items, member.left), alias)
    return _with(join, plain), ir.Join(member.kind, plain, member.right, on)


def value_in_on(join: ir.Join) -> tuple[ir.Join, ir.Expr, ScalarJoin] | None:
    """Returns an outer join without the condition of its padded side, the condition, and its scalar subquery.

    The side `(SELECT s.k AS x FROM s CROSS JOIN (SELECT MAX(..) AS m ..) v WHERE s.k = v.m) g` becomes
    `(SELECT s.k AS x FROM s) g`; the condition is `g.x = v.m`. None: the padded side has no such form.
    """
    match _padded(join):
        case ir.Derived(ir.Select(source=ir.Join(kind=ir.JoinKind.CROSS), where=ir.Call()) as block, alias):
            pass
        case _:
            return None
    found = scalar_join(block)
    if found is None or found.marks or not isinstance(found.left, ir.Named):
        return None
    shown = _shown(block, alias)
    if shown is None or block != ir.Select(block.items, block.source, block.where):
        return None
    assert block.where is not None, "it is a call"
    on = _renamed(block.where, shown)
    if _reads(on, found.left.alias):
        return None
    return _with(join, ir.Derived(ir.Select(block.items, found.left), alias)), on, found


def _padded(join: ir.Join) -> ir.Relation | None:
    """Returns the padded side of an outer join; None for a join of another kind."""
    if join.on is None or join.kind not in PADDED:
        return None
    return join.right if PADDED[join.kind] == "right" else join.left


def _with(join: ir.Join, side: ir.Relation) -> ir.Join:
    return replace(join, right=side) if PADDED[join.kind] == "right" else replace(join, left=side)


def _shown(block: ir.Select, alias: str) -> Mapping[ir.Expr, ir.Expr] | None:
    """Returns the output that shows each column; None: an output is computed, or a column is shown twice."""
    shown: dict[ir.Expr, ir.Expr] = {
        item.expr: ir.ColumnRef(alias, item.name, item.expr.type)
        for item in block.items
        if isinstance(item.expr, ir.ColumnRef)
    }
    return shown if len(shown) == len(block.items) else None


def _renamed(condition: ir.Expr, shown: Mapping[ir.Expr, ir.Expr]) -> ir.Expr:
    return ir.changed(condition, lambda each: shown.get(each) if isinstance(each, ir.ColumnRef) else None)


def _reads(condition: ir.Expr, alias: str) -> bool:
    return any(isinstance(each, ir.ColumnRef) and each.relation == alias for each in ir.walk(condition))
