"""The engine's store in memory: every version of every table is kept, so reading any of them costs nothing.

What runs queries differs: DuckDB for the `rules` tier, Spark for the `spark` tier.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from dynamic_tables.definition import BaseTable, Definition, DynamicTable, View
from dynamic_tables.plan.dialects import Dialect
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.refresh.frontier import SourceVersion
from dynamic_tables.refresh.versions import SourceHistory
from dynamic_tables.store.port import RefreshRecord, Relation
from workload.trace import Action

Kept = TypeVar("Kept", bound=Relation)
"""The relations of one store."""


class Operation(Enum):
    """What a commit of a dynamic table did to its rows."""

    MERGE = "MERGE"
    OVERWRITE = "OVERWRITE"
    TOUCH = "TOUCH"

    def action(self, reported: Action) -> Action:
        """The action that a commit shows: the reported one if that is what the commit did."""
        match self:
            case Operation.MERGE:
                return Action.INCREMENTAL
            case Operation.TOUCH:
                return reported if reported in (Action.NO_DATA, Action.INCREMENTAL) else Action.NO_DATA
            case Operation.OVERWRITE:
                anew = (Action.FULL, Action.INITIALIZE, Action.REINITIALIZE)
                return reported if reported in anew else Action.FULL


@dataclass(slots=True)
class StoredTable(Generic[Kept]):
    """The versions of one table: their rows, and the engine's view of each."""

    rows: list[Kept] = field(default_factory=list)
    versions: list[SourceVersion] = field(default_factory=list)
    records: list[RefreshRecord] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    identity: str = ""


@dataclass(slots=True)
class MemoryStore(ABC, Generic[Kept]):
    """A `Store` but for what runs queries."""

    known: dict[str, Definition] = field(default_factory=dict, init=False)
    tables: dict[str, StoredTable[Kept]] = field(default_factory=dict, init=False)
    done: dict[tuple[Plan, frozenset[tuple[str, Relation]]], Kept] = field(default_factory=dict, init=False)
    """Plans computed once, over what: tables that read one source's interval share its changes."""

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """The dialect plans are rendered to."""

    @abstractmethod
    def query(self, plan: Plan, leaves: Mapping[str, Relation]) -> Kept:
        """The rows of a plan, computed whenever they are read."""

    @abstractmethod
    def materialized(self, plan: Plan, leaves: Mapping[str, Relation]) -> Kept:
        """The rows of a plan, computed now."""

    @abstractmethod
    def compute_text(self, text: str, relations: Mapping[str, Relation]) -> Kept:
        """The rows of a query no plan exists for."""

    @abstractmethod
    def computed(self, contents: Relation) -> Kept:
        """A relation whose rows are computed, if they were not."""

    @abstractmethod
    def release(self, relations: Sequence[Relation]) -> None:
        """Gives up what the relations occupy, but for versions that are kept."""

    def compute(self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool) -> Kept:
        """The rows of a plan; `once`: computed now, and no more, whoever asks."""
        if not once:
            return self.query(plan, leaves)
        asked = (plan, frozenset(leaves.items()))
        if asked not in self.done:
            self.done[asked] = self.materialized(plan, leaves)
        return self.done[asked]

    def definitions(self) -> Mapping[str, Definition]:
        """What exists."""
        return self.known

    def create_base_table(self, table: BaseTable) -> None:
        """Adds a base table without any version."""
        self.known[table.name] = table
        self.tables[table.name] = StoredTable()

    def create_view(self, view: View) -> None:
        """Adds a view."""
        self.known[view.name] = view

    def create_dynamic_table(self, table: DynamicTable) -> None:
        """Adds an uninitialized dynamic table."""
        self.known[table.name] = table
        self.tables[table.name] = StoredTable(identity=f"{table.name}#1")

    def drop(self, definition: Definition) -> None:
        """Forgets a table or view."""
        del self.known[definition.name]
        self.tables.pop(definition.name, None)

    def history(self, definition: BaseTable | DynamicTable) -> SourceHistory:
        """Commits or refreshes."""
        versions = self.tables[definition.name].versions
        return SourceHistory(definition.name, isinstance(definition, DynamicTable), versions)

    def readable(self, name: str, version: SourceVersion) -> bool:
        """Always: nothing is vacuumed here."""
        return version.version < len(self.tables[name].rows)

    def refreshes(self, table: DynamicTable) -> Sequence[RefreshRecord]:
        """The refresh history."""
        return self.tables[table.name].records

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """A version's rows; the plan picks the columns it wants, so ids cost nothing."""
        return self.tables[name].rows[version]

    def current(self, table: DynamicTable) -> Relation:
        """The newest version's rows."""
        return self.tables[table.name].rows[-1]

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """The contents after `apply`, as a new version."""
        applied = self.compute(apply, {"contents": self.current(table), "folded": folded}, once=True)
        return self._commit(table, applied, record, Operation.MERGE)

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """New contents as a new version."""
        return self._commit(table, self.computed(contents), record, Operation.OVERWRITE)

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """A version with the same rows."""
        return self._commit(table, self.tables[table.name].rows[-1], record, Operation.TOUCH)

    def add_version(self, name: str, rows: Kept, version: SourceVersion) -> None:
        """Adds a version of a table."""
        stored = self.tables[name]
        stored.rows.append(rows)
        stored.versions.append(version)

    def _commit(self, table: DynamicTable, rows: Kept, record: RefreshRecord, operation: Operation) -> int:
        stored = self.tables[table.name]
        number = len(stored.rows)
        content = number if record.changed or not stored.versions else stored.versions[-1].content
        version = SourceVersion(number, record.frontier.timestamp, content, stored.identity)
        self.add_version(table.name, rows, version)
        stored.records.append(record)
        stored.operations.append(operation)
        return number
