"""What statements do with rows: the part that a database evaluates, behind one interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Value: TypeAlias = object
Rows: TypeAlias = Mapping[str, tuple[Value, ...]]
"""Rows by their ids."""

Tables: TypeAlias = Mapping[str, Rows]
"""The rows of tables that a statement sees, by table."""


class StatementFailed(Exception):
    """The statement itself is wrong, or fails on its data; the message is the database's."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a statement does to one table, from the rows that it saw.

    `matched`: the ids of the rows that its condition selected. `updated`: new values by id. `inserted`: the
    values of new rows.
    """

    table: str
    matched: tuple[str, ...] = ()
    updated: Mapping[str, tuple[Value, ...]] | None = None
    deleted: tuple[str, ...] = ()
    inserted: tuple[tuple[Value, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Selected:
    """The result of a query. `matched`: by table the ids of the rows that its condition selected."""

    rows: tuple[tuple[Value, ...], ...]
    matched: Mapping[str, tuple[str, ...]]


class Evaluator(Protocol):
    """Evaluates texts over rows that are given; it keeps no state but the columns of tables."""

    def create(self, text: str) -> str:
        """Defines a table; returns its name. Raises StatementFailed."""

    def drop(self, text: str) -> str:
        """Returns the name of the table that DROP TABLE names. Raises StatementFailed."""

    def target(self, text: str) -> str:
        """Returns the table that a statement writes. Raises StatementFailed: there is none."""

    def reads(self, text: str) -> Sequence[str]:
        """Returns the tables that a statement reads. Raises StatementFailed: one is not known."""

    def change(self, text: str, tables: Tables) -> Changed:
        """Returns what INSERT, UPDATE, DELETE or MERGE would do. Raises StatementFailed."""

    def select(self, text: str, tables: Tables) -> Selected:
        """Returns the result of a query. Raises StatementFailed."""

    def matching(self, text: str, table: str, versions: Rows) -> Sequence[str]:
        """Returns the ids of those versions of rows that a statement's condition selects, each on its own."""
