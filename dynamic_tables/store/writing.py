"""A store that users' statements may write to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from dynamic_tables.definition import BaseTable
from dynamic_tables.store.port import Store


@runtime_checkable
class WritableStore(Store, Protocol):
    """Base tables that are created and written through the store."""

    def create_base_table(self, table: BaseTable) -> None:
        """Adds an empty base table."""
        ...

    def write(self, statements: Sequence[str]) -> Mapping[str, int]:
        """Runs statements as one transaction; returns the newest version of each table written."""
        ...
