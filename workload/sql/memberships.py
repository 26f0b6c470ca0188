"""Which semi and anti joins IN and NOT IN stand for."""

from __future__ import annotations

from dataclasses import dataclass

from workload import query as ir


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
