"""The interface that an engine implements so that the harness can test it (docs/adapters.md).

`engines.drive` calls it; the class `AdapterConformance` of the pytest plugin tests an implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from engines.errors import EngineError
from workload.dml import Dml
from workload.limits import Limits, within_dialect
from workload.outcomes.trace import Action, ChangeRow, Counted, HiddenState, Shown, StoredRow
from workload.scenario import Definition, DynamicTable, Meanwhile
from workload.schema import Column, Table
from workload.sql import Dialect, dml_texts
from workload.types import Row


class Unsupported(EngineError):
    """Raised by an adapter for a definition that its engine refuses: a declared gap, not a failure."""


class RefreshFailed(EngineError):
    """Raised by an adapter for a refresh that committed nothing.

    `validation`: the engine's own checks refused the change set, which is `change_set` where the engine shows
    it. `broken`: the engine raised an error that is none of its own, such as a KeyError.
    `table`, `timestamp`: which refresh failed, where the engine refreshes several tables by itself.
    """

    def __init__(
        self,
        reason: str,
        *,
        validation: bool = False,
        broken: bool = False,
        change_set: Sequence[ChangeRow] | None = None,
        table: str | None = None,
        timestamp: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.validation = validation
        self.broken = broken
        self.change_set = None if change_set is None else tuple(change_set)
        self.table = table
        self.timestamp = timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can be given, and what it shows of its work.

    `dialect`: the dialect of the SQL that the adapter receives. `limits`: the scenarios that the engine
    supports. `shown`: what the engine shows of its refreshes besides the contents. A check that needs what is
    not shown is not made, and is counted as not checked.
    """

    dialect: Dialect
    limits: Limits = field(default_factory=Limits)
    shown: frozenset[Shown] = frozenset()

    def __post_init__(self) -> None:
        """Cuts the limits to what has a text in the dialect: some lack types, functions or kinds of joins.

        Raises EngineError for a value of another type.
        """
        dialect: object = self.dialect
        shown: Iterable[object] = self.shown
        if not isinstance(dialect, Dialect):
            listed = ", ".join(f"Dialect.{dialect.name}" for dialect in Dialect)
            raise EngineError(f"capabilities: dialect is {dialect!r}; write one of {listed}")
        if not all(isinstance(each, Shown) for each in shown):
            raise EngineError(f"capabilities: shown is {shown!r}; write frozenset({{Shown.ROW_IDS}})")
        object.__setattr__(self, "shown", frozenset(self.shown))
        if isinstance(self.limits, Limits):
            object.__setattr__(self, "limits", within_dialect(self.limits, self.dialect))


@dataclass(frozen=True)
class Transaction:
    """Statements over base tables that commit together, at logical time `at` (microseconds)."""

    at: int
    statements: tuple[Dml, ...]
    tables: Mapping[str, Table]
    dialect: Dialect

    @cached_property
    def sql(self) -> tuple[str, ...]:
        """The statements as SQL text, in order.

        Raises WorkloadError for a kind of statement that the engine's `limits` should have excluded.
        """
        return tuple(
            text for dml in self.statements for text in dml_texts(dml, self.tables[dml.table], self.dialect)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What an engine shows of one refresh; only the parts that its capabilities list are read.

    COLUMNS: `columns`. CHANGE_SETS: `change_set`, before any validation; None where the refresh action
    computes none; and `counted`, its numbers of rows as the engine records them. FRONTIER: the `version` that
    the refresh made, the `versions` of the sources that it read, and in `source_timestamps` for each source
    the commit time or data timestamp of that version. ACTIONS: `action` as reported, `effective_action` as
    the commit itself shows it, and `reason`.
    `branches`: those of its rules that the built-in engine took since the last notes, for coverage.
    """

    columns: tuple[Column, ...] = ()
    change_set: tuple[ChangeRow, ...] | None = None
    counted: Counted | None = None
    version: int | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    source_timestamps: Mapping[str, int] = field(default_factory=dict)
    action: Action | None = None
    effective_action: Action | None = None
    reason: str = ""
    branches: tuple[str, ...] = ()


NOTHING_SHOWN = Notes()
"""The notes of an engine that shows nothing but contents."""


@dataclass(frozen=True, slots=True)
class OtherCommit:
    """A transaction of another process. `parts`: functions that commit its statements, in this order.

    `written`: returns, after the last part, the version of each written table.
    """

    parts: Sequence[Callable[[], None]]
    written: Callable[[], Mapping[str, int]]


def tuples(name: str, rows: Iterable[Row]) -> tuple[Row, ...]:
    """Returns what `Adapter.rows` gave for a table as tuples. Raises TypeError: it gave something else."""
    if not isinstance(rows, Iterable):
        raise TypeError(f"rows returned {rows!r} for {name}; return a list of tuples")
    found = []
    for row in rows:
        if not isinstance(row, Iterable):
            raise TypeError(f"rows returned {row!r} for {name} in place of a row; return a list of tuples")
        found.append(tuple(row))
    return tuple(found)


class Adapter(ABC):
    """One empty database of the engine under test, used for one scenario and then closed.

    Any exception that the methods do not name means that the engine broke: the scenario is then not judged,
    which is never a pass. Values are as in `workload.types`: int, float, Decimal, str, bytes, bool, date, and
    datetime without time zone; tuples for what is in an ARRAY or STRUCT, and for the pairs of a MAP, sorted
    by the repr of the key (`workload.types.of_map`).
    """

    capabilities: ClassVar[Capabilities]

    @classmethod  # noqa: B027  # most engines need nothing
    def ready(cls) -> None:
        """Checks that the engine can run on this machine.

        Raises EngineError, with the remedy, where something that the engine needs is missing.
        """

    def advance(self, at: int) -> None:  # noqa: B027  # an engine need not keep logical time
        """Sets the logical time (microseconds), which never goes back. Base tables are older than 0."""

    @abstractmethod
    def create_table(self, table: Table, sql: str) -> None:
        """Creates an empty base table; `sql` is the CREATE TABLE statement."""

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        raise Unsupported("views are not supported")

    @abstractmethod
    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        """Creates a dynamic table; its first refresh follows at once. Raises Unsupported, without any effect.

        Returns whether the table is maintained incrementally, if the engine shows its refresh actions.
        """

    def drop(self, definition: Definition) -> None:
        """Drops a view or dynamic table that nothing reads; another one may be given its name then.

        Called only if the engine's `limits` have `drops`. Raises RefreshFailed, without any effect.
        """
        raise NotImplementedError(f"{type(self).__name__} has limits with drops, but no method drop")

    def replace(self, definition: Definition, query: str) -> bool | None:
        """Gives a view or dynamic table another query, without new contents yet; others may read it.

        Called only if the engine's `limits` have `replaces`. Returns as `create_dynamic_table` does. Raises
        Unsupported, without any effect.
        """
        raise NotImplementedError(f"{type(self).__name__} has limits with replaces, but no method replace")

    def restart(self) -> None:
        """Opens the database again, as a new process finds it: with what is stored, and nothing else.

        Called only if the engine's `limits` have `restarts`. Raises RefreshFailed: it cannot be opened.
        """
        raise NotImplementedError(f"{type(self).__name__} has limits with restarts, but no method restart")

    def roll_back(self, transaction: Transaction) -> None:
        """Runs the statements of a transaction and rolls it back; the same transaction is committed next.

        Called only if the engine's `limits` have `rollbacks`. Raises RefreshFailed, as `commit` does.
        """
        raise NotImplementedError(f"{type(self).__name__} has limits with rollbacks, but no method roll_back")

    @abstractmethod
    def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
        """Applies a transaction; returns the version of each written table, if the engine shows its frontier.

        An engine that maintains tables within the transaction does so here, and raises RefreshFailed where
        the maintenance fails.
        """

    @abstractmethod
    def refresh(self, table: str, timestamp: int) -> Notes | None:
        """Refreshes one table to a data timestamp; the tables it reads have that data timestamp already.

        Raises RefreshFailed. `limits.timestamps` says which timestamps the engine can be given.
        """

    @abstractmethod
    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows that a reader of a table sees now. `columns`: those of its definition."""

    def stored(self, name: str, columns: Sequence[Column]) -> Iterable[StoredRow]:
        """Returns the rows of a dynamic table with their row ids; without ids where the engine shows none."""
        return (StoredRow(None, row) for row in tuples(name, self.rows(name, columns)))

    def rows_at(self, name: str, timestamp: int, columns: Sequence[Column]) -> Iterable[Row] | None:
        """Returns the rows that a reader of a dynamic table sees as of one of its earlier data timestamps.

        None where the engine has no such reads. Raises RefreshFailed.
        """
        return None

    def fresh(self, name: str) -> Iterable[StoredRow] | None:
        """Returns the rows and ids that an initialization at the table's data timestamp would give.

        None where the table has no row ids. Called only if the engine shows FRESH_IDS.
        """
        return None

    def hidden_state(self, name: str) -> HiddenState | None:
        """Returns the hidden columns from which a table is maintained; None where there are none to see.

        Called only if the engine shows FRESH_IDS.
        """
        return None

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row] | None:
        """Returns the engine's own answer to a query that reads no tables: the third vote.

        None where the engine cannot answer such a query. The vote is then the first contents of the same
        table in an empty database.
        """
        return None

    def columns_of(self, query: str) -> Sequence[Column] | None:
        """Returns the columns of a query that reads no tables, with their types.

        None where the engine cannot tell; definitions that somebody else wrote are then typed by the built-in
        engine. Raises EngineError: the engine refuses the query.
        """
        return None

    def interrupt(self) -> None:  # noqa: B027  # not every engine can be interrupted
        """Ends the call under way. Called from another thread when a scenario has taken too long."""

    def close(self) -> None:  # noqa: B027  # not every engine holds resources
        """Releases every resource. Called once, also after an error."""


Record = Callable[[str, int, Notes], None]
"""(table, data timestamp, notes): records one refresh; called directly after its commit."""


class SchedulingAdapter(Adapter):
    """An engine that decides by itself which upstream tables a refresh needs, and numbers its versions.

    The driver leaves these decisions to the engine, so that the judge can compare them with what was due.
    """

    @abstractmethod
    def initialize(self, name: str, record: Record) -> None:
        """Gives a new dynamic table its first contents, with the refreshes that this needs.

        Raises RefreshFailed, which names the table, and Unsupported.
        """

    @abstractmethod
    def refresh_with_upstream(self, name: str, timestamp: int, record: Record) -> None:
        """Refreshes a table and the tables it reads to a data timestamp. Raises as `initialize` does."""

    @abstractmethod
    def newest(self, name: str) -> int | None:
        """Returns the version that a reader of a table sees now; None where there is no such table."""

    @abstractmethod
    def full_reason(self, name: str) -> str:
        """Returns why a dynamic table is not maintained incrementally; empty where it is."""

    def begin(self, transaction: Transaction, meanwhile: Meanwhile) -> OtherCommit | None:
        """Returns a transaction of another process, to be committed part by part.

        None: the engine takes no such commits, and `commit` is called in its place.
        """
        return None

    @contextmanager
    def interleaved(self, before: Callable[[int], None]) -> Iterator[None]:
        """Calls `before` with 0, 1, ... before each call of the engine's storage inside the block.

        Call 0 decides what the data timestamp stands for. What `before` raises ends the engine's work there.
        """
        yield

    def restart(self) -> None:  # an engine whose calls are not reported is never killed
        """Begins again as another process would: with what is stored, and nothing of what was in memory."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        """Refreshes one table by `refresh_with_upstream`; returns the notes of that table's own refresh."""
        notes: dict[str, Notes] = {}
        self.refresh_with_upstream(table, timestamp, lambda name, _, note: notes.update({name: note}))
        return notes.get(table)
