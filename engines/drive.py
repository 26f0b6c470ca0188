"""The driver: runs a scenario on an adapter and records as a trace what readers see and the engine shows.

All engines run through it: `engines.engine` calls it for campaigns, and the pytest plugin for assertions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, assert_never
from zlib import crc32

from engines.adapter import (
    NOTHING_SHOWN,
    Adapter,
    Notes,
    RefreshFailed,
    SchedulingAdapter,
    Transaction,
    Unsupported,
    tuples,
)
from engines.other_process import Killed, Other, Processes, WriterFailed
from engines.watchdog import ensure_not_stopped
from engines.working_time import ENGINE_WORKS
from workload.errors import WorkloadError
from workload.limits import Timestamps
from workload.outcomes.trace import (
    Action,
    Created,
    Declared,
    Disturbance,
    Event,
    PastRead,
    ReadDone,
    Redefined,
    Refreshed,
    RefreshError,
    RefreshRefused,
    Shown,
    SourceWritten,
    StoredRow,
    Trace,
)
from workload.query import names_read
from workload.scenario import Commit, Create, Drop, DynamicTable, Read, Redefine, Refresh, Scenario, View
from workload.schema import Column, Table
from workload.sql import create_table_text
from workload.timeline import Due, due_refreshes
from workload.wellformed import check_definitions
from workload.writing import definition_text

FreshWanted = Callable[[int, str], bool]
"""(step, table) -> whether the rows of a fresh initialization are to be computed after that refresh."""


def never_fresh(step: int, table: str) -> bool:
    """Returns False: no fresh initialization is computed."""
    return False


@dataclass(slots=True)
class SoFar:
    """What the newest run did before it ended, also where it ended by an error or was cut.

    `events`: how many events there were when it was cut. What comes after them, such as a refresh that failed
    because its query was interrupted, says nothing about the engine.
    """

    run: Drive | None = None
    events: int | None = None

    def cut(self) -> None:
        """Notes that the run is interrupted now; only the first time counts."""
        if self.run is not None and self.events is None:
            self.events = len(self.run.events)

    @property
    def trace(self) -> Trace | None:
        """The trace up to there; None before the first step."""
        if self.run is None:
            return None
        trace = self.run.trace
        return replace(trace, events=trace.events[: self.events])


def drive(
    adapter: Adapter,
    scenario: Scenario,
    fresh_wanted: FreshWanted = never_fresh,
    so_far: SoFar | None = None,
) -> Trace:
    """Runs a well-formed scenario on an empty database of an engine and returns the trace.

    `so_far`: shows the trace while it grows, and after an error.
    Raises every exception of the adapter, except Unsupported and RefreshFailed where `Adapter` names them:
    those two become events of the trace.
    """
    run = Drive(adapter, scenario, fresh_wanted)
    if so_far is not None:
        so_far.run, so_far.events = run, None
    run.run()
    return run.trace


@dataclass
class Drive:
    """One run of a scenario.

    `versions`: the newest version of each table, counted here unless the engine shows it. `refused`: the
    definitions that the engine refused. `commits`: the times of the transactions so far. `others`: by step,
    the commits that other processes have begun. `disturbed`: see `Trace`. `step`: the current one, -1 before
    the first.
    `names`: for each name by which the engine knows a definition now, its name in the scenario. Whatever
    crosses the adapter has the engine's names, and everything here has those of the scenario.
    `not_refreshed`: what replaced another definition and has no contents by its own query yet.
    """

    adapter: Adapter
    scenario: Scenario
    fresh_wanted: FreshWanted
    events: list[Event] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    commits: list[int] = field(default_factory=list)
    others: dict[int, Other] = field(default_factory=dict)
    disturbed: list[Disturbance] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    not_refreshed: set[str] = field(default_factory=set)
    step: int = -1

    @cached_property
    def public(self) -> dict[str, str]:
        """The engine's name of every definition whose name in the scenario is another one."""
        return {d.name: d.known_as for d in self.scenario.definitions if d.known_as}

    def _called(self, name: str) -> str:
        """Returns the engine's name of a table or definition of the scenario."""
        return self.public.get(name, name)

    @cached_property
    def columns(self) -> dict[str, tuple[Column, ...]]:
        """The columns of every table and definition, as the scenario has them."""
        return dict(check_definitions(self.scenario))

    @cached_property
    def due(self) -> Sequence[tuple[Due, ...]]:
        """The refreshes that each step calls for."""
        return due_refreshes(self.scenario)

    @property
    def trace(self) -> Trace:
        """What the run did so far."""
        return Trace(tuple(self.events), self.adapter.capabilities.shown, tuple(self.disturbed))

    def _creation(self, table: Table) -> str:
        capabilities = self.adapter.capabilities
        return create_table_text(table, capabilities.dialect, keyed=capabilities.limits.keys)

    @property
    def given(self) -> tuple[str, ...]:
        """The SQL that the current step gives the engine; before the first step, that of all tables."""
        dialect = self.adapter.capabilities.dialect
        if self.step < 0:
            return tuple(map(self._creation, self.scenario.tables))
        match self.scenario.steps[self.step]:
            case Commit() as commit:
                return self._transaction(commit).sql
            case Create(_, name):
                return (definition_text(self.scenario, self.scenario.definition(name), dialect),)
            case Redefine(_, names):
                return (definition_text(self.scenario, self.scenario.definition(names[0]), dialect),)
            case Drop() | Refresh() | Read():
                return ()
            case step:
                assert_never(step)

    def run(self) -> None:
        """Runs all steps; stops after a transaction that fails.

        After such a transaction the base tables differ from those of the scenario.
        """
        adapter = self.adapter
        for table in self.scenario.tables:
            text = self._creation(table)
            with ENGINE_WORKS:
                adapter.create_table(table, text)
        for number, step in enumerate(self.scenario.steps):
            ensure_not_stopped()
            self.step = number
            with ENGINE_WORKS:
                adapter.advance(step.at)
            match step:
                case Commit():
                    if not self._commit(step):
                        break
                case Create(at, name):
                    self._create(name, at)
                case Drop(at, name):
                    self._drop(name, at)
                case Redefine(at, names):
                    self._redefine(names, at)
                case Refresh():
                    self._refresh(step)
                case Read(_, reader, tables):
                    self._read(reader, tables)
                case _:
                    assert_never(step)
        self._read_past()

    def _commit(self, commit: Commit) -> bool:
        """Applies a transaction; returns whether it committed. A failure is in the trace."""
        tables = {table.name: table for table in self.scenario.tables}
        try:
            written = self._written(commit)
        except RefreshFailed as error:
            # Tables that are maintained within the transaction failed with it.
            for table in self.scenario.dynamic_tables:
                if table.name in self.versions:
                    self._failed(table.name, commit.at, error)
            return False
        self.commits.append(commit.at)
        for name in dict.fromkeys(statement.table for statement in commit.statements):
            columns = tables[name].columns
            self.versions[name] = self.versions.get(name, 0) + 1 if written is None else written[name]
            with ENGINE_WORKS:
                rows = tuples(name, self.adapter.rows(name, columns))
            self.events.append(SourceWritten(self.step, name, self.versions[name], columns, rows))
        return True

    def _written(self, commit: Commit) -> Mapping[str, int] | None:
        """Commits a transaction, or what is left of it if another process has begun it.

        Returns the version of each written table, if the engine shows it. Raises RefreshFailed.
        """
        other = self.others.pop(self.step, None) or self._other(commit)
        if other is None:
            transaction = self._transaction(commit)
            if not isinstance(self.adapter, SchedulingAdapter):
                # Written before the engine's time begins; it may raise only where the engine asks for it.
                with suppress(WorkloadError):
                    _ = transaction.sql
            rolled_back = commit.rolled_back and self.adapter.capabilities.limits.rollbacks
            with ENGINE_WORKS:
                if rolled_back and not isinstance(self.adapter, SchedulingAdapter):
                    self.adapter.roll_back(transaction)
                return self.adapter.commit(transaction)
        other.finish()
        return other.commit.written()

    def _transaction(self, commit: Commit) -> Transaction:
        tables = {table.name: table for table in self.scenario.tables}
        return Transaction(commit.at, commit.statements, tables, self.adapter.capabilities.dialect)

    def _other(self, commit: Commit) -> Other | None:
        """Returns the transaction of another process that makes a commit; None if no other one makes it."""
        if commit.meanwhile is None or not isinstance(self.adapter, SchedulingAdapter):
            return None
        transaction = self.adapter.begin(self._transaction(commit), commit.meanwhile)
        return None if transaction is None else Other(transaction, commit.meanwhile)

    def _beside(self) -> Other | None:
        """Returns the commit of the next step, if another process makes it during the current step."""
        following = self.scenario.steps[self.step + 1 : self.step + 2]
        if not following or not isinstance(following[0], Commit):
            return None
        other = self._other(following[0])
        if other is not None:
            self.others[self.step + 1] = other
        return other

    def _interleaved(self, adapter: SchedulingAdapter, work: Callable[[], None], killed: int | None) -> None:
        """Runs the engine's work beside another process, and again in a new process if it is killed."""
        other = self._beside()
        if other is None and killed is None:
            with ENGINE_WORKS:
                work()
            return

        processes = Processes(other, killed)
        try:
            self._again_if_killed(adapter, work, processes)
        except WriterFailed as failed:
            raise failed.reason from failed
        finally:
            if other is not None and other.done:
                self.disturbed.append(Disturbance.COMMIT)

    def _again_if_killed(
        self, adapter: SchedulingAdapter, work: Callable[[], None], processes: Processes
    ) -> None:
        try:
            with ENGINE_WORKS, adapter.interleaved(processes.before):
                work()
            return
        except Killed:
            self.disturbed.append(Disturbance.KILL)
        with ENGINE_WORKS:
            adapter.restart()
            with adapter.interleaved(processes.before):
                work()

    def _read(self, reader: int, tables: tuple[str, ...]) -> None:
        if isinstance(self.adapter, SchedulingAdapter):
            newest = {table: self.adapter.newest(self._called(table)) for table in tables}
        else:
            newest = {table: self.versions.get(table) for table in tables}
        # Until its next refresh, a table whose definition was replaced holds what the old one meant.
        versions = {
            table: version
            for table, version in newest.items()
            if version is not None and table not in self.not_refreshed
        }
        if versions:
            self.events.append(ReadDone(self.step, reader, versions))

    def _read_past(self) -> None:
        """Reads a dynamic table as of the data timestamp in the middle of its history.

        One table of a scenario, which its name chooses: on Delta each read is a job of Spark.
        """
        times: dict[str, list[int]] = {}
        for event in self.events:
            # A table whose definition, or one above it, was replaced goes on under another name.
            if isinstance(event, Refreshed) and event.table in self.versions:
                times.setdefault(event.table, []).append(event.timestamp)
        candidates = [name for name, past in times.items() if len(past) > 1]
        if not candidates:
            return
        name = candidates[crc32(self.scenario.name.encode()) % len(candidates)]
        timestamp = times[name][(len(times[name]) - 1) // 2]
        try:
            with ENGINE_WORKS:
                rows = self.adapter.rows_at(self._called(name), timestamp, self.columns[name])
        except RefreshFailed as error:
            self.events.append(PastRead(self.step, name, timestamp, (), str(error) or "no reason"))
        else:
            if rows is not None:
                seen = tuple(tuple(row) for row in rows)
                self.events.append(PastRead(self.step, name, timestamp, seen))

    def _create(self, name: str, at: int) -> None:
        """Creates a definition; a dynamic table gets its first contents at once."""
        definition = self.scenario.definition(name)
        query = definition_text(self.scenario, definition, self.adapter.capabilities.dialect)
        public = definition.public_name
        self.names[public] = name
        incremental = None
        try:
            self._ensure_sources(definition)
            with ENGINE_WORKS:
                match definition:
                    case View():
                        self.adapter.create_view(public, query)
                    case DynamicTable():
                        incremental = self.adapter.create_dynamic_table(_as_known(definition), query)
                    case _:
                        assert_never(definition)
        except Unsupported as error:
            self.refused.add(name)
            self.events.append(Declared(self.step, name, str(error)))
            return
        except RefreshFailed as error:
            self.refused.add(name)
            self._failed(name, at, error)
            return
        match self.adapter, definition:
            case SchedulingAdapter() as adapter, DynamicTable():
                self.events.append(Created(self.step, name, incremental, adapter.full_reason(public)))
                self._guarded(
                    name,
                    at,
                    lambda: self._interleaved(
                        adapter, lambda: adapter.initialize(public, self._record), None
                    ),
                )
            case _:
                self.events.append(Created(self.step, name, incremental, ""))
                self._refresh_each(self.due[self.step], at)

    def _drop(self, name: str, at: int) -> None:
        """Drops a definition, unless the engine refused to create it."""
        if name in self.refused:
            return
        try:
            with ENGINE_WORKS:
                self.adapter.drop(_as_known(self.scenario.definition(name)))
        except RefreshFailed as error:
            self._failed(name, at, error)
            return
        # A table that is gone cannot fail with a later transaction (`_commit`).
        self.versions.pop(name, None)

    def _redefine(self, names: tuple[str, ...], at: int) -> None:
        """Replaces a definition; those that read it go on in the engine, here under new names."""
        live = self.scenario.live_after(self.scenario.steps[: self.step])
        step = self.scenario.steps[self.step]
        assert isinstance(step, Redefine)
        replaced = self.scenario.replaced(step, live)
        first = self.scenario.definition(names[0])
        if any(old in self.refused for old in replaced):
            # The engine has no such definition, or has one whose reader it lacks.
            self.refused.update(names)
            self.events.append(Declared(self.step, first.name, "what it replaces was refused"))
            return
        query = definition_text(self.scenario, first, self.adapter.capabilities.dialect)
        try:
            with ENGINE_WORKS:
                incremental = self.adapter.replace(_as_known(first), query)
        except Unsupported as error:
            self.refused.update(names)
            self.events.append(Declared(self.step, first.name, str(error)))
            return
        for old, new in replaced.items():
            self.names[self._called(old)] = new
            self.not_refreshed.add(new)
            self.versions.pop(old, None)
        self.events.append(Redefined(self.step, replaced))
        match self.adapter, first:
            case SchedulingAdapter() as adapter, DynamicTable():
                self.events.append(
                    Created(self.step, first.name, incremental, adapter.full_reason(first.public_name))
                )

                def work() -> None:
                    adapter.refresh_with_upstream(first.public_name, at, self._record)

                self._guarded(first.name, at, lambda: self._interleaved(adapter, work, None))
            case _:
                self.events.append(Created(self.step, first.name, incremental, ""))
                self._refresh_each(self.due[self.step], at)

    def _ensure_sources(self, definition: View | DynamicTable) -> None:
        """Raises Unsupported for a definition over one that the engine refused."""
        missing = [source for source in names_read(definition.query) if source in self.refused]
        # An engine that schedules by itself reports the missing source in its own message.
        if missing and not isinstance(self.adapter, SchedulingAdapter):
            raise Unsupported(f"the query reads {missing[0]}, which the engine refused")

    def _refresh(self, step: Refresh) -> None:
        name, timestamp = step.table, step.timestamp
        match self.adapter:
            case SchedulingAdapter() as adapter:

                def work() -> None:
                    adapter.refresh_with_upstream(self._called(name), timestamp, self._record)

                self._guarded(name, timestamp, lambda: self._interleaved(adapter, work, step.killed))
            case _:
                if step.killed is not None and self.adapter.capabilities.limits.restarts:
                    with ENGINE_WORKS:
                        self._guarded(name, timestamp, self.adapter.restart)
                    self.disturbed.append(Disturbance.KILL)
                self._refresh_each(self.due[self.step], step.at)

    def _refresh_each(self, refreshes: Sequence[Due], at: int) -> None:
        """Makes the refreshes that are due, those of upstream tables first."""
        any_timestamp = self.adapter.capabilities.limits.timestamps is Timestamps.ANY
        for due in refreshes:
            name, timestamp = due.table, due.timestamp
            if name in self.refused:
                continue
            if not any_timestamp and any(timestamp < commit <= at for commit in self.commits):
                refused = f"cannot refresh the table to the earlier data timestamp {timestamp}"
                reason = f"at time {at} the engine {refused}"
                self.events.append(Declared(self.step, name, reason))
                continue
            self._guarded(name, timestamp, lambda table=name, to=timestamp: self._refresh_one(table, to))  # type: ignore[misc]

    def _refresh_one(self, name: str, timestamp: int) -> None:
        public = self._called(name)
        with ENGINE_WORKS:
            notes = self.adapter.refresh(public, timestamp)
        self._record(public, timestamp, notes or NOTHING_SHOWN)

    def _guarded(self, name: str, timestamp: int, refresh: Callable[[], None]) -> None:
        """Runs a refresh; a failure or a refusal becomes an event of the trace."""
        try:
            refresh()
        except RefreshFailed as error:
            if not error.broken and self._needs_refused(name):
                self.events.append(Declared(self.step, name, f"refresh at {timestamp}: {error}"))
                return
            failed = name if error.table is None else self.names.get(error.table, error.table)
            self._failed(failed, timestamp if error.timestamp is None else error.timestamp, error)
        except Unsupported as error:
            self.events.append(Declared(self.step, name, f"refresh at {timestamp}: {error}"))

    def _needs_refused(self, name: str) -> bool:
        """Tells whether the engine refused a definition, or one that the definition reads."""
        if name in self.refused:
            return True
        definitions = {definition.name: definition for definition in self.scenario.definitions}
        return name in definitions and any(map(self._needs_refused, names_read(definitions[name].query)))

    def _failed(self, table: str, timestamp: int, error: RefreshFailed) -> None:
        kind = RefreshError.VALIDATION if error.validation else RefreshError.FAILED
        if error.broken:
            kind = RefreshError.BROKEN
        contents = None
        if kind is RefreshError.FAILED and table in self.versions:
            contents = self._stored_after_failure(table)
        self.events.append(
            RefreshRefused(self.step, table, timestamp, kind, str(error), error.change_set, contents)
        )

    def _stored_after_failure(self, table: str) -> tuple[StoredRow, ...] | None:
        try:
            with ENGINE_WORKS:
                return tuple(self.adapter.stored(self._called(table), self.columns[table]))
        except Exception:  # noqa: BLE001  # an engine that cannot be read now must not hide its failure
            return None

    def _record(self, public: str, timestamp: int, notes: Notes) -> None:
        """Records a refresh that has just committed, with the contents that a reader sees now."""
        table = self.names.get(public, public)
        self.not_refreshed.discard(table)
        shown = self.adapter.capabilities.shown
        action = notes.action or (Action.FULL if table in self.versions else Action.INITIALIZE)
        self.versions[table] = self.versions.get(table, -1) + 1 if notes.version is None else notes.version
        columns = notes.columns if Shown.COLUMNS in shown else self.columns[table]
        fresh, state = None, None
        with ENGINE_WORKS:
            if Shown.FRESH_IDS in shown and self.fresh_wanted(self.step, table):
                fresh = self.adapter.fresh(public)
                state = self.adapter.hidden_state(public)
            contents = tuple(self.adapter.stored(public, columns))
        self.events.append(
            Refreshed(
                step=self.step,
                table=table,
                version=self.versions[table],
                timestamp=timestamp,
                action=action,
                effective_action=notes.effective_action or action,
                reason=notes.reason or "the engine does not show its refresh actions",
                versions=self._of_the_scenario(notes.versions),
                source_timestamps=self._of_the_scenario(notes.source_timestamps),
                columns=columns,
                contents=contents,
                change_set=notes.change_set if Shown.CHANGE_SETS in shown else None,
                fresh=None if fresh is None else tuple(fresh),
                counted=notes.counted if Shown.CHANGE_SETS in shown else None,
                state=state,
                branches=notes.branches,
            )
        )

    def _of_the_scenario(self, by_name: Mapping[str, int]) -> Mapping[str, int]:
        """Returns the numbers by the scenario's names in place of the engine's."""
        return {self.names.get(name, name): number for name, number in by_name.items()}


D = TypeVar("D", bound=View | DynamicTable)


def _as_known(definition: D) -> D:
    """Returns the definition under the name by which the engine knows it."""
    return replace(definition, name=definition.public_name, known_as="")
