"""What the engine needs of a place where tables live. Delta is one (`store.delta`); tests bring another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dynamic_tables.definition import BaseTable, Columns, Definition, DynamicTable, View
from dynamic_tables.own_functions import Loaded
from dynamic_tables.plan.dialects import Dialect
from dynamic_tables.plan.nodes import BoundQuery, Plan
from dynamic_tables.plan.types import Type
from dynamic_tables.store.log.journal import Journal
from dynamic_tables.versions import Frontier, SourceHistory, SourceVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Relation(Protocol):
    """Rows that a leaf of a plan can be bound to."""

    @property
    def local(self) -> bool:
        """Whether the rows are few and already in this process, so that `rows` runs no query."""

    def rows(self) -> Sequence[tuple[object, ...]]:
        """Returns all rows, in no particular order; values in the order of the columns."""

    def last(self, count: int) -> Sequence[tuple[object, ...]]:
        """Returns the values of the last columns of all rows, without reading the values before them."""


class Action(Enum):
    """The closed list of refresh actions (DVS paper, sections 3.3.2 and 5.4)."""

    INITIALIZE = "INITIALIZE"
    NO_DATA = "NO_DATA"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"
    REINITIALIZE = "REINITIALIZE"


@dataclass(frozen=True, slots=True)
class Touched:
    """Rows of a table at both ends of an interval: all that differ, and some that may not.

    With `$ROW_ID`, but for a base table with a primary key.
    """

    before: Relation
    after: Relation


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a table commits touched. `touched`: rows taken out or put in. `total`: rows of the table.

    An updated row counts twice, for its old and its new image.
    """

    touched: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRecord:
    """One line of a table's refresh history; it lives in the commit that holds the contents.

    `changed`: whether rows changed. `inserted` and `deleted` count the rows of the change set; None for an
    action that computes no change set. `late`: rows of it that would have changed the frozen part, and did
    not. `seconds`: duration of each phase. `extents`: what commits touched, by source, where the log tells.
    """

    action: Action
    reason: str
    frontier: Frontier
    changed: bool
    inserted: int | None = None
    deleted: int | None = None
    late: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    extents: Mapping[str, Extent] = field(default_factory=dict)


class Store(Protocol):
    """Tables with versions, each commit of which can carry a record.

    Every method may raise StoreError (the query or commit failed) or CorruptTable (a table cannot be read).
    """

    @property
    def dialect(self) -> Dialect:
        """The SQL dialect that plans are rendered to."""

    @property
    def journal(self) -> Journal:
        """What happened to the account beside the contents of its tables."""

    @property
    def merge_validates(self) -> bool:
        """Whether `merge` refuses, by ChangeDoesNotFit, changes that do not fit the stored contents."""

    def begin(self) -> None:
        """Begins an operation of the account: what others have defined and dropped by now is seen in it."""

    def definitions(self) -> Mapping[str, Definition]:
        """Returns every table and view by lower-case name, in creation order."""

    def create_view(self, view: View) -> None:
        """Adds a view. Raises DefinitionError if it cannot be stored."""

    def create_dynamic_table(self, table: DynamicTable) -> None:
        """Adds an empty, uninitialized dynamic table. Raises DefinitionError if it cannot be stored."""

    def drop(self, definition: Definition, *, for_good: bool = False) -> None:
        """Removes a table or view; `for_good`: it cannot be restored, but one dropped before it still can."""

    def redefine(self, definition: Definition) -> None:
        """Writes another definition of a view or dynamic table; its rows stay until the next refresh."""

    def history(self, definition: BaseTable | DynamicTable) -> SourceHistory:
        """Returns the versions of a table: commits of a base table, refreshes of a dynamic table."""

    def earliest(self, now: int) -> int:
        """Returns the earliest data timestamp, not before `now`, for which versions can still be decided."""

    def decide(self, timestamp: int) -> None:
        """Decides, once for all, which version of each base table a data timestamp stands for."""

    def readable(self, name: str, version: SourceVersion) -> bool:
        """Tells whether the rows of a version can still be read."""

    def goes_on(self, name: str, version: SourceVersion) -> bool:
        """Tells whether a table that was replaced keeps a version in its log, with the columns it has now."""

    def refreshes(self, table: DynamicTable, *, edited: bool = False) -> Sequence[RefreshRecord]:
        """Returns the refresh history, oldest first; the last record holds the table's frontier.

        Raises CorruptTable: where another writer has changed rows, unless `edited`.
        """

    def snapshot(self, name: str, version: int, *, ids: bool) -> Relation:
        """Returns the rows of a table at a version; with `ids`, `$ROW_ID` is the last column."""

    def touched(
        self, definition: BaseTable | DynamicTable, start: SourceVersion, end: SourceVersion
    ) -> Touched | None:
        """Returns the rows that the commits between two versions may have changed, from these commits alone.

        None if the store cannot tell: then the whole versions are compared.
        """

    def extent(
        self, definition: BaseTable | DynamicTable, start: SourceVersion, end: SourceVersion
    ) -> Extent | None:
        """Returns how much the commits between two versions touched, without reading rows; None: unknown."""

    def current(self, table: DynamicTable, *, edited: bool = False) -> Relation:
        """Returns the stored contents; of an incremental table with its hidden columns and `$ROW_ID`.

        `edited`: those of the last refresh, also where another writer has changed rows since. Otherwise that
        raises CorruptTable.
        """

    def current_rows(self, table: DynamicTable, row_ids: Sequence[str]) -> Relation:
        """Returns the rows of `current` that have one of the ids, and possibly more of its rows."""

    def compute(
        self, plan: Plan, leaves: Mapping[str, Relation], *, once: bool, few: bool = False
    ) -> Relation:
        """Returns the rows of a plan; `once`: materialised, so reading them again computes nothing.

        `few`: the rows are likely few, whatever the leaves hold: they may be fetched, and are computed again
        if they are many.
        """

    def compute_text(self, text: str, relations: Mapping[str, Relation], time: int) -> Relation:
        """Returns the rows of a query that has no plan; `relations` gives the rows of each source.

        `time`: the current time of the query in microseconds.
        """

    def folded(self, table: DynamicTable, changes: Relation) -> Relation | None:
        """Returns the result of the plan `apply.fold`, computed without a query; None where it needs one."""

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Commits a folded change set with its record, and returns the version.

        `apply`: the plan of the new contents, for a store that computes them.
        """

    def overwrite(self, table: DynamicTable, contents: Relation, record: RefreshRecord) -> int:
        """Commits new contents with their record as one version, and returns the version."""

    def copy(self, original: DynamicTable, table: DynamicTable, record: RefreshRecord) -> None:
        """Commits the contents of a table, with a record, as those of another one that has none yet."""

    def touch(self, table: DynamicTable, record: RefreshRecord) -> int:
        """Commits a record alone, as a version with the same rows, and returns the version."""

    def release(self, relations: Sequence[Relation]) -> None:
        """Frees the resources of relations; their `rows()` must still work afterwards."""


@runtime_checkable
class WritableStore(Store, Protocol):
    """A store that also creates base tables and runs users' statements on them."""

    def create_base_table(self, table: BaseTable) -> None:
        """Adds an empty base table. Raises DefinitionError if it cannot be stored."""

    def write(self, statements: Sequence[str]) -> Mapping[str, int]:
        """Runs statements as one transaction; returns the newest version of each table written."""

    def end_unfinished(self, *, keep: bool) -> Sequence[int]:
        """Undoes every unfinished transaction, or keeps what it committed; returns their times."""


@runtime_checkable
class NamingStore(Store, Protocol):
    """A store whose tables may get other names, and come back after they were dropped."""

    @property
    def renames(self) -> bool:
        """Whether a table can get another name: on an object store it cannot."""

    def restore(self, name: str) -> Definition:
        """Brings back the table or view that was dropped last under a name. Raises DefinitionError."""

    def rename(self, name: str, other: str) -> Definition:
        """Gives a table or view another name that is free; returns its definition."""

    def identity(self, name: str) -> str:
        """Returns the id of the table or view of a name, which no other one has; empty if there is none."""


@runtime_checkable
class FrameStore(WritableStore, NamingStore, Protocol):
    """A store whose tables are data frames of Spark."""

    def read(self, name: str, version: int) -> DataFrame:
        """Returns the rows of a version as a data frame, not read yet."""

    def attach(
        self,
        name: str,
        path_or_name: str,
        key: Callable[[BaseTable], BaseTable],
        before: Callable[[BaseTable], None],
    ) -> BaseTable:
        """Adds a Delta table that lies elsewhere as a base table. Raises DefinitionError.

        `key`: gives the definition its primary key. `before`: receives it before anything is stored.
        """

    def is_lost(self, name: str) -> bool:
        """Tells whether an attached table cannot be read where it lay."""

    def detach(self, name: str) -> None:
        """Removes an attached table from the account, also a lost one; touches none of its files."""

    def write_frame(self, name: str, frame: DataFrame, mode: str) -> int:
        """Appends the rows of a data frame to a base table, or replaces all rows; returns the version."""

    def reach(self, timestamp: int) -> None:
        """Makes `history` return the versions of base tables back to a data timestamp, however long ago."""

    def newest(self, name: str) -> int:
        """Returns the newest version of a table."""


@runtime_checkable
class FunctionStore(Protocol):
    """A store whose queries may call functions of one's own."""

    def knows_function(self, name: str) -> bool:
        """Tells whether the store itself has a function of a name."""

    def use_function(self, found: Loaded) -> None:
        """Makes queries call a function as it was loaded. Raises DefinitionError: it is refused."""

    def forget_function(self, name: str) -> None:
        """Makes queries know a function no more."""


@runtime_checkable
class TextAnalyzer(Protocol):
    """A store that can tell what a query's text means to Spark."""

    def columns_of_text(self, text: str, relations: Iterable[str]) -> Columns:
        """Returns names and types of the result. Raises DefinitionError for a text that is refused."""

    def type_of(self, expression: str, columns: Columns) -> Type | None:
        """Returns the type of an expression over some columns (see `reading.values.passed.TypeOf`)."""

    def misread(self, text: str, query: BoundQuery) -> str:
        """Returns how the plan of a text differs from what the text means to Spark; empty if it does not."""
