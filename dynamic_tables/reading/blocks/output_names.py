"""The names that Spark gives the outputs of a select list."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dynamic_tables.reading.blocks.exploding import NAMES, OUTER
from dynamic_tables.reading.text.parse import function_name

RELATIONS = (exp.Table, exp.Subquery, exp.Lateral)
"""The syntax nodes that have a name in FROM."""


def own_name(item: exp.Expr, query: exp.Expr) -> str:
    """Returns the name of an item of the select list of `query` without an alias; empty if it is a text.

    A column, also in parentheses, and the cast of a column have the column's name. Any other expression has
    its own text as its name in Spark.
    """
    inner = item.unnest()
    value = inner.this.unnest() if isinstance(inner, exp.Cast) else inner
    if isinstance(value, exp.JSONExtract):
        # `payload:a.b[0]` has the name of the last key of its path.
        keys = [part.name for part in value.expression.find_all(exp.JSONPathKey)]
        return keys[-1] if keys else ""
    if isinstance(inner, exp.Column):
        # A column of ours in parentheses stands for a query in the select list.
        return "" if inner is not item and inner.table.startswith("$") else str(inner.name)
    column = inner.this.unnest() if isinstance(inner, exp.Cast) and not _is_conversion(inner) else None
    if not isinstance(column, exp.Column) or column.args.get("db") is not None:
        return ""
    # The cast of a field of a struct has a long name.
    plain = not column.table or column.table.lower() in _relations(query)
    return str(column.name) if plain else ""


def output_names(item: exp.Expr, query: exp.Expr) -> Sequence[str]:
    """Returns the names of the outputs of an item of a select list, as far as its syntax tells them."""
    match item:
        case exp.Func() if explodes(item):
            return ("pos", "col", "key", "value")
        case exp.Alias():
            return [item.alias]
        case exp.Aliases():
            return [name.name for name in item.expressions]
        case _:
            name = own_name(item, query)
            return [name] if name else []


def explodes(call: exp.Expr) -> bool:
    """Tells whether an expression is a call of `explode`, or of another function that makes rows."""
    return isinstance(call, exp.Func) and function_name(call).removesuffix(OUTER) in NAMES


def _is_conversion(cast: exp.Cast) -> bool:
    """Tells whether a cast was written as `to_timestamp(x)`, which Spark gives a long name.

    sqlglot reads it as a cast. One that was written as a function has the place of the function's name.
    """
    written = cast.meta.get("end", 0) - cast.meta.get("start", 0) + 1
    return bool(written == len("to_timestamp"))


def _relations(query: exp.Expr) -> frozenset[str]:
    """Returns the names of the relations in FROM, in lower case."""
    clauses = (query.args.get("from_"), *(query.args.get("joins") or ()), *(query.args.get("laterals") or ()))
    inside = (node for part in clauses if part is not None for node in part.walk(prune=_is_query))
    return frozenset(str(node.alias_or_name).lower() for node in inside if isinstance(node, RELATIONS))


def _is_query(node: exp.Expr) -> bool:
    """Tells whether a syntax node is a query, whose relations are not those of the outer FROM."""
    return isinstance(node, exp.Select | exp.SetOperation)
