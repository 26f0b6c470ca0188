"""SQL text from the query IR, one dialect at a time; the rules are measured differences, see `functions`."""

from workload.sql.dialect import Dialect, literal, type_name
from workload.sql.render import render_expr, render_query, render_relation
from workload.sql.statements import create_table_text, dml_texts

__all__ = [
    "Dialect",
    "create_table_text",
    "dml_texts",
    "literal",
    "render_expr",
    "render_query",
    "render_relation",
    "type_name",
]
