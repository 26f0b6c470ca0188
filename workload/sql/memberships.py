"""Semi and anti joins as the conditions that people write for them: [NOT] IN, and EXISTS over groups.

The IR has joins only. A writer of SQL asks here which join can be written as `x IN (SELECT ..)`, and which as
EXISTS over a correlated query with GROUP BY and HAVING.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from workload import query as ir
from workload.types import Kind


@dataclass(frozen=True, slots=True)
class Comparison:
    """`mine` [NOT] IN (the values of `theirs`, where `rest` holds). `theirs` reads the join's right side."""

    mine: ir.Expr
    theirs: ir.Expr
    rest: ir.Expr | None


def comparison_of(join: ir.Join) -> Comparison | None:
    """Returns the comparison of a semi or anti join that IN or NOT IN can stand for; None: there is none.

    NOT IN keeps no row for which a comparison is NULL, so it stands for NOT ((x = y) IS FALSE) alone.
    """
    condition, rest = join.on, None
    if isinstance(condition, ir.Call) and condition.function == "and":
        condition, rest = condition.args
    if join.kind is ir.JoinKind.ANTI:
        condition = _argument_of(_argument_of(condition, "not"), "is_false")
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
    """Returns the groups among which a semi or anti join finds a match, as a query; None for no groups.

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
    in_where: list[ir.Expr] = []
    in_having: list[ir.Expr] = []
    for condition in ir.conjuncts(join.on):
        over_inputs = ir.changed(condition, lambda part: _inside_out(part, alias, named))
        aggregated = any(isinstance(part, ir.Aggregate) for part in ir.subexpressions(over_inputs))
        (in_having if aggregated else in_where).append(over_inputs)
    return replace(
        inner,
        where=conjunction([*in_where, *([] if where is None else [where])]),
        having=conjunction([*([] if having is None else [having]), *in_having]),
    )


def with_groups(select: ir.Select, joins: list[ir.Join]) -> tuple[ir.Select, list[ir.Join]] | None:
    """Returns a block that reads groups in its FROM clause as a block with these; None: it cannot be one.

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
    """Tells whether the query inside a membership reads no aggregate of the groups outside."""
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

    `SELECT g.n FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS g WHERE g.n > 1` becomes `SELECT COUNT(*)
    AS n FROM t GROUP BY k HAVING COUNT(*) > 1`. `named`: the columns of the relation `alias` (`g` here),
    which is gone, and what they stand for in the block.
    """

    block: ir.Select
    alias: str
    named: Mapping[str, ir.Expr]

    def changed(self, node: ir.N) -> ir.N:
        """Returns an expression over the relation that is gone, as one over the groups."""
        return ir.changed(node, lambda part: _inside_out(part, self.alias, self.named))

    def read_by(self, exprs: Iterable[ir.Expr]) -> list[ir.Expr]:
        """Returns, for each column of the relation that some expressions read, what it stands for."""
        parts = (part for expr in exprs for part in ir.subexpressions(expr))
        return [
            self.named[part.name]
            for part in parts
            if isinstance(part, ir.ColumnRef) and part.relation == self.alias
        ]

    def are_plain_keys(self, exprs: Iterable[ir.Expr]) -> bool:
        """Tells whether all of these are columns, no floats, and keys of every group.

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
    """Returns a block that reads groups in its FROM clause as a block with these; None: it cannot be one."""
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
    over = OverGroups(groups, alias, named)
    conditions = [] if groups.having is None else [groups.having]
    conditions += [] if select.where is None else [over.changed(select.where)]
    items_of_block = tuple(map(over.changed, select.items))
    block = replace(groups, items=items_of_block, having=conjunction(conditions))
    # Without a key, an aggregate alone tells that there are groups.
    is_grouped = groups.group_by or any(
        map(has_aggregate, [*(item.expr for item in items_of_block), *conditions])
    )
    return OverGroups(block, alias, named) if is_grouped else None


def _inside_out(part: ir.Node, alias: str, named: Mapping[str, ir.Expr]) -> ir.Expr | None:
    """Returns what a column of the relation `alias` stands for; None for another node."""
    inside = isinstance(part, ir.ColumnRef) and part.relation == alias
    return named[part.name] if inside and isinstance(part, ir.ColumnRef) else None


def conjunction(conditions: list[ir.Expr]) -> ir.Expr | None:
    """Returns all conditions joined by AND; None for no condition."""
    return reduce(ir.both, conditions, None)


def _argument_of(condition: ir.Expr | None, function: str) -> ir.Expr | None:
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
