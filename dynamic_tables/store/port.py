"""What the engine needs of a place where tables live. Delta is one (`store.delta`); tests bring another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dynamic_tables.definition import BaseTable, Definition, DynamicTable, View
from dynamic_tables.plan.dialects import Dialect
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.refresh.action import Action
from dynamic_tables.refresh.frontier import Frontier, SourceVersion
from dynamic_tables.refresh.versions import SourceHistory


class Relation(Protocol):
    """Rows that a plan's leaf can be bound to."""

    def rows(self) -> Sequence[tuple[object, ...]]:
        """All of them, in the order of the columns."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRecord:
    """One line of a table's refresh history; it lives in the commit that holds the contents.

    `changed`: whether rows changed. `inserted` and `deleted` count change-set rows, or, where the table
    was written anew, the rows after and before; None where nobody counted. Durations in seconds.
    """

    action: Action
    reason: str
    frontier: Frontier
    changed: bool
    inserted: int | None = None
    deleted: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)


class Store(Protocol):
    """Tables with versions, each commit of which can carry a record."""

    @property
    def dialect(self) -> Dialect:
        """The dialect plans are rendered to."""
        ...

    def definitions(self) -> Mapping[str, Definition]:
        """What exists, by lower-case name, in creation order."""
        ...

    def create_view(self, view: View) -> None:
        """Adds a view."""
        ...

    def create_dynamic_table(self, table: DynamicTable) -> None:
        """Adds an empty, uninitialized dynamic table."""
        ...

    def drop(self, definition: Definition) -> None:
        """Removes a table or view."""
        ...

    def history(self, definition: BaseTable | DynamicTable) -> SourceHistory:
        """The versions of a table: commits of a base table, refreshes of a dynamic one."""
        ...

    def readable(self, name: str, version: SourceVersion) -> bool:
        """Whether the rows of a version can still be read."""
        ...

    def refreshes(self, table: DynamicTable) -> Sequence[RefreshRecord]:
        """Its refresh history, oldest first; the last one holds its frontier."""
        ...

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """A table's rows at a version, with `$ROW_ID` as last column if wanted."""
        ...

    def current(self, table: DynamicTable) -> Relation:
        """The stored contents of a dynamic table with their ids."""
        ...

    def compute(self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool) -> Relation:
        """The rows of a plan; `once`: they are materialised, and reading them again computes nothing."""
        ...

    def compute_text(self, text: str, relations: Mapping[str, Relation]) -> Relation:
        """The rows of a query no plan exists for, its relations bound by name."""
        ...

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Commits a folded change set with its record in one version; `apply` says what MERGE must do."""
        ...

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """Commits new contents with their record in one version."""
        ...

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Commits a record alone: a version with the same rows."""
        ...

    def release(self, relations: Sequence[Relation]) -> None:
        """Gives up what the relations occupy; their `rows()` may still be asked for."""
        ...
