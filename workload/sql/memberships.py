"""Which semi and anti joins IN and NOT IN stand for, and which EXISTS over a correlated query with groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from workload import query as ir
from workload.types import BOOLEAN, Kind


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
    for condition in conjuncts(join.on):
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
    compare keys that are columns, and nothing else of the groups.
    """
    match select.source:
        case ir.Derived(ir.Select(items, _, _, group_by) as groups, alias) if group_by:
            pass
        case _:
            return None
    if groups.sets is not None or groups.distinct or groups.qualify is not None or any(ir.windows_of(groups)):
        return None
    if select.group_by is not None or select.distinct or any(ir.windows_of(select)):
        return None
    named = {item.name: item.expr for item in items}
    keys = {key for key in group_by if isinstance(key, ir.ColumnRef)}
    compared = [part for join in joins if join.on is not None for part in ir.subexpressions(join.on)]
    outside = {
        named[part.name] for part in compared if isinstance(part, ir.ColumnRef) and part.relation == alias
    }
    if not outside <= keys or any(key.type.kind in (Kind.FLOAT, Kind.DOUBLE) for key in outside):
        return None

    def of_groups(node: ir.N) -> ir.N:
        return ir.changed(node, lambda part: _inside_out(part, alias, named))

    kept = [] if groups.having is None else [groups.having]
    kept += [] if select.where is None else [of_groups(select.where)]
    shown = tuple(map(of_groups, select.items))
    return replace(groups, items=shown, having=conjunction(kept)), [
        replace(join, on=None if join.on is None else of_groups(join.on)) for join in joins
    ]


def _inside_out(part: ir.Node, alias: str, named: Mapping[str, ir.Expr]) -> ir.Expr | None:
    inside = isinstance(part, ir.ColumnRef) and part.relation == alias
    return named[part.name] if inside and isinstance(part, ir.ColumnRef) else None


def conjuncts(condition: ir.Expr | None) -> Iterator[ir.Expr]:
    """The conditions that AND joins, at any depth; none for no condition."""
    match condition:
        case None:
            return
        case ir.Call("and", parts, _):
            for part in parts:
                yield from conjuncts(part)
        case _:
            yield condition


def conjunction(conditions: list[ir.Expr]) -> ir.Expr | None:
    """All conditions joined by AND; None for no condition."""
    if not conditions:
        return None
    first, *rest = conditions
    for condition in rest:
        first = ir.Call("and", (first, condition), BOOLEAN)
    return first


def _inside(condition: ir.Expr | None, function: str) -> ir.Expr | None:
    if isinstance(condition, ir.Call) and condition.function == function:
        return condition.args[0]
    return None


def _reads_only(expr: ir.Expr, relations: set[str]) -> bool:
    read = _relations(expr)
    return bool(read) and read <= relations


def _reads_any(expr: ir.Expr, relations: set[str]) -> bool:
    read = _relations(expr)
    return not read or bool(read & relations)


def _relations(expr: ir.Expr) -> set[str]:
    return {part.relation for part in ir.subexpressions(expr) if isinstance(part, ir.ColumnRef)}
