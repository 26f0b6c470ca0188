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
    """Raised where a statement is wrong, or fails on its data; the message is the database's."""


Selection: TypeAlias = tuple[tuple[Value, ...], ...]
"""The rows of a result."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a statement does to one table, from the rows that it saw.

    `updated`: new values by id. `deleted`: ids. `inserted`: the values of new rows.
    """

    table: str
    updated: Mapping[str, tuple[Value, ...]]
    deleted: tuple[str, ...]
    inserted: tuple[tuple[Value, ...], ...]


class Evaluator(Protocol):
    """Evaluates texts over rows that are given; it keeps no state but the columns of tables."""

    def create(self, text: str) -> str:
        """Defines a table; returns its name. Raises StatementFailed."""

    def derive(self, name: str, query: str) -> None:
        """Defines a table with the columns of a query. Raises StatementFailed."""

    def drop(self, text: str) -> str:
        """Returns the name of the table that DROP TABLE names. Raises StatementFailed."""

    def named(self, text: str) -> str:
        """Returns the table that CREATE or DROP TABLE names. Raises StatementFailed: it names none."""

    def target(self, text: str) -> str:
        """Returns the table that a statement writes. Raises StatementFailed: there is none."""

    def reads(self, text: str) -> Sequence[str]:
        """Returns the tables that a statement reads. Raises StatementFailed: one is not known."""

    def change(self, text: str, tables: Tables) -> Changed:
        """Returns what INSERT, UPDATE, DELETE or MERGE would do. Raises StatementFailed."""

    def select(self, text: str, tables: Tables) -> Selection:
        """Returns the result of a query. Raises StatementFailed."""

    def condition(self, text: str, table: str) -> str:
        """Returns a condition for `matching`: of one table's rows, or all where it reads more than them."""

    def matching(self, condition: str, table: str, rows: Rows) -> Sequence[str]:
        """Returns the ids of the rows that a condition selects. Raises StatementFailed: it fails on one."""
