"""Replacing parts of expressions and blocks so that types and grouping stay right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from workload import query as ir
from workload.query import changed, rebuilt, subexpressions
from workload.types import INT, Kind

Change = Callable[[ir.Node], ir.Node | None]
"""A replacement for a node, or None to look inside it."""

ARITHMETIC = ("add", "sub", "mul", "mul_decimal", "mod")


def substituted(node: ir.N, change: Change) -> ir.N:
    """The node with every part replaced that `change` has a replacement for, outside in; types are kept."""
    return changed(node, change, with_parts)


def with_parts(node: Any, parts: Iterable[Any]) -> Any:
    """The node with other parts of the same types.

    Beside a DECIMAL, Spark gives a bare INT literal the type DECIMAL of its own digits, and the result
    another type; a cast keeps a new literal an INT.
    """
    new = tuple(parts)
    if (
        isinstance(node, ir.Call)
        and node.function in ARITHMETIC
        and any(part.type.kind is Kind.DECIMAL for part in new)
    ):
        new = tuple(
            ir.Call("cast", (part,), INT)
            if isinstance(part, ir.Literal) and part.type == INT and part != old
            else part
            for part, old in zip(new, node.args, strict=True)
        )
    return rebuilt(node, new)


def changed_block(select: ir.Select, change: Change) -> ir.Select:
    """The block with all its expressions changed, and still a block: see `regrouped`."""

    def without_sub_selects(node: ir.Node) -> ir.Node | None:
        new = change(node)
        return node if new is None and isinstance(node, ir.Derived) else new

    block = substituted(select, without_sub_selects)
    keys = None if block.group_by is None else tuple(dict.fromkeys(block.group_by))
    return regrouped(replace(block, group_by=keys))


def regrouped(select: ir.Select) -> ir.Select:
    """The block without keys that read no column; ungrouped if nothing is left to group or aggregate."""
    if select.group_by is None:
        return replace(select, having=None)
    keys = tuple(
        key for key in select.group_by if any(isinstance(p, ir.ColumnRef) for p in subexpressions(key))
    )
    if not keys and not aggregates(item.expr for item in select.items):
        return replace(select, group_by=None, having=None)
    return replace(select, group_by=keys)


def aggregates(exprs: Iterable[ir.Expr]) -> list[ir.Aggregate]:
    """The aggregates inside some expressions, in order of appearance."""
    return [part for expr in exprs for part in subexpressions(expr) if isinstance(part, ir.Aggregate)]


def by_column(mapping: Mapping[tuple[str, str], ir.Expr]) -> Change:
    """A change of column references, named by (alias, column)."""
    return lambda node: mapping.get((node.relation, node.name)) if isinstance(node, ir.ColumnRef) else None


def with_relation(source: ir.Relation, old: ir.Relation, new: ir.Relation) -> ir.Relation:
    """A FROM clause with one of its relations replaced. Conditions stay as they are."""

    def change(node: ir.Node) -> ir.Node | None:
        if node == old:
            return new
        return None if isinstance(node, ir.Join | ir.Exploded) else node

    return changed(source, change)
