"""SQL text from the query IR, one dialect at a time; the rules are measured differences, see `functions`."""

from workload.sql.dialect import Dialect, literal, type_name
from workload.sql.render import render_expr, render_query, render_relation
from workload.sql.statements import column_types, create_table_text, delta_texts, dml_texts, rows_text

__all__ = [
    "Dialect",
    "column_types",
    "create_table_text",
    "delta_texts",
    "dml_texts",
    "literal",
    "render_expr",
    "render_query",
    "render_relation",
    "rows_text",
    "type_name",
]
