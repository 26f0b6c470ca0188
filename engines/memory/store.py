"""The engine's store in memory, for the tiers `rules` (`DuckStore`) and `spark` (`SparkStore`).

It keeps every version of every table, so that reading an old one costs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import duckdb

from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, View
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.dialects import Dialect
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.log.journal import Journal
from dynamic_tables.store.port import Extent, RefreshRecord, Relation, Touched
from dynamic_tables.store.ticks.version_rules import VERSION_RULES, VersionRules
from dynamic_tables.versions import SourceHistory, SourceVersion
from engines.memory.base_logs import ACCOUNT, BaseLogs, LogProcess
from engines.operation import Operation

Rows = TypeVar("Rows", bound=Relation)
"""The kind of relation that holds the rows of one version: a DuckDB table or a data frame."""


@dataclass(slots=True)
class StoredTable(Generic[Rows]):
    """The versions of one table: rows, number and time of each, and the refreshes that made them.

    `operations`: the storage operation of each refresh. `identity`: see `SourceVersion`. The versions of base
    tables are in `BaseLogs`.
    """

    rows: list[Rows] = field(default_factory=list)
    versions: list[SourceVersion] = field(default_factory=list)
    records: list[RefreshRecord] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    identity: str = ""


@dataclass(slots=True)
class MemoryStore(ABC, Generic[Rows]):
    """A `Store` of the engine; its subclasses run the queries.

    `known`: every table and view by name. `dropped`: what was dropped last under a name. `created`: how many
    dynamic tables there were. `tables`: the versions of the tables. `shared_results`: the rows of every plan
    that was computed with `once`, by the plan and its input relations, so that tables that read the same
    interval of a source use the same rows.
    `base_logs`: what the versions of base tables are decided by, by the rules `version_rules`.
    `undo_abandoned`: undoes what killed processes have left, as `Applier` does it.
    `journal`: failures and the like. `process`: what the refreshing process has read of the logs.
    """

    known: dict[str, Definition] = field(default_factory=dict, init=False)
    dropped: dict[str, tuple[Definition, StoredTable[Rows] | None]] = field(default_factory=dict, init=False)
    created: int = field(default=0, init=False)
    tables: dict[str, StoredTable[Rows]] = field(default_factory=dict, init=False)
    base_logs: BaseLogs = field(default_factory=BaseLogs, init=False)
    version_rules: VersionRules = field(default=VERSION_RULES, init=False)
    undo_abandoned: Callable[[], None] = field(default=lambda: None, init=False)
    process: LogProcess | None = field(default=None, init=False)
    journal: Journal = field(init=False)
    shared_results: dict[tuple[Plan, frozenset[tuple[str, Relation]]], Rows] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self.journal = Journal(ACCOUNT, self.base_logs.files)

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """The SQL dialect that plans are rendered to."""

    @abstractmethod
    def query(self, plan: Plan, leaves: Mapping[str, Relation]) -> Rows:
        """Returns the rows of a plan, computed whenever they are read."""

    @abstractmethod
    def materialized(self, plan: Plan, leaves: Mapping[str, Relation]) -> Rows:
        """Computes the rows of a plan now and returns them."""

    @abstractmethod
    def compute_text(self, text: str, relations: Mapping[str, Relation], time: int) -> Rows:
        """Returns the rows of a query that has no plan, by its own text."""

    @abstractmethod
    def computed(self, contents: Relation) -> Rows:
        """Computes the rows of a relation, unless they are computed already."""

    @abstractmethod
    def from_duckdb(self, connection: duckdb.DuckDBPyConnection, name: str, columns: Columns) -> Rows:
        """Returns the rows of a DuckDB table that has the columns of a base table and `$ROW_ID`."""

    @abstractmethod
    def release(self, relations: Sequence[Relation]) -> None:
        """Frees what the relations occupy, except versions of tables."""

    def compute(self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool, few: bool = False) -> Rows:
        """Returns the rows of a plan. `once`: they are computed now, and used again for the same plan."""
        if not once:
            return self.query(plan, leaves)
        key = (plan, frozenset(leaves.items()))
        if key not in self.shared_results:
            self.shared_results[key] = self.materialized(plan, leaves)
        return self.shared_results[key]

    def begin(self) -> None:
        """Does nothing: no other process defines tables in this store."""

    def definitions(self) -> Mapping[str, Definition]:
        """Returns every table and view by name."""
        return self.known

    def create_base_table(self, table: BaseTable) -> None:
        """Adds a base table without any version."""
        self.known[table.name] = table
        self.tables[table.name] = StoredTable()

    def create_view(self, view: View) -> None:
        """Adds a view to the definitions."""
        self.known[view.name] = view

    def create_dynamic_table(self, table: DynamicTable) -> None:
        """Adds a dynamic table without any version."""
        self.known[table.name] = table
        self.created += 1
        self.tables[table.name] = StoredTable(identity=f"{table.name}#{self.created}")

    def redefine(self, definition: Definition) -> None:
        """Writes another definition; the versions stay."""
        self.known[definition.name] = definition

    def drop(self, definition: Definition, *, for_good: bool = False) -> None:
        """Removes a table with its versions, or a view; `restore` brings it back unless `for_good`."""
        if definition.name not in self.known:
            raise StoreError(f"{definition.name} is gone already")
        stored = self.tables.pop(definition.name, None)
        old = self.known.pop(definition.name)
        if not for_good:
            self.dropped[definition.name] = old, stored

    def restore(self, name: str) -> Definition:
        """Brings back what was dropped last under a name. Raises DefinitionError: nothing was."""
        if name not in self.dropped:
            raise DefinitionError(f"no dropped table or view {name}")
        definition, stored = self.dropped.pop(name)
        self._put(definition, stored)
        return definition

    def rename(self, name: str, other: str) -> Definition:
        """Gives a dynamic table or view another name that is free; returns its definition."""
        if other in self.known or name not in self.known:
            raise StoreError(f"{name} cannot be renamed to {other}")
        _ensure_named_freely(self.known[name])
        definition = replace(self.known.pop(name), name=other)
        self._put(definition, self.tables.pop(name, None))
        return definition

    renames = True

    def identity(self, name: str) -> str:
        """Returns what tells the table or view of a name from all others; empty if there is none."""
        return str(id(self.tables.get(name, self.known.get(name)))) if name in self.known else ""

    def _put(self, definition: Definition, stored: StoredTable[Rows] | None) -> None:
        self.known[definition.name] = definition
        if stored is not None:
            self.tables[definition.name] = stored

    def history(self, definition: BaseTable | DynamicTable) -> SourceHistory:
        """Returns the versions of a base table that ticks name, or those of a dynamic table, oldest first."""
        if isinstance(definition, BaseTable):
            return SourceHistory(definition.name, False, self.reader.versions(definition.name))
        return SourceHistory(definition.name, True, self.stored(definition.name).versions)

    @property
    def reader(self) -> LogProcess:
        """What the process that refreshes knows of the base tables' logs."""
        if self.process is None:
            self.process = self.base_logs.process(SimulatedClock(), self.version_rules, self.undo_abandoned)
        return self.process

    def restart(self) -> None:
        """Forgets what is in the memory of the refreshing process, as its end would."""
        self.process = None
        self.shared_results.clear()

    def earliest(self, now: int) -> int:
        """Returns the earliest data timestamp that can still be decided: `now`, in simulated time."""
        return self.reader.time.earliest(now)

    def decide(self, timestamp: int) -> None:
        """Decides, once for all, which version of each base table a data timestamp stands for."""
        self.reader.time.decide(timestamp)

    def readable(self, name: str, version: SourceVersion) -> bool:
        """Returns True for every version that exists: nothing is vacuumed in memory."""
        return version.version < len(self.stored(name).rows)

    def goes_on(self, name: str, version: SourceVersion) -> bool:
        """Returns True: in memory a table that is replaced keeps its columns and all versions."""
        return self.readable(name, version)

    def refreshes(self, table: DynamicTable, *, edited: bool = False) -> Sequence[RefreshRecord]:
        """Returns the refreshes of a dynamic table, oldest first."""
        return self.stored(table.name).records

    def stored(self, name: str) -> StoredTable[Rows]:
        """Returns the versions of a table. Raises StoreError: it is not there any more."""
        if name not in self.tables:
            raise StoreError(f"{name} was dropped or renamed meanwhile")
        return self.tables[name]

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """Returns the rows of a version, always with ids: plans select the columns that they need."""
        return self.stored(name).rows[version]

    @property
    def merge_validates(self) -> bool:
        """False: the plan `apply` replaces rows without a check."""
        return False

    def touched(
        self, definition: BaseTable | DynamicTable, start: SourceVersion, end: SourceVersion
    ) -> Touched | None:
        """Returns None: whole versions are compared."""
        return None

    def extent(
        self, definition: BaseTable | DynamicTable, start: SourceVersion, end: SourceVersion
    ) -> Extent | None:
        """Returns None: tables in memory are small."""
        return None

    def current(self, table: DynamicTable, *, edited: bool = False) -> Relation:
        """Returns the rows of the newest version. Raises StoreError: another process has made it anew."""
        rows = self.stored(table.name).rows
        if not rows:
            raise StoreError(f"{table.name} has no contents yet")
        return rows[-1]

    def current_rows(self, table: DynamicTable, row_ids: Sequence[str]) -> Relation:
        """Returns the rows of the newest version: to choose among them would be another query."""
        return self.current(table)

    def folded(self, table: DynamicTable, changes: Relation) -> Relation | None:
        """Returns None: the plan is run."""
        return None

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Adds the contents after `apply` as a new version; returns its number."""
        applied = self.compute(apply, {"contents": self.current(table), "folded": folded}, once=True)
        return self._commit(table, applied, record, Operation.MERGE)

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """Adds new contents as a new version; returns its number."""
        return self._commit(table, self.computed(contents), record, Operation.OVERWRITE)

    def copy(self, original: DynamicTable, table: DynamicTable, record: RefreshRecord) -> None:
        """Adds the contents of a table as a new version of another one."""
        self.overwrite(table, self.current(original), record)

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Adds a version with the rows of the newest one; returns its number."""
        return self._commit(table, self.stored(table.name).rows[-1], record, Operation.TOUCH)

    def add_rows(self, name: str, rows: Rows) -> int:
        """Adds the rows of a new version of a table; returns its number."""
        stored = self.stored(name)
        stored.rows.append(rows)
        return len(stored.rows) - 1

    def _commit(self, table: DynamicTable, rows: Rows, record: RefreshRecord, operation: Operation) -> int:
        stored = self.stored(table.name)
        number = len(stored.rows)
        # A refresh that changed no row keeps the `content` of the version before.
        content = number if record.changed or not stored.versions else stored.versions[-1].content
        version = SourceVersion(number, record.frontier.timestamp, content, stored.identity)
        self.add_rows(table.name, rows)
        stored.versions.append(version)
        stored.records.append(record)
        stored.operations.append(operation)
        return number


def _ensure_named_freely(definition: Definition) -> None:
    """Raises DefinitionError for a base table: the logs of base tables in memory are by their names."""
    if isinstance(definition, BaseTable):
        raise DefinitionError(f"{definition.name} is a base table in memory, and keeps its name")
