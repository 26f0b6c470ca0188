"""What an intent is, and the statements that intents are written with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from workload.dml import (
    Assignment,
    Delete,
    Dml,
    Insert,
    Update,
)
from workload.query import Call, ColumnRef, Expr, Literal
from workload.types import BOOLEAN, Value

Transaction = tuple[Dml, ...]


Act = tuple[Transaction, ...]
"""Transactions of one refresh interval."""


@dataclass(frozen=True, slots=True)
class Script:
    """The dynamic table to refresh after each act, and the acts."""

    target: str
    acts: tuple[Act, ...]


Intent = Callable[[ScenarioBuilder], Script]


def column(table: TableSketch, name: str) -> ColumnRef:
    """A table's column as DML reads it."""
    return ColumnRef(table.name, name, next(c.type for c in table.columns if c.name == name))


def is_value(table: TableSketch, name: str, value: Value) -> Expr:
    """`column = value`, null-safe for NULL."""
    ref = column(table, name)
    return Call("same" if value is None else "eq", (ref, Literal(value, ref.type)), BOOLEAN)


def insert(builder: ScenarioBuilder, table: TableSketch, **fixed: Value) -> Dml:
    """INSERT of one row with some columns fixed."""
    return Insert(table.name, (builder.row(table, **fixed),))


def delete(table: TableSketch, name: str, value: Value) -> Dml:
    """DELETE of the rows with a value."""
    return Delete(table.name, is_value(table, name, value))


def set_value(table: TableSketch, name: str, new: Value, where: Expr | None) -> Dml:
    """UPDATE of one column to a constant."""
    ref = column(table, name)
    return Update(table.name, (Assignment(name, Literal(new, ref.type)),), where)


def key(builder: ScenarioBuilder) -> int:
    """A key that random rows have too."""
    return builder.choices.integer(0, 4)


def other_column(builder: ScenarioBuilder, table: TableSketch) -> int:
    """The position of a column that is not the key."""
    return builder.choices.integer(1, len(table.columns) - 1)


def new_value(builder: ScenarioBuilder, table: TableSketch, position: int) -> Value:
    """A value of a column's domain."""
    return builder.choices.pick(table.domains[position].values)
