"""The raw change set of a refresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamic_tables.errors import ValidationFailed
from dynamic_tables.store.port import Relation


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set as computed, before any validation.

    Columns: those of the table, `$ACTION`, `$ROW_ID`.
    """

    columns: tuple[str, ...]
    relation: Relation

    def rows(self) -> Sequence[tuple[object, ...]]:
        """The rows."""
        return self.relation.rows()


class ChangeSetRefused(ValidationFailed):
    """The validations refused a change set; it is kept here for whoever looks into it."""

    def __init__(self, table: str, timestamp: int, reason: str, change_set: ChangeSet) -> None:
        super().__init__(table, timestamp, reason)
        self.change_set = change_set
