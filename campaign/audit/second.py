"""The engine's own reading of a query, as DuckDB's SQL: the second voice where two results differ."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
from deltalake import DeltaTable

from campaign.audit.evaluate import Evaluation
from campaign.audit.stored import StoredTable, Unreadable, first_line
from dynamic_tables.define import read_query
from dynamic_tables.definition import Definition
from dynamic_tables.differentiate.registry import RULES
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.written.render import render
from dynamic_tables.store.log.log import TableMetadata
from dynamic_tables.store.names.catalog import ATTACHED, attached, from_metadata


def second_reading(
    table: StoredTable, tables: Mapping[str, StoredTable], evaluation: Evaluation, keep: str
) -> None:
    """Keeps the rows of a query by the engine's plan. Raises Unreadable: the engine has no plan for it."""
    try:
        definitions = {name: _definition(each) for name, each in tables.items()}
        bound = read_query(table.text, definitions, RULES).bound
        if bound is None:
            raise Unreadable("the engine has no plan of the query either")
        leaves = {name: name for name in tables}
        columns = ", ".join(DUCKDB.identifier(column.name) for _, column in bound.outputs)
        evaluation.run(f"SELECT {columns} FROM ({render(bound.plan, DUCKDB, leaves).text()})", keep)
    except (DynamicTablesError, duckdb.Error, KeyError) as error:
        raise Unreadable(f"the engine's reading cannot be run: {first_line(error)}") from error


def _definition(table: StoredTable) -> Definition:
    delta = DeltaTable(table.place)
    described = delta.metadata()
    metadata = TableMetadata(
        id=str(described.id), properties=described.configuration, schema=delta.schema().to_json()
    )
    if table.kind == ATTACHED:
        return attached(table.name, table.place, metadata)
    return from_metadata(table.name, metadata)[1]
