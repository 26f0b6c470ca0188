"""What an engine cannot hold by its limits: types of columns and of expressions, and values."""

from __future__ import annotations

from workload.dml import Dml, WithRows, statement_expressions
from workload.limits import Limits
from workload.query import Expr, Literal, Node, walk
from workload.schema import Table
from workload.types import Kind, SqlType, Value


def table_gap(table: Table, limits: Limits) -> str | None:
    """Why the engine cannot have the table; None where it can."""
    for column in table.columns:
        if not _has(limits, column.type):
            return f"{table.name} has a column of type {column.type.kind.value}"
    return None


def _has(limits: Limits, type_: SqlType) -> bool:
    return type_.kind in limits.types and all(_has(limits, part) for _, part in type_.parts)


def _stores(limits: Limits, value: Value, type_: SqlType) -> bool:
    """Whether the engine stores a value and all values in it."""
    if value is None:
        return True
    parts = [part for _, part in type_.parts]
    match type_.kind, value:
        case Kind.ARRAY, tuple():
            inside = [(element, parts[0]) for element in value]
        case Kind.STRUCT, tuple():
            inside = list(zip(value, parts, strict=True))
        case Kind.MAP, tuple():
            inside = [each for pair in value for each in zip(pair, parts, strict=True)]
        case _:
            inside = []
    return limits.stores(value, type_) and all(_stores(limits, *each) for each in inside)


def query_gap(node: Node, limits: Limits) -> str | None:
    """Why the engine cannot run a query or evaluate an expression; None where it can."""
    for part in walk(node):
        if isinstance(part, Expr) and not _has(limits, part.type):
            return f"it calculates with type {part.type.kind.value}"
        if isinstance(part, Literal) and not _stores(limits, part.value, part.type):
            return f"it has the value {part.value!r} of type {part.type.kind.value}"
    return None


def holds(statement: Dml, table: Table, limits: Limits) -> bool:
    """Whether the engine can run a statement on a table that it can have."""
    if isinstance(statement, WithRows):
        types = [column.type for column in table.columns]
        for row in statement.rows:
            for value, type_ in zip(row, types, strict=True):
                if not _stores(limits, value, type_):
                    return False
    return all(query_gap(expr, limits) is None for expr in statement_expressions(statement))
