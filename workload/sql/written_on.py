"""Memberships that ON of a left join has: `r LEFT JOIN s ON r.k = s.k AND EXISTS (SELECT 1 FROM t ..)`."""

from __future__ import annotations

from dataclasses import replace

from workload import query as ir


def membership_in_on(join: ir.Join) -> tuple[ir.Join, ir.Join] | None:
    """Returns a left join without a membership of its right side, and the membership as a condition of ON.

    A right side `(SELECT s.k AS x FROM s SEMI JOIN t ON s.k = t.k) g` is `(SELECT s.k AS x FROM s) g` where
    `g SEMI JOIN t ON g.x = t.k` has the row. None: the right side is another one.
    """
    match join.right:
        case ir.Derived(ir.Select(source=ir.Join(on=ir.Call())) as block, alias):
            member = block.source
        case _:
            return None
    assert isinstance(member, ir.Join)
    if join.kind is not ir.JoinKind.LEFT or join.on is None or member.kind not in ir.MEMBERSHIP:
        return None
    shown = {
        item.expr: ir.ColumnRef(alias, item.name, item.expr.type)
        for item in block.items
        if isinstance(item.expr, ir.ColumnRef)
    }
    plain = replace(block, source=member.left)
    if plain != ir.Select(block.items, member.left) or len(shown) != len(block.items):
        return None
    if not isinstance(member.left, ir.Named) or isinstance(member.right, ir.Join | ir.Exploded):
        return None
    assert member.on is not None, "only CROSS has no condition"
    on = ir.changed(member.on, lambda each: shown.get(each) if isinstance(each, ir.ColumnRef) else None)
    if any(isinstance(e, ir.ColumnRef) and e.relation == member.left.alias for e in ir.walk(on)):
        return None
    right = ir.Derived(plain, alias)
    return replace(join, right=right), ir.Join(member.kind, right, member.right, on)
