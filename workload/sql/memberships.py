"""Which semi and anti joins IN and NOT IN stand for, and which EXISTS over a correlated query with groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from workload import query as ir
from workload.types import Kind


@dataclass(frozen=True, slots=True)
class Comparison:
    """`mine` [NOT] IN (the values of `theirs`, where `rest` holds)."""

    mine: ir.Expr
    theirs: ir.Expr
    rest: ir.Expr | None


def comparison_of(join: ir.Join) -> Comparison | None:
    """The comparison of a semi or anti join that IN or NOT IN can stand for; None for another one.

    NOT IN keeps no row for which a comparison is NULL, so it stands for NOT ((x = y) IS FALSE) alone.
    """
    condition, rest = join.on, None
    if isinstance(condition, ir.Call) and condition.function == "and":
        condition, rest = condition.args
    if join.kind is ir.JoinKind.ANTI:
        condition = _inside(_inside(condition, "not"), "is_false")
    match condition:
        case ir.Call("eq", (left, right), _) if left.type == right.type:
            theirs = {part.alias for part in ir.relations_of(join.right) if not isinstance(part, ir.Join)}
            if _reads_only(right, theirs) and not _reads_any(left, theirs):
                return Comparison(left, right, rest)
            if _reads_only(left, theirs) and not _reads_any(right, theirs):
                return Comparison(right, left, rest)
            return None
        case _:
            return None


def groups_of(join: ir.Join) -> ir.Select | None:
    """The groups among which a semi or anti join finds a match, tied to the row outside; None for no groups.

    What the join compares with a key is a condition of WHERE there, and with an aggregate one of HAVING.
    """
    match join.right:
        case ir.Derived(ir.Select(items, _, where, group_by, having) as inner, alias) if group_by:
            pass
        case _:
            return None
    if inner.sets is not None or inner.distinct or inner.qualify is not None or any(ir.windows_of(inner)):
        return None
    # 0.0 and -0.0 are one group, of which one is shown.
    if any(key.type.kind in (Kind.FLOAT, Kind.DOUBLE) for key in group_by):
        return None
    named = {item.name: item.expr for item in items}
    before: list[ir.Expr] = []
    after: list[ir.Expr] = []
    for condition in ir.conjuncts(join.on):
        of_row = ir.changed(condition, lambda part: _inside_out(part, alias, named))
        aggregated = any(isinstance(part, ir.Aggregate) for part in ir.subexpressions(of_row))
        (after if aggregated else before).append(of_row)
    return replace(
        inner,
        where=conjunction([*before, *([] if where is None else [where])]),
        having=conjunction([*([] if having is None else [having]), *after]),
    )


def with_groups(select: ir.Select, joins: list[ir.Join]) -> tuple[ir.Select, list[ir.Join]] | None:
    """The block that reads groups in its FROM clause, as a block with these groups; None where it cannot be.

    The semi and anti joins with it, whose left sides are the groups, become conditions of HAVING: so they may
    compare keys that are columns; and aggregates where IN says so.
    """
    of_groups = over_groups(select)
    if of_groups is None:
        return None
    mapped = [replace(join, on=None if join.on is None else of_groups.changed(join.on)) for join in joins]
    if not all(map(_may_stand_in_having, mapped)):
        return None
    compared = [join.on for join in joins if join.on is not None]
    outside = [expr for expr in of_groups.read_by(compared) if not has_aggregate(expr)]
    return (of_groups.block, mapped) if of_groups.are_plain_keys(outside) else None


def _may_stand_in_having(join: ir.Join) -> bool:
    """Tells whether the query of a membership has no aggregate of the groups outside."""
    if join.on is None or not has_aggregate(join.on):
        return True
    compared = comparison_of(join)
    return compared is not None and not (compared.rest is not None and has_aggregate(compared.rest))


def has_aggregate(expr: ir.Expr) -> bool:
    """Tells whether an expression has an aggregate in it."""
    return any(isinstance(part, ir.Aggregate) for part in ir.subexpressions(expr))


@dataclass(frozen=True, slots=True)
class OverGroups:
    """A block that reads groups in its FROM clause, written as one `block` with these groups.

    `named`: the columns of the relation `alias`, which is gone, and what they stand for in the block.
    """

    block: ir.Select
    alias: str
    named: Mapping[str, ir.Expr]

    def changed(self, node: ir.N) -> ir.N:
        """Returns an expression over the relation that is gone, as one over the groups."""
        return ir.changed(node, lambda part: _inside_out(part, self.alias, self.named))

    def read_by(self, exprs: Iterable[ir.Expr]) -> list[ir.Expr]:
        """Returns what the columns of the relation stand for that expressions read."""
        parts = (part for expr in exprs for part in ir.subexpressions(expr))
        return [
            self.named[part.name]
            for part in parts
            if isinstance(part, ir.ColumnRef) and part.relation == self.alias
        ]

    def are_plain_keys(self, exprs: Iterable[ir.Expr]) -> bool:
        """Tells whether all of these are keys of every group that are columns, and no floats.

        0.0 and -0.0 are one group, of which one is shown.
        """
        keys = self.block.group_by if self.block.sets is None else ()
        return all(
            isinstance(expr, ir.ColumnRef)
            and expr in (keys or ())
            and expr.type.kind not in (Kind.FLOAT, Kind.DOUBLE)
            for expr in exprs
        )


def over_groups(select: ir.Select) -> OverGroups | None:
    """The block that reads groups in its FROM clause, as a block with these; None where it cannot be one."""
    match select.source:
        case ir.Derived(ir.Select(items, group_by=tuple()) as groups, alias):
            pass
        case _:
            return None
    if groups.distinct or groups.qualify is not None or any(ir.windows_of(groups)):
        return None
    if select.group_by is not None or select.distinct or any(ir.windows_of(select)):
        return None
    named = {item.name: item.expr for item in items}
    outer = OverGroups(groups, alias, named)
    kept = [] if groups.having is None else [groups.having]
    kept += [] if select.where is None else [outer.changed(select.where)]
    shown = tuple(map(outer.changed, select.items))
    block = replace(groups, items=shown, having=conjunction(kept))
    # Without a key, an aggregate alone tells that there are groups.
    is_grouped = groups.group_by or any(map(has_aggregate, [*(item.expr for item in shown), *kept]))
    return OverGroups(block, alias, named) if is_grouped else None


def _inside_out(part: ir.Node, alias: str, named: Mapping[str, ir.Expr]) -> ir.Expr | None:
    inside = isinstance(part, ir.ColumnRef) and part.relation == alias
    return named[part.name] if inside and isinstance(part, ir.ColumnRef) else None


def conjunction(conditions: list[ir.Expr]) -> ir.Expr | None:
    """All conditions joined by AND; None for no condition."""
    return reduce(ir.both, conditions, None)


def _inside(condition: ir.Expr | None, function: str) -> ir.Expr | None:
    if isinstance(condition, ir.Call) and condition.function == function:
        return condition.args[0]
    return None


def _reads_only(expr: ir.Expr, relations: set[str]) -> bool:
    read = _relations(expr)
    return bool(read) and read <= relations


def _reads_any(expr: ir.Expr, relations: set[str]) -> bool:
    read = _relations(expr)
    # COUNT(*) reads rows, and a constant nothing.
    return bool(read & relations) or not (read or has_aggregate(expr))


def _relations(expr: ir.Expr) -> set[str]:
    return {part.relation for part in ir.subexpressions(expr) if isinstance(part, ir.ColumnRef)}
