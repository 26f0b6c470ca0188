"""The raw change set of a refresh, kept for an investigation also where the validations refuse it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamic_tables.errors import ValidationFailed
from dynamic_tables.store.port import Relation


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set as it was computed, before any validation.

    `columns`: those of the table, then `$ACTION` and `$ROW_ID`. `relation`: the same with `hidden` columns
    of the engine's own after those of the table.
    """

    columns: tuple[str, ...]
    relation: Relation
    hidden: int = 0

    def rows(self) -> Sequence[tuple[object, ...]]:
        """Returns the rows of the change set; values in the order of `columns`."""
        shown = len(self.columns) - 2
        return [(*row[:shown], *row[shown + self.hidden :]) for row in self.relation.rows()]


class ChangeSetRefused(ValidationFailed):
    """The validations refused a change set; `change_set` holds it for an investigation."""

    def __init__(self, table: str, timestamp: int, reason: str, change_set: ChangeSet) -> None:
        super().__init__(table, timestamp, reason)
        self.change_set = change_set
