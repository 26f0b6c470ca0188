"""Replacing expressions inside expressions, relations and blocks, so that types and grouping stay right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from workload.query import Aggregate, Call, ColumnRef, Expr, Join, Literal, Relation, Select, subexpressions
from workload.types import INT, Kind

Change = Callable[[Expr], Expr | None]
"""A replacement for an expression, or None to look inside it."""


def changed(expr: Expr, change: Change) -> Expr:
    """The expression with everything replaced that `change` has a replacement for, outside in."""
    new = change(expr)
    if new is not None:
        return new
    match expr:
        case Call(args=args):
            return with_args(expr, tuple(changed(arg, change) for arg in args))
        case Aggregate(arg=arg) if arg is not None:
            return replace(expr, arg=changed(arg, change))
        case _:
            return expr


ARITHMETIC = ("add", "sub", "mul", "mul_decimal", "mod")


def with_args(call: Call, args: tuple[Expr, ...]) -> Call:
    """The call with other arguments of the same types.

    Beside a DECIMAL, Spark gives a bare INT literal the type DECIMAL of its own digits, and the result
    another type; a cast keeps it an INT.
    """
    if call.function in ARITHMETIC and any(arg.type.kind is Kind.DECIMAL for arg in args):
        args = tuple(
            Call("cast", (new,), INT) if isinstance(new, Literal) and new.type == INT and new != old else new
            for new, old in zip(args, call.args, strict=True)
        )
    return replace(call, args=args)


def changed_relation(relation: Relation, change: Change) -> Relation:
    """The relation with its ON conditions changed; sub-selects are not entered."""
    if isinstance(relation, Join):
        on = None if relation.on is None else changed(relation.on, change)
        left, right = changed_relation(relation.left, change), changed_relation(relation.right, change)
        return Join(relation.kind, left, right, on)
    return relation


def changed_block(select: Select, change: Change) -> Select:
    """The block with all its expressions changed, and still a block: see `regrouped`."""
    keys = select.group_by
    return regrouped(
        replace(
            select,
            items=tuple(replace(item, expr=changed(item.expr, change)) for item in select.items),
            source=changed_relation(select.source, change),
            where=None if select.where is None else changed(select.where, change),
            group_by=None if keys is None else tuple(dict.fromkeys(changed(key, change) for key in keys)),
            having=None if select.having is None else changed(select.having, change),
        )
    )


def regrouped(select: Select) -> Select:
    """The block without keys that read no column; ungrouped if nothing is left to group or aggregate."""
    if select.group_by is None:
        return replace(select, having=None)
    keys = tuple(key for key in select.group_by if any(isinstance(p, ColumnRef) for p in subexpressions(key)))
    if not keys and not any(
        isinstance(p, Aggregate) for item in select.items for p in subexpressions(item.expr)
    ):
        return replace(select, group_by=None, having=None)
    return replace(select, group_by=keys)


def by_column(mapping: Mapping[tuple[str, str], Expr]) -> Change:
    """A change of column references, named by (alias, column)."""
    return lambda expr: mapping.get((expr.relation, expr.name)) if isinstance(expr, ColumnRef) else None


def with_relation(source: Relation, old: Relation, new: Relation) -> Relation:
    """A FROM clause with one of its relations replaced. Conditions stay as they are."""
    if source == old:
        return new
    if isinstance(source, Join):
        return replace(
            source, left=with_relation(source.left, old, new), right=with_relation(source.right, old, new)
        )
    return source
