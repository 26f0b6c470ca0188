"""What a name in a query stands for: a stored relation with columns, or a view with a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynamic_tables.plan.types import Columns


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A relation whose rows are stored, under these columns: a base table or a dynamic table."""

    name: str
    columns: Columns

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns in which no two of its rows are equal, if some are declared."""
        return ()


@dataclass(frozen=True, slots=True)
class View:
    """A view: a name for a query. `text`: the SQL text of the query, without CREATE VIEW."""

    name: str
    text: str


Relations = Mapping[str, StoredRelation | View]
"""The relations that queries may name, by lower-case name."""
