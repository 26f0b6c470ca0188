"""SQL text from the query IR, one dialect at a time; the differences between dialects are measured ones."""

from workload.sql.dialect import Dialect, column_name, literal, type_name
from workload.sql.render import render_expr, render_query, render_relation
from workload.sql.statements import (
    column_types,
    create_table_text,
    delta_texts,
    dml_texts,
    no_rows,
    rows_text,
)

__all__ = [
    "Dialect",
    "column_name",
    "column_types",
    "create_table_text",
    "delta_texts",
    "dml_texts",
    "literal",
    "no_rows",
    "render_expr",
    "render_query",
    "render_relation",
    "rows_text",
    "type_name",
]
