"""Columns and base tables."""

from __future__ import annotations

from dataclasses import dataclass

from workload.types import SqlType


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
class Promises:
    """What whoever owns a table promises of its rows, after each commit; random tables promise nothing.

    `keys`: columns whose values differ between all rows, the primary key first. `required`: columns that are
    never NULL. `statements`: those that the table gets after its first rows, such as "insert"; None for all.
    `updated`: the columns that UPDATE and MERGE change; None for all. A promise that names a column or a
    table that a scenario lacks says nothing.
    """

    keys: tuple[tuple[str, ...], ...] = ()
    required: tuple[str, ...] = ()
    foreign: tuple[ForeignKey, ...] = ()
    checks: tuple[RowCheck, ...] = ()
    statements: tuple[str, ...] | None = None
    updated: tuple[str, ...] | None = None

    def admits(self, statement: str) -> bool:
        """Whether the table gets a kind of statement after its first rows."""
        return self.statements is None or statement in self.statements


NO_PROMISES = Promises()


@dataclass(frozen=True, slots=True)
class Table:
    """A base table: rows are its contents, written by DML only."""

    name: str
    columns: tuple[Column, ...]
    promises: Promises = NO_PROMISES

    def position(self, column: str) -> int:
        """Zero-based position of a column; raises KeyError if there is none of that name."""
        for index, candidate in enumerate(self.columns):
            if candidate.name == column:
                return index
        raise KeyError(column)
