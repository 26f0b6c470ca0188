"""What an engine cannot hold by its limits: types of columns and of expressions, and values."""

from __future__ import annotations

from workload.dml import Dml, WithRows, statement_expressions
from workload.limits import Limits
from workload.query import Aggregate, Call, ColumnRef, Literal, Node, walk
from workload.schema import Table


def table_gap(table: Table, limits: Limits) -> str | None:
    """Why the engine cannot have the table; None where it can."""
    for column in table.columns:
        if column.type.kind not in limits.types:
            return f"{table.name} has a column of type {column.type.kind.value}"
    return None


def query_gap(node: Node, limits: Limits) -> str | None:
    """Why the engine cannot run a query or evaluate an expression; None where it can."""
    for part in walk(node):
        match part:
            case ColumnRef() | Call() | Aggregate() | Literal() if part.type.kind not in limits.types:
                return f"it calculates with type {part.type.kind.value}"
            case Literal(value, type_) if value is not None and not limits.stores(value, type_):
                return f"it has the value {value!r} of type {type_.kind.value}"
            case _:
                pass
    return None


def holds(statement: Dml, table: Table, limits: Limits) -> bool:
    """Whether the engine can run a statement on a table that it can have."""
    if isinstance(statement, WithRows):
        types = [column.type for column in table.columns]
        for row in statement.rows:
            for value, type_ in zip(row, types, strict=True):
                if value is not None and not limits.stores(value, type_):
                    return False
    return all(query_gap(expr, limits) is None for expr in statement_expressions(statement))
