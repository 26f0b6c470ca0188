"""ORDER BY whose expressions read the outputs of a query and nothing else, as after DISTINCT or UNION."""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan.aggregate_forms import is_over_a_group
from dynamic_tables.plan.output_names import output_names

RELATION = "$ORDERED"
"""The name of the sub-select whose columns are the outputs."""


def has_outputs_only(query: exp.Expr) -> bool:
    """Tells whether ORDER BY of a query cannot read the rows of FROM, because these are merged."""
    return not isinstance(query, exp.Select) or query.args.get("distinct") is not None


def ensure_over_outputs(query: exp.Expr, key: exp.Expr) -> None:
    """Raises UnsupportedError unless each column of a key is surely an output, and there is one."""
    block = query
    while isinstance(block, exp.SetOperation | exp.Subquery):
        block = block.this
    known = Counter(name.lower() for item in block.expressions for name in output_names(item, block))
    columns = list(key.find_all(exp.Column))
    if not columns:
        raise UnsupportedError("a constant in ORDER BY with LIMIT", "leave it out")
    outputs = all(not column.table and known[column.name.lower()] == 1 for column in columns)
    if not outputs or any(map(is_over_a_group, key.walk())):
        raise UnsupportedError("a key of ORDER BY with LIMIT that is not selected", "select it")


def over_outputs(query: exp.Expr) -> exp.Select:
    """Returns a query that yields the outputs of another one, so that ORDER BY finds them as columns."""
    return exp.select("*").from_(exp.Subquery(this=query, alias=exp.to_identifier(RELATION, quoted=True)))
