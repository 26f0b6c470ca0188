"""The tier of an adapter: it drives the engine through a scenario and records the ordinary trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import assert_never

from campaign.adapters.contract import (
    NOTHING,
    Adapter,
    Capabilities,
    Notes,
    RefreshFailed,
    Transaction,
    Unsupported,
)
from campaign.engine import Engine
from campaign.errors import CampaignError
from campaign.tiers.recording import FreshWanted
from campaign.tiers.watchdog import LIMIT, cut_after
from campaign.vote import recomputation
from generators.limits import Timestamps
from oracle.delayed_view import DelayedView
from workload.query import names_read
from workload.scenario import Commit, Create, DynamicTable, Read, Refresh, Scenario, View
from workload.schema import Column
from workload.sql import create_table_text, render_query
from workload.timeline import due_refreshes
from workload.trace import (
    Action,
    Created,
    Declared,
    Event,
    ReadDone,
    Refreshed,
    RefreshError,
    RefreshRefused,
    Shown,
    SourceWritten,
    Trace,
)
from workload.types import Row
from workload.wellformed import check_scenario

Open = Callable[[], Adapter]
"""Makes an empty database of the engine under test: an adapter's class, or a function that makes one."""


@contextmanager
def opened(adapter: Open) -> Iterator[Adapter]:
    """An adapter that is closed afterwards."""
    database = adapter()
    try:
        yield database
    finally:
        database.close()


@dataclass(slots=True)
class Drive:
    """One run of a scenario on an adapter."""

    adapter: Adapter
    scenario: Scenario
    columns: Mapping[str, tuple[Column, ...]]
    events: list[Event] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    commits: list[int] = field(default_factory=list)

    @property
    def capabilities(self) -> Capabilities:
        """The adapter's."""
        return self.adapter.capabilities

    def run(self) -> Trace:
        """The trace. What the adapter raises, other than its contract says, goes through.

        It ends with a transaction that fails: what the base tables hold then is not the scenario's any more.
        """
        for table in self.scenario.tables:
            self.adapter.create_table(table, create_table_text(table, self.capabilities.dialect))
        for number, (step, due) in enumerate(
            zip(self.scenario.steps, due_refreshes(self.scenario), strict=True)
        ):
            self.adapter.advance(step.at)
            match step:
                case Commit():
                    if not self._commit(number, step):
                        break
                case Create(_, name):
                    if self._create(number, name):
                        self._refresh_all(number, step.at, due)
                case Refresh():
                    self._refresh_all(number, step.at, due)
                case Read(_, reader, tables):
                    seen = {table: self.versions[table] for table in tables if table in self.versions}
                    if seen:
                        self.events.append(ReadDone(number, reader, seen))
                case _:
                    assert_never(step)
        return Trace(tuple(self.events), self.capabilities.shown)

    def _commit(self, number: int, commit: Commit) -> bool:
        """Whether the transaction was applied; if not, that is in the trace."""
        tables = {table.name: table for table in self.scenario.tables}
        transaction = Transaction(commit.at, commit.statements, tables, self.capabilities.dialect)
        try:
            told = self.adapter.commit(transaction)
        except RefreshFailed as error:
            for name in [table.name for table in self.scenario.dynamic_tables if table.name in self.versions]:
                self._failed(number, name, commit.at, error)
            return False
        self.commits.append(commit.at)
        for name in dict.fromkeys(statement.table for statement in commit.statements):
            columns = tables[name].columns
            self.versions[name] = self.versions.get(name, 0) + 1 if told is None else told[name]
            rows = tuple(tuple(row) for row in self.adapter.rows(name, columns))
            self.events.append(SourceWritten(number, name, self.versions[name], columns, rows))
        return True

    def _create(self, number: int, name: str) -> bool:
        """Whether the definition was taken; if not, that is in the trace."""
        definition = self.scenario.definition(name)
        query = render_query(definition.query, self.capabilities.dialect)
        incremental = None
        try:
            for source in names_read(definition.query):
                if source in self.refused:
                    raise Unsupported(f"it reads {source}, which is not there")
            match definition:
                case View():
                    self.adapter.create_view(name, query)
                case DynamicTable():
                    incremental = self.adapter.create_dynamic_table(definition, query)
                case _:
                    assert_never(definition)
        except Unsupported as error:
            self.refused.add(name)
            self.events.append(Declared(number, name, str(error)))
            return False
        self.events.append(Created(number, name, incremental, ""))
        return True

    def _refresh_all(self, number: int, at: int, due: Sequence[tuple[str, int]]) -> None:
        for table, timestamp in due:
            if table in self.refused:
                continue
            if self.capabilities.limits.timestamps is not Timestamps.ANY and any(
                timestamp < commit <= at for commit in self.commits
            ):
                reason = f"it cannot be refreshed at {at} to the past data timestamp {timestamp}"
                self.events.append(Declared(number, table, reason))
                continue
            try:
                notes = self.adapter.refresh(table, timestamp)
            except RefreshFailed as error:
                self._failed(number, table, timestamp, error)
            else:
                self.events.append(self._refreshed(number, table, timestamp, notes or NOTHING))

    def _failed(self, number: int, table: str, timestamp: int, error: RefreshFailed) -> None:
        kind = RefreshError.VALIDATION if error.validation else RefreshError.FAILED
        self.events.append(RefreshRefused(number, table, timestamp, kind, str(error), error.change_set))

    def _refreshed(self, number: int, table: str, timestamp: int, notes: Notes) -> Refreshed:
        shown = self.capabilities.shown
        first = table not in self.versions
        self.versions[table] = self.versions.get(table, -1) + 1 if notes.version is None else notes.version
        columns = notes.columns if Shown.COLUMNS in shown else self.columns[table]
        action = notes.action or (Action.INITIALIZE if first else Action.FULL)
        return Refreshed(
            step=number,
            table=table,
            version=self.versions[table],
            timestamp=timestamp,
            action=action,
            effective_action=notes.effective_action or action,
            reason=notes.reason or "the engine does not tell its refresh actions",
            versions=notes.versions,
            source_timestamps=notes.source_timestamps,
            columns=columns,
            contents=tuple(self.adapter.stored(table, self.columns[table])),
            change_set=notes.change_set if Shown.CHANGE_SETS in shown else None,
            fresh=notes.fresh if Shown.FRESH_IDS in shown else None,
        )


@dataclass(frozen=True, slots=True)
class AdapterTier:
    """Scenarios on another engine, each in a database of its own."""

    adapter: Open
    limit_s: float = LIMIT

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        """The trace of a well-formed scenario. `engine` is the built-in one's rules: of no use here.

        Raises HungQuery, and whatever else the adapter raises that its contract does not name.
        """
        with opened(self.adapter) as adapter, cut_after(self.limit_s, adapter.interrupt):
            return Drive(adapter, scenario, check_scenario(scenario)).run()

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        """The engine's own evaluation of the query over the oracle's rows, or a first initialization."""
        with opened(self.adapter) as adapter:
            text = truth.sql(refreshed.table, refreshed.timestamp, adapter.capabilities.dialect)
            rows = adapter.evaluate(text, truth.columns(refreshed.table))
            if rows is not None:
                return [tuple(row) for row in rows]
        alone = recomputation(scenario, truth, refreshed.table, refreshed.timestamp)
        trace = self.run(alone, engine, lambda step, table: False)
        if not trace.refreshes:
            raise CampaignError(
                f"no third vote on {refreshed.table}: the engine refuses its full recomputation; "
                "give the adapter an `evaluate`"
            )
        return [stored.row for stored in trace.refreshes[-1].contents]
