"""Replaces names of earlier outputs in a select list: `SELECT a * 2 AS b, b + 1 AS c` reads `(a * 2) + 1`."""

from __future__ import annotations

from sqlglot import exp

from dynamic_tables.reading.blocks.exploding import exploding
from dynamic_tables.reading.values.aggregate_forms import is_aggregated
from dynamic_tables.reading.values.scope import Scope


def with_lateral_aliases(node: exp.Select, scope: Scope) -> exp.Select:
    """Returns a block whose items read FROM alone: earlier outputs are replaced by their expressions.

    As in Spark, a column of FROM wins over an output of the same name, and neither an aggregate nor a window
    reads an output. A name that two outputs have, or that `explode` makes, is not replaced; binding the item
    then fails, because FROM has no such column.
    """
    inputs = {name.lower() for name, _ in scope.visible}
    aliases = [item.alias.lower() for item in node.expressions if isinstance(item, exp.Alias)]
    if not any(_columns_of_outputs(item, inputs, aliases) for item in node.expressions):
        return node
    node = node.copy()
    meanings: dict[str, exp.Expr] = {}
    for item in node.expressions:
        for column in _columns_of_outputs(item, inputs, list(meanings)):
            column.replace(exp.paren(meanings[column.name.lower()].copy(), copy=False))
        if isinstance(item, exp.Alias) and not exploding(item.this):
            name = item.alias.lower()
            if aliases.count(name) == 1:
                meanings[name] = item.this
    return node


def _columns_of_outputs(item: exp.Expr, inputs: set[str], aliases: list[str]) -> list[exp.Column]:
    """Returns the columns of an item that can only mean an output: FROM has none of that name."""
    return [
        column
        for column in item.find_all(exp.Column)
        if not column.table
        and column.name.lower() not in inputs
        and column.name.lower() in aliases
        and column.find_ancestor(exp.Query) is item.find_ancestor(exp.Query)
        and column.find_ancestor(exp.Window) is None
        and not is_aggregated(column)
    ]
