"""Replacement of parts of expressions and blocks so that types and grouping stay right."""

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
    """Returns the node with every part replaced for which `change` has a replacement; types are kept."""
    return changed(node, change, with_parts)


def with_parts(node: Any, parts: Iterable[Any]) -> Any:
    """Returns the node with other parts of the same types.

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
    """Returns the block with all its expressions changed, and still a block: see `regrouped`."""

    def without_sub_selects(node: ir.Node) -> ir.Node | None:
        new = change(node)
        return node if new is None and isinstance(node, ir.Derived) else new

    return regrouped(substituted(select, without_sub_selects))


def regrouped(select: ir.Select) -> ir.Select:
    """Returns the block without keys that read no column; ungrouped if nothing is left to group."""
    if select.group_by is None:
        return replace(select, having=None)
    select = _with_column_keys(select, select.group_by)
    if not select.group_by and not aggregates(item.expr for item in select.items):
        return replace(select, group_by=None, having=None)
    return select


def _with_column_keys(select: ir.Select, keys: tuple[ir.Expr, ...]) -> ir.Select:
    """Returns the block grouped by each key once that reads a column, and by sets of these."""
    kept = tuple(
        dict.fromkeys(key for key in keys if any(isinstance(p, ir.ColumnRef) for p in subexpressions(key)))
    )
    sets = None
    if kept and select.sets is not None:
        named = ([keys[place] for place in places] for places in select.sets)
        sets = tuple(tuple(dict.fromkeys(kept.index(k) for k in each if k in kept)) for each in named)
    return without_groupings(replace(select, group_by=kept, sets=sets), kept if sets is not None else ())


def without_groupings(select: ir.Select, keys: Iterable[ir.Expr] = ()) -> ir.Select:
    """Returns the block with 0 for GROUPING of all but some keys, as it is where no key is left out."""
    grouped = set(keys)

    def zero(node: ir.Node) -> ir.Node | None:
        if isinstance(node, ir.Derived):
            return node
        gone = isinstance(node, ir.Grouping) and node.key not in grouped
        return ir.Literal(0, node.type) if isinstance(node, ir.Grouping) and gone else None

    return changed(select, zero)


def aggregates(exprs: Iterable[ir.Expr]) -> list[ir.Aggregate]:
    """Returns the aggregates inside some expressions, in order of appearance."""
    return [part for expr in exprs for part in subexpressions(expr) if isinstance(part, ir.Aggregate)]


def by_column(mapping: Mapping[tuple[str, str], ir.Expr]) -> Change:
    """Returns a change of column references, named by (alias, column)."""
    return lambda node: mapping.get((node.relation, node.name)) if isinstance(node, ir.ColumnRef) else None


def with_relation(source: ir.Relation, old: ir.Relation, new: ir.Relation) -> ir.Relation:
    """Returns a FROM clause with one of its relations replaced. Conditions stay as they are."""

    def change(node: ir.Node) -> ir.Node | None:
        if node == old:
            return new
        return None if isinstance(node, ir.Join | ir.Exploded) else node

    return changed(source, change)
