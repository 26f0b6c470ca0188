"""The engine's store in memory: tables and versions on DuckDB, for the `rules` tier.

Every version of every table is a DuckDB table of its own, so reading any version costs nothing. Row ids
of base tables are given when a row is inserted and kept until it is deleted, as Delta's are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

import duckdb

from dynamic_tables.definition import BaseTable, Definition, DynamicTable, View
from dynamic_tables.errors import StoreError
from dynamic_tables.plan.dialects import DUCKDB, Dialect
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.plan.render import render
from dynamic_tables.refresh.frontier import SourceVersion
from dynamic_tables.refresh.versions import SourceHistory
from dynamic_tables.store.port import RefreshRecord, Relation


class Operation(Enum):
    """What a commit of a dynamic table did to its rows."""

    MERGE = "MERGE"
    OVERWRITE = "OVERWRITE"
    TOUCH = "TOUCH"


@dataclass(frozen=True, slots=True)
class DuckRelation:
    """A DuckDB table by its (quoted) name, or a query not yet run."""

    connection: duckdb.DuckDBPyConnection
    name: str
    query: str | None = None

    def rows(self) -> Sequence[tuple[object, ...]]:
        """All rows."""
        text = self.query if self.query is not None else f'SELECT * FROM "{self.name}"'
        with store_errors():
            return self.connection.execute(text).fetchall()


@contextmanager
def store_errors() -> Iterator[None]:
    """DuckDB's errors as the engine knows them."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error


@dataclass(slots=True)
class StoredTable:
    """The versions of one table: physical DuckDB table and engine's view of each."""

    physical: list[str] = field(default_factory=list)
    versions: list[SourceVersion] = field(default_factory=list)
    records: list[RefreshRecord] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    identity: str = ""


@dataclass(slots=True)
class DuckStore:
    """A `Store` over one DuckDB connection."""

    connection: duckdb.DuckDBPyConnection
    known: dict[str, Definition] = field(default_factory=dict)
    tables: dict[str, StoredTable] = field(default_factory=dict)
    names: int = 0

    @property
    def dialect(self) -> Dialect:
        """DuckDB's."""
        return DUCKDB

    def definitions(self) -> Mapping[str, Definition]:
        """What exists."""
        return self.known

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
        return version.version < len(self.tables[name].physical)

    def refreshes(self, table: DynamicTable) -> Sequence[RefreshRecord]:
        """The refresh history."""
        return self.tables[table.name].records

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """A version's rows; the plan picks the columns it wants, so ids cost nothing."""
        return DuckRelation(self.connection, self.tables[name].physical[version])

    def current(self, table: DynamicTable) -> Relation:
        """The newest version's rows."""
        return DuckRelation(self.connection, self.tables[table.name].physical[-1])

    def compute(self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool) -> Relation:
        """A temporary table, or the query itself."""
        names = {
            leaf: relation.name for leaf, relation in leaves.items() if isinstance(relation, DuckRelation)
        }
        query = render(plan, DUCKDB, names).text()
        if not once:
            return DuckRelation(self.connection, "", query)
        return DuckRelation(self.connection, self.store_as("x", query))

    def compute_text(self, text: str, relations: Mapping[str, Relation]) -> Relation:
        """Not here: the text is Spark's."""
        raise StoreError("this store runs plans only")

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """The contents after `apply`, as a new version."""
        contents = self.current(table)
        applied = self.compute(apply, {"contents": contents, "folded": folded}, once=True)
        return self._commit(table, applied, record, Operation.MERGE)

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """New contents as a new version."""
        assert isinstance(contents, DuckRelation)
        if contents.query is not None:
            contents = DuckRelation(self.connection, self.store_as(table.name, contents.query))
        return self._commit(table, contents, record, Operation.OVERWRITE)

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """A version with the same rows."""
        return self._commit(table, self.current(table), record, Operation.TOUCH)

    def release(self, relations: Sequence[Relation]) -> None:
        """Nothing: the connection does not outlive the scenario."""

    def store_as(self, hint: str, query: str) -> str:
        """Runs a query into a new table; returns the table's name."""
        self.names += 1
        name = f"{hint}@{self.names}"
        with store_errors():
            self.connection.execute(f'CREATE TEMP TABLE "{name}" AS {query}').fetchall()
        return name

    def add_version(self, name: str, physical: str, version: SourceVersion) -> None:
        """Adds a version of a base table that someone else wrote."""
        stored = self.tables[name]
        stored.physical.append(physical)
        stored.versions.append(version)

    def _commit(
        self, table: DynamicTable, contents: Relation, record: RefreshRecord, operation: Operation
    ) -> int:
        assert isinstance(contents, DuckRelation)
        stored = self.tables[table.name]
        number = len(stored.physical)
        content = number if record.changed or not stored.versions else stored.versions[-1].content
        version = SourceVersion(number, record.frontier.timestamp, content, stored.identity)
        self.add_version(table.name, contents.name, version)
        stored.records.append(record)
        stored.operations.append(operation)
        return number
