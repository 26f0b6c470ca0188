"""ORDER BY whose expressions read the outputs of a query and nothing else, as after DISTINCT or UNION."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.reading.blocks.output_names import explodes, output_names
from dynamic_tables.reading.values.aggregate_forms import is_over_a_group

RELATION = "$ORDERED"
"""The name of the sub-select whose columns are the outputs."""


def has_outputs_only(query: exp.Expr) -> bool:
    """Tells whether ORDER BY of a query cannot read the rows of FROM, because these are merged."""
    return not isinstance(query, exp.Select) or query.args.get("distinct") is not None


def reads_elements(query: exp.Expr, order: exp.Expr) -> bool:
    """Tells whether an expression in ORDER BY reads what `explode` in the select list makes.

    The element cannot be written twice, as other outputs can. A key that is the name alone is that output.
    """
    items = query.expressions if isinstance(query, exp.Select) else ()
    elements = {
        name.lower()
        for item in items
        if explodes(item.this if isinstance(item, exp.Alias | exp.Aliases) else item)
        for name in output_names(item, query)
    }
    return any(
        not column.table and column.name.lower() in elements and ordered.this.unnest() is not column
        for ordered in order.expressions
        for column in ordered.this.find_all(exp.Column)
    )


def ensure_over_outputs(query: exp.Expr, key: exp.Expr) -> None:
    """Raises UnsupportedError unless each column of a key is surely an output, and there is one."""
    block = query
    while isinstance(block, exp.SetOperation | exp.Subquery):
        block = block.this
    counts = Counter(name.lower() for item in block.expressions for name in output_names(item, block))
    columns = list(key.find_all(exp.Column))
    if not columns:
        raise UnsupportedError("a constant in ORDER BY with LIMIT", "leave it out")
    outputs = all(not column.table and counts[column.name.lower()] == 1 for column in columns)
    if not outputs or any(map(is_over_a_group, key.walk())):
        raise UnsupportedError("a key of ORDER BY with LIMIT that is not selected", "select it")


def over_outputs(query: exp.Expr) -> exp.Select:
    """Returns a query that yields the outputs of another one, so that ORDER BY finds them as columns."""
    return exp.select("*").from_(exp.Subquery(this=query, alias=exp.to_identifier(RELATION, quoted=True)))
