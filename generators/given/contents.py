"""The contents of base tables while a scenario is drawn: statements are applied, promises are checked.

The statements are those that `generators.given.statements` draws: their conditions compare columns with
constants, so that plain Python follows them without a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from generators.given.model import ColumnValues, GivenTable
from workload import dml
from workload.query import Call, ColumnRef, Expr, Literal
from workload.schema import ForeignKey, Table
from workload.types import Row, Value
from workload.wellformed import comparable

Contents = Mapping[str, tuple[Row, ...]]
"""The rows of each base table."""


def key_of(row: Row, table: Table, columns: Sequence[str]) -> tuple[object, ...] | None:
    """Returns the values of some columns as a key; None where one is NULL, which no key equals in SQL."""
    values = [row[table.position(column)] for column in columns]
    return None if None in values else tuple(map(comparable, values))


def after(statement: dml.Dml, table: Table, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Returns the rows of a table after a statement; RESTORE is for the caller, who knows what there was."""
    match statement:
        case dml.Insert(_, new):
            return (*rows, *new)
        case dml.Overwrite(_, new) | dml.Replace(_, new):
            return new
        case dml.Truncate():
            return ()
        case dml.Optimize() | dml.Restore():
            return rows
        case dml.Delete(_, where):
            return tuple(row for row in rows if not holds(where, table, row))
        case dml.Update(_, assignments, where):
            values = {table.position(each.column): each.value for each in assignments}
            return tuple(
                tuple(_value(values[n], table, row) if n in values else value for n, value in enumerate(row))
                if holds(where, table, row)
                else row
                for row in rows
            )
        case dml.Merge(_, keys, new, _, insert_unmatched):
            positions = [table.position(key) for key in keys]

            def key_values(row: Row) -> tuple[object, ...]:
                return tuple(comparable(row[position]) for position in positions)

            new_by_key = {key_values(row): row for row in new}
            present = {key_values(row) for row in rows}
            merged = [new_by_key.get(key_values(row), row) for row in rows]
            added = [row for key, row in new_by_key.items() if key not in present] if insert_unmatched else []
            return (*merged, *added)
        case _:
            assert_never(statement)


def holds(where: Expr | None, table: Table, row: Row) -> bool:
    """Tells whether a condition is TRUE for a row."""
    match where:
        case None:
            return True
        case Call("and", args):
            return all(holds(arg, table, row) for arg in args)
        case Call(function, (left, right)):
            return _compares(function, _value(left, table, row), _value(right, table, row))
        case _:
            raise AssertionError(f"no statement is drawn with the condition {where}")


def _compares(function: str, left: Any, right: Any) -> bool:
    if function == "same":
        return comparable(left) == comparable(right)
    if left is None or right is None:
        return False
    match function:
        case "eq":
            return comparable(left) == comparable(right)
        case "le":
            return bool(left <= right)
        case "gt":
            return bool(left > right)
        case _:
            raise AssertionError(f"no statement is drawn with the function {function}")


def _value(expr: Expr, table: Table, row: Row) -> Value:
    match expr:
        case Literal(value):
            return value
        case ColumnRef(_, name):
            return row[table.position(name)]
        case _:
            raise AssertionError(f"no statement is drawn with the value {expr}")


def orphans(
    foreign: ForeignKey, table: Table, rows: Sequence[Row], referred: Table, others: Sequence[Row]
) -> Iterator[Row]:
    """Yields the rows of a table whose foreign key refers to none of the other table's rows."""
    referred_keys = {key_of(row, referred, foreign.referred) for row in others}
    for row in rows:
        key = key_of(row, table, foreign.columns)
        if key is not None and key not in referred_keys:
            yield row


def _allows(domain: ColumnValues) -> Callable[[Row], bool]:
    """Returns the test whether a row has values of a domain; a single column may be NULL as well."""
    allowed = {tuple(map(comparable, values)) for values in domain.values}
    if len(domain.positions) == 1:
        allowed.add((comparable(None),))
    return lambda row: tuple(comparable(row[n]) for n in domain.positions) in allowed


def broken_promise(tables: Sequence[GivenTable], contents: Contents) -> str:
    """Returns the first promise that contents break, in words; empty if all are kept."""
    schema = {given.table.name: given.table for given in tables}
    for given in tables:
        table, rows = given.table, contents[given.table.name]
        for name in table.promises.required:
            if any(row[table.position(name)] is None for row in rows):
                return f"{table.name}.{name} is NULL"
        for key in table.promises.keys:
            values = [value for row in rows if (value := key_of(row, table, key)) is not None]
            if len(set(values)) < len(values):
                return f"two rows of {table.name} have the same {', '.join(key)}"
        for domain in given.domains:
            if domain.closed and not all(map(_allows(domain), rows)):
                return f"{table.name} has other values than are allowed"
        for foreign in table.promises.foreign:
            if foreign.table in schema:
                other = schema[foreign.table]
                if any(orphans(foreign, table, rows, other, contents[other.name])):
                    return f"a row of {table.name} refers to no row of {other.name}"
    return ""
