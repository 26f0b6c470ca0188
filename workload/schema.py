"""Base tables: their columns, and what their owner promises of their rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from workload.types import SqlType, Value


@dataclass(frozen=True, slots=True)
class Column:
    """A named, typed, nullable column."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """The `columns` hold values that the `referred` columns of a row of another table hold, or a NULL."""

    columns: tuple[str, ...]
    table: str
    referred: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A condition that is not FALSE for any row: a text for DuckDB, over these columns."""

    columns: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Clock:
    """A column that grows: no row comes that is older than the newest one by more than `late`.

    `late` counts days of a DATE, seconds of a TIMESTAMP, and units of a number.
    """

    column: str
    late: int = 0

    def earliest(self, newest: Value) -> Value:
        """Returns the oldest value that may come after the newest one. Raises TypeError for another value."""
        return moved(newest, -self.late)


def moved(value: Value, by: int) -> Value:
    """Returns a value of a clock so many days, seconds or units later; the same value where time ends there.

    Raises TypeError for another value.
    """
    try:
        match value:
            case dt.datetime():
                return value + dt.timedelta(seconds=by)
            case dt.date():
                return value + dt.timedelta(days=by)
            case int() if not isinstance(value, bool):
                return value + by
            case _:
                raise TypeError(f"{value!r} is no value of a clock")
    except OverflowError:
        return value


@dataclass(frozen=True, slots=True)
class Promises:
    """The promises of a table's owner about its rows, after each commit; random tables promise nothing.

    `keys`: columns whose values differ between all rows, the primary key first. `required`: columns that are
    never NULL. `statements`: those that the table gets after its first rows, such as "insert"; None for all.
    `updated`: the columns that UPDATE and MERGE change; None for all. `clock`: a column that grows, after the
    first rows. `declared`: a key of them by which the engine keeps rows apart, where a NULL is a value like
    others. A promise that names a column or a table that a scenario lacks says nothing.
    """

    keys: tuple[tuple[str, ...], ...] = ()
    required: tuple[str, ...] = ()
    foreign: tuple[ForeignKey, ...] = ()
    checks: tuple[RowCheck, ...] = ()
    statements: tuple[str, ...] | None = None
    updated: tuple[str, ...] | None = None
    clock: Clock | None = None
    declared: tuple[str, ...] = ()

    def admits(self, statement: str) -> bool:
        """Tells whether the table gets a kind of statement after its first rows."""
        return self.statements is None or statement in self.statements


NO_PROMISES = Promises()


@dataclass(frozen=True, slots=True)
class Table:
    """A base table: rows are its contents, written by DML only."""

    name: str
    columns: tuple[Column, ...]
    promises: Promises = NO_PROMISES

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The key that the engine is told of; none if the table lacks a column of it."""
        names = {column.name for column in self.columns}
        return self.promises.declared if names.issuperset(self.promises.declared) else ()

    def position(self, column: str) -> int:
        """Returns the zero-based position of a column. Raises KeyError: there is none of that name."""
        for index, candidate in enumerate(self.columns):
            if candidate.name == column:
                return index
        raise KeyError(column)
