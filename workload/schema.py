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
class Table:
    """A base table: rows are its contents, written by DML only."""

    name: str
    columns: tuple[Column, ...]

    def position(self, column: str) -> int:
        """Zero-based position of a column; raises KeyError if there is none of that name."""
        for index, candidate in enumerate(self.columns):
            if candidate.name == column:
                return index
        raise KeyError(column)
