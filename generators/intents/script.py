"""The type of intents, and the statements that intents are written with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from workload.dml import Assignment, Delete, Dml, Insert, Update
from workload.query import Call, ColumnRef, Expr, Literal
from workload.types import BOOLEAN, NESTED, Value

Transaction = tuple[Dml, ...]
"""The statements of one commit."""

Act = tuple[Transaction, ...]
"""The transactions of one refresh interval."""


@dataclass(frozen=True, slots=True)
class Script:
    """A dynamic table, and the acts after each of which it is refreshed."""

    target: str
    acts: tuple[Act, ...]


Intent = Callable[[ScenarioBuilder], Script]
"""A function that defines dynamic tables in a builder and returns the script of one."""


def script(target: str, *acts: Act) -> Script:
    """Returns the script of a dynamic table and acts."""
    return Script(target, acts)


def act(*statements: Dml) -> Act:
    """Returns an act of one transaction. Acts of several are sums: `act(first) + act(second)`."""
    return (statements,)


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """A column of a base table with the values of its domain."""

    name: str
    values: tuple[Value, ...]


def other_column(b: ScenarioBuilder, table: TableSketch) -> DrawnColumn:
    """Returns a random column that is not the key, and that values can be compared with."""
    places = range(1, len(table.columns))
    position = b.choices.pick([place for place in places if table.columns[place].type.kind not in NESTED])
    return DrawnColumn(table.columns[position].name, table.domains[position].values)


def four_values(table: TableSketch, place: int) -> tuple[Value, Value, Value, Value]:
    """Returns four values of a column from the least to the greatest; some are equal if it has fewer."""
    values = sorted(table.domains[place].values, key=_sortable)
    first, second, third, fourth = (values[(len(values) - 1) * part // 3] for part in range(4))
    return first, second, third, fourth


def _sortable(value: Value) -> Any:
    return value


def key(b: ScenarioBuilder) -> int:
    """Returns a random key, one of those that random rows have too."""
    return b.choices.integer(0, 4)


def column(table: TableSketch, name: str) -> ColumnRef:
    """Returns a table's column as DML statements on the table refer to it."""
    return ColumnRef(table.name, name, next(c.type for c in table.columns if c.name == name))


def is_value(table: TableSketch, name: str, value: Value) -> Expr:
    """Returns the condition `name = value`, or `name IS NULL` (by null-safe equality) for NULL."""
    ref = column(table, name)
    return Call("same" if value is None else "eq", (ref, Literal(value, ref.type)), BOOLEAN)


def insert(b: ScenarioBuilder, table: TableSketch, /, **fixed: Value) -> Dml:
    """Returns the INSERT of one random row with given values for some columns."""
    # The first two parameters are positional only, since a column may be called `b`.
    return Insert(table.name, (b.row(table, **fixed),))


def delete(table: TableSketch, name: str, value: Value) -> Dml:
    """Returns the DELETE of the rows that have a value in a column."""
    return Delete(table.name, is_value(table, name, value))


def set_value(table: TableSketch, name: str, new: Value, where: Expr) -> Dml:
    """Returns the UPDATE of one column to a constant."""
    ref = column(table, name)
    return Update(table.name, (Assignment(name, Literal(new, ref.type)),), where)


def move_key(table: TableSketch, old: Value, new: Value) -> Dml:
    """Returns the UPDATE of the rows with one key to another key."""
    return set_value(table, "k", new, is_value(table, "k", old))
