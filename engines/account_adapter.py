"""The built-in engine as an adapter: what `in_memory`, `spark.on_spark` and `spark.on_delta` share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from typing import ClassVar, assert_never

from dynamic_tables import definition as engine
from dynamic_tables.account import Account
from dynamic_tables.differentiate.accumulators import TIES
from dynamic_tables.errors import (
    DefinitionError,
    RefreshFailed as EngineRefreshFailed,
    StoreError,
    UnsupportedError,
    ValidationFailed,
)
from dynamic_tables.plan.branches import Branch, Met
from dynamic_tables.refresh.change_set import ChangeSet, ChangeSetRefused
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.port import RefreshRecord
from engines.adapter import Capabilities, Notes, Record, RefreshFailed, SchedulingAdapter, Unsupported
from engines.interleaving import interleaved, paused
from engines.rows import workload_row
from workload.errors import first_line
from workload.limits import NO_LIMITS
from workload.outcomes.trace import (
    EVERYTHING,
    Action,
    ChangeAction,
    ChangeRow,
    Counted,
    HiddenState,
    StoredRow,
)
from workload.scenario import Definition, DynamicTable, View
from workload.schema import Column
from workload.sql import Dialect
from workload.types import Row, parse_type


class AccountAdapter(SchedulingAdapter):
    """A database of the built-in engine. It shows everything, so every check is made.

    Subclasses set `account` and `clock`, and say how base tables are written and stored rows are read.
    `branches`: the branches of rules that refreshes have taken since the notes on the last one.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SPARK, limits=NO_LIMITS, shown=EVERYTHING
    )

    account: Account
    clock: SimulatedClock
    branches: list[Branch]

    def watch(self) -> Met:
        """Begins a list of the branches that refreshes take; returns the function that adds one to it."""
        self.branches = []
        return self.branches.append

    @abstractmethod
    def stored_version(self, table: engine.DynamicTable, version: int) -> tuple[StoredRow, ...]:
        """Returns the rows of one version of a dynamic table, read without the engine where possible."""

    @abstractmethod
    def effective_action(self, table: engine.DynamicTable, version: int, reported: Action) -> Action:
        """Returns the refresh action that the commit of a version shows, whatever the engine reported."""

    def advance(self, at: int) -> None:
        """Sets the clock of the account."""
        self.clock.set(at)

    def defining(self, name: str) -> Account:
        """Returns the account that drops the definition of a name, and creates others under it."""
        return self.account

    def create_view(self, name: str, query: str) -> None:
        """Creates a view of the account. Raises Unsupported."""
        with _refusals():
            self.defining(name).create_view(name, query)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool:
        """Creates a dynamic table without contents; returns whether it is incremental. Raises Unsupported."""
        return self._defined(table, query, or_replace=False)

    def _defined(self, table: DynamicTable, query: str, *, or_replace: bool) -> bool:
        with _refusals():
            return (
                self.defining(table.name)
                .create_dynamic_table(
                    table.name,
                    query,
                    target_lag=table.target_lag,
                    refresh_mode=engine.RefreshMode[table.mode.name],
                    frozen_where=table.frozen_where,
                    initialize=False,
                    or_replace=or_replace,
                )
                .incremental
            )

    def replace(self, definition: Definition, query: str) -> bool | None:
        """Gives a view or dynamic table another query; its contents follow at the next refresh.

        Returns whether a dynamic table is incremental; None for a view. Raises Unsupported.
        """
        match definition:
            case DynamicTable():
                return self._defined(definition, query, or_replace=True)
            case View(name=name):
                with _refusals():
                    self.defining(name).create_view(name, query, or_replace=True)
                return None
            case _:
                assert_never(definition)

    def drop(self, definition: Definition) -> None:
        """Drops a view or dynamic table of the account. Raises RefreshFailed."""
        with failures():
            self.defining(definition.name).drop(definition.name)

    def full_reason(self, name: str) -> str:
        """Returns why the account maintains a dynamic table in full; empty where it is incremental."""
        return self.account.dynamic_table(name).reason

    def initialize(self, name: str, record: Record) -> None:
        """Initializes a dynamic table now. Raises RefreshFailed."""
        with failures():
            self.account.initialize(name, observe=self._observing(record))

    def refresh_with_upstream(self, name: str, timestamp: int, record: Record) -> None:
        """Refreshes a dynamic table and its upstream tables. Raises RefreshFailed.

        A refresh to the present is asked for without a timestamp, as users do it.
        """
        at = None if timestamp == self.clock.now() else timestamp
        with failures():
            self.account.refresh(name, at, observe=self._observing(record))

    @contextmanager
    def interleaved(self, before: Callable[[int], None]) -> Iterator[None]:
        """Calls `before` before each call of the account's store."""
        with interleaved(self.account, before):
            yield

    def stored(self, name: str, columns: Sequence[Column]) -> Iterable[StoredRow]:
        """Returns the newest rows of a dynamic table with their row ids."""
        version = self.newest(name)
        return () if version is None else self.stored_version(self.account.dynamic_table(name), version)

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the newest rows of a dynamic table; subclasses add the base tables."""
        return [stored.row for stored in self.stored(name, columns)]

    def rows_at(self, name: str, timestamp: int, columns: Sequence[Column]) -> Iterable[Row] | None:
        """Returns the rows of the version that the account reads at a time. Raises RefreshFailed."""
        with failures():
            table = self.account.dynamic_table(name)
            version = self.account.version_read(table, timestamp)
            assert version is not None, "a time has a version"
            return [stored.row for stored in self.stored_version(table, version)]

    def fresh(self, name: str) -> Iterable[StoredRow] | None:
        """Returns the rows and ids of an initialization at the table's data timestamp.

        None for a table without ids or with a frozen part, and where the query fails on the data.
        """
        table = self.account.dynamic_table(name)
        if not table.incremental or table.frozen_where:
            return None
        try:
            rows = self.account.fresh_contents(name).rows()
        except StoreError:
            return None
        return [StoredRow(str(row[-1]), workload_row(row[:-1])) for row in rows]

    def hidden_state(self, name: str) -> HiddenState | None:
        """Returns the hidden columns, stored and computed anew; None where the query fails on the data."""
        table = self.account.dynamic_table(name)
        if not table.state:
            return None
        names, shown = tuple(column for column, _ in table.state), len(table.columns)
        try:
            fresh = self.account.fresh_state(name)
            if fresh is None:
                return None
            by_id = [
                {str(row[-1]): workload_row(row[shown:-1]) for row in relation.rows()}
                for relation in (self.account.store.current(table), fresh)
            ]
        except StoreError:
            return None
        unknown = frozenset(column for column in names if column.endswith(TIES))
        return HiddenState(names, unknown, *by_id)

    def _observing(self, record: Record) -> Callable[[RefreshResult], None]:
        def observe(result: RefreshResult) -> None:
            with paused(self.account):
                record(result.table, result.timestamp, self._notes(result))

        return observe

    def _notes(self, result: RefreshResult) -> Notes:
        table = self.account.dynamic_table(result.table)
        reported = Action[result.action.name]
        sources = result.record.frontier.sources
        branches = tuple(dict.fromkeys(self.branches))
        self.branches.clear()
        return Notes(
            columns=tuple(Column(name, parse_type(str(type_))) for name, type_ in table.columns),
            change_set=None if result.change_set is None else change_rows(result.change_set),
            counted=_counted(result.record),
            version=result.version,
            versions={name: source.version for name, source in sources.items()},
            source_timestamps={name: source.timestamp for name, source in sources.items()},
            action=reported,
            effective_action=self.effective_action(table, result.version, reported),
            reason=result.record.reason,
            branches=branches,
        )


BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors of Python that show a bug where they are raised; those of files, processes and Spark do not."""

OURS = ("dynamic_tables", "engines", "campaign", "oracle", "workload")
"""The packages of this project that an error can come through."""


def _broken(error: Exception) -> RefreshFailed | None:
    """Returns the failure for a bug of the engine; None if the error comes from elsewhere.

    The last frame in a package of this project tells where it comes from: a callback of the harness, which
    the engine calls, may have raised it too.
    """
    frames = walk_tb(error.__traceback__)
    packages = [str(frame.f_globals.get("__name__", "")).partition(".")[0] for frame, _ in frames]
    ours = [name for name in packages if name in OURS]
    if not ours or ours[-1] != "dynamic_tables":
        return None
    what = first_line(error)
    return RefreshFailed(f"the engine broke: {type(error).__name__}: {what}", broken=True)


@contextmanager
def _bugs() -> Iterator[None]:
    """Turns a bug of the engine into RefreshFailed; errors that come from elsewhere pass through."""
    try:
        yield
    except BUGS as error:
        broken = _broken(error)
        if broken is None:
            raise
        raise broken from error


@contextmanager
def _refusals() -> Iterator[None]:
    """Turns the engine's errors about a definition into Unsupported."""
    try:
        with _bugs():
            yield
    except (DefinitionError, UnsupportedError) as error:
        raise Unsupported(str(error)) from error


@contextmanager
def failures() -> Iterator[None]:
    """Turns the engine's errors about a refresh into RefreshFailed."""
    try:
        with _bugs():
            yield
    except EngineRefreshFailed as error:
        broken = _broken(error.__cause__) if isinstance(error.__cause__, BUGS) else None
        if broken is not None:
            raise broken from error
        raise RefreshFailed(
            error.reason,
            validation=isinstance(error, ValidationFailed),
            change_set=change_rows(error.change_set) if isinstance(error, ChangeSetRefused) else None,
            table=error.table,
            timestamp=error.timestamp,
        ) from error
    except (DefinitionError, UnsupportedError) as error:
        # The definition was accepted before, so a refusal now is a failure.
        raise RefreshFailed(str(error)) from error


def _counted(record: RefreshRecord) -> Counted | None:
    """Returns the sizes of the change set of a refresh; None for an action without change set."""
    if record.inserted is None or record.deleted is None:
        return None
    return Counted(record.inserted, record.deleted)


def change_rows(changes: ChangeSet) -> tuple[ChangeRow, ...]:
    """Returns the rows of a raw change set; the engine puts `$ACTION` and `$ROW_ID` last."""
    return tuple(
        ChangeRow(ChangeAction(str(row[-2])), str(row[-1]), workload_row(row[:-2])) for row in changes.rows()
    )
