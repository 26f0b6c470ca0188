"""What all tiers share: driving an account through a scenario and recording the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, assert_never

from dynamic_tables import definition as engine
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed, UnsupportedError, ValidationFailed
from dynamic_tables.refresh.change_set import ChangeSet, ChangeSetRefused
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.clock import SimulatedClock
from workload.scenario import Commit, Create, DynamicTable, Read, Refresh, Scenario, View
from workload.schema import Column
from workload.sql import Dialect, render_query
from workload.trace import (
    Action,
    ChangeAction,
    ChangeRow,
    Created,
    Declared,
    Event,
    ReadDone,
    Refreshed,
    RefreshError,
    RefreshRefused,
    SourceWritten,
    StoredRow,
    Trace,
)
from workload.types import Row, parse_type

FreshWanted = Callable[[int, str], bool]
"""(step, table) -> whether a fresh initialization is to be computed after that refresh."""


class Platform(Protocol):
    """What differs between tiers: who applies DML, and how stored rows are read from outside."""

    def commit(self, step: int, commit: Commit) -> Sequence[SourceWritten]:
        """Applies a transaction; returns what it wrote."""
        ...

    def stored(self, table: engine.DynamicTable, version: int) -> tuple[StoredRow, ...]:
        """A version's rows, read without the engine where that is possible."""
        ...

    def newest(self, name: str) -> int | None:
        """The version that a reader of a table sees now; None: there is no such table."""
        ...

    def effective(self, table: engine.DynamicTable, version: int, reported: Action) -> Action:
        """The action as the commit itself shows it."""
        ...


@dataclass(slots=True)
class Recorder:
    """Runs the steps of a scenario on an account and notes every event."""

    account: Account
    clock: SimulatedClock
    platform: Platform
    fresh_wanted: FreshWanted
    events: list[Event] = field(default_factory=list)
    step: int = 0

    def run(self, scenario: Scenario) -> Trace:
        """The trace of a well-formed scenario. Only broken infrastructure raises."""
        for number, step in enumerate(scenario.steps):
            self.step = number
            self.clock.set(step.at)
            match step:
                case Commit():
                    self.events.extend(self.platform.commit(number, step))
                case Create(_, name):
                    self._create(scenario, name)
                case Refresh(_, table, timestamp):
                    self._refresh(table, timestamp)
                case Read(_, reader, tables):
                    self._read(reader, tables)
                case _:
                    assert_never(step)
        return Trace(tuple(self.events))

    def _read(self, reader: int, tables: tuple[str, ...]) -> None:
        found = {table: self.platform.newest(table) for table in tables}
        versions = {table: version for table, version in found.items() if version is not None}
        if versions:
            self.events.append(ReadDone(self.step, reader, versions))

    def _refresh(self, table: str, timestamp: int) -> None:
        self._guarded(table, timestamp, lambda: self.account.refresh(table, timestamp, observe=self._observe))

    def _create(self, scenario: Scenario, name: str) -> None:
        definition = scenario.definition(name)
        text = render_query(definition.query, Dialect.SPARK)
        try:
            match definition:
                case View():
                    self.account.create_view(name, text)
                    self.events.append(Created(self.step, name, None, ""))
                    return
                case DynamicTable(_, _, mode, target_lag):
                    table = self.account.create_dynamic_table(
                        name,
                        text,
                        target_lag=target_lag,
                        refresh_mode=engine.RefreshMode[mode.name],
                        initialize=False,
                    )
                case _:
                    assert_never(definition)
        except (DefinitionError, UnsupportedError) as error:
            self.events.append(Declared(self.step, name, str(error)))
            return
        self.events.append(Created(self.step, name, table.incremental, table.reason))
        self._guarded(name, self.clock.now(), lambda: self.account.initialize(name, observe=self._observe))

    def _guarded(self, name: str, timestamp: int, refresh: Callable[[], object]) -> None:
        try:
            refresh()
        except ChangeSetRefused as error:
            self._refused(error, RefreshError.VALIDATION, self._change_rows(error.change_set))
        except ValidationFailed as error:
            self._refused(error, RefreshError.VALIDATION, None)
        except RefreshFailed as error:
            self._refused(error, RefreshError.FAILED, None)
        except DefinitionError as error:
            self.events.append(Declared(self.step, name, f"refresh at {timestamp}: {error}"))

    def _refused(
        self, error: RefreshFailed, kind: RefreshError, changes: tuple[ChangeRow, ...] | None
    ) -> None:
        self.events.append(
            RefreshRefused(self.step, error.table, error.timestamp, kind, error.reason, changes)
        )

    def _observe(self, result: RefreshResult) -> None:
        table = self.account.dynamic_table(result.table)
        reported = Action[result.action.name]
        frontier = result.record.frontier
        self.events.append(
            Refreshed(
                step=self.step,
                table=result.table,
                version=result.version,
                timestamp=result.timestamp,
                action=reported,
                effective_action=self.platform.effective(table, result.version, reported),
                reason=result.record.reason,
                versions={name: source.version for name, source in frontier.sources.items()},
                source_timestamps={name: source.timestamp for name, source in frontier.sources.items()},
                columns=tuple(Column(name, parse_type(str(type_))) for name, type_ in table.columns),
                contents=self.platform.stored(table, result.version),
                change_set=None if result.change_set is None else self._change_rows(result.change_set),
                fresh=self._fresh(table),
            )
        )

    def _fresh(self, table: engine.DynamicTable) -> tuple[StoredRow, ...] | None:
        if not table.incremental or not self.fresh_wanted(self.step, table.name):
            return None
        return tuple(
            StoredRow(str(row[-1]), workload_row(row[:-1]))
            for row in self.account.fresh_contents(table.name).rows()
        )

    @staticmethod
    def _change_rows(changes: ChangeSet) -> tuple[ChangeRow, ...]:
        return tuple(
            ChangeRow(ChangeAction(str(row[-2])), str(row[-1]), workload_row(row[:-2]))
            for row in changes.rows()
        )


def workload_row(values: Sequence[object]) -> Row:
    """A row of the engine as a row of the harness: the same Python types stand for the same SQL types."""
    return tuple(values)  # type: ignore[arg-type]  # both sides map SQL types to Python types alike; the oracle checks
