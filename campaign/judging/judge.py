"""The judgement of one run: its trace is compared with the truth, with the invariants and with what was due.

`campaign.judging.lane` runs a scenario on an engine and calls `judge` on the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import assert_never

from campaign.judging import states
from campaign.judging.expectations import (
    MOST_NESTED,
    SUPPORTED,
    SourceHistory,
    incremental_due,
    nesting,
    operators_of,
    unreadable_by_spark,
)
from campaign.judging.not_checked import SIGN_OF_ZEROS, not_checked
from campaign.judging.probes import with_probes
from campaign.judging.recording import RECORDING, Recording
from campaign.judging.run_history import observe
from campaign.judging.statements import statements_met
from campaign.judging.texts import AMBIGUOUS, LIMIT_S, MODE, REFRESH, VOICE, Texts, Voice
from campaign.judging.vote import OwnError, Vote, count_votes, no_own_error
from engines.errors import LONGEST_ERROR, shown
from generators.coverage import operators
from oracle.bag import Bag, canonical_row
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from oracle.duck import shared_duckdb
from oracle.errors import OracleQueryError, UnfitValue
from oracle.invariants import Circumstances, check_refresh, check_refused, judged_columns
from workload.failing import may_fail
from workload.nested import only_in_full
from workload.operators import JOIN_OPERATORS, Operator
from workload.outcomes.results import INCREMENTAL_BUG, Check, Difference, Finding, Outcome, OutcomeClass
from workload.outcomes.trace import (
    CHOSEN_FULL,
    Action,
    Created,
    Declared,
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
from workload.query import Verbatim, names_read
from workload.scenario import Commit, DynamicTable, RefreshMode, Scenario
from workload.timeline import Due, done_as_due, due_refreshes
from workload.types import Row, SqlType
from workload.wellformed import check_definitions

ROW_BY_ROW = frozenset(
    {
        Operator.INNER_JOIN,
        Operator.CROSS_JOIN,
        Operator.UNION_ALL,
        Operator.FILTER,
        Operator.PROJECTION,
        Operator.SCAN,
        Operator.CTE,
    }
)
"""Operators whose result over more rows has all rows that it has over fewer ones, with the same values."""


@dataclass(slots=True)
class Judgement:
    """Walks through a trace beside the truth and collects findings.

    `vote`: recomputes a table in full on the engine. `own_error`: runs the engine's own SQL on a query.
    `broken`: the error that ended the run before its end; "" without one.
    `texts`: what the definitions that are given as text must hold.
    `split`: at some refresh the engine's full recomputation agreed with the stored contents, not with the
    oracle. `unvoted`: at some other one it failed.
    `promise_broken`: what is promised of the base tables and does not hold, so that nothing is judged.
    `not_judged`: why a part of the run could not be judged. `unsupported`: the first definition that the
    engine refused, and why.
    `contents`, `timestamps`: what the last refresh of each table stored, and its data timestamp.
    `incremental`: whether each table is maintained incrementally. `refreshes`: by step, those that were done.
    `versions`: the newest version of each base table. `written`: the times at which each got a new version.
    `without_effect`: those of these writes that left the rows as they were.
    `failed`: by step, the table whose refresh failed as its query does.
    `met`: how often the run met the states that the judgement counts, by name.
    `refused`: whether a refresh failed or a definition was refused, so that later refreshes may be missing.
    `waiting`: the tables that were not refreshed since a definition that they read was replaced; True where
    that changes their own query, so that the next refresh must write them anew.
    `unreadable`: definitions that Spark cannot read though they are right.
    """

    scenario: Scenario
    truth: DelayedView
    trace: Trace
    vote: Vote
    recording: Recording
    own_error: OwnError
    texts: Texts
    broken: str = ""
    findings: list[Finding] = field(default_factory=list)
    split: bool = False
    unvoted: bool = False
    not_judged: str = ""
    promise_broken: str = ""
    unsupported: str = ""
    checks: int = 0
    changes: int = 0
    amplification: int = 0
    contents: dict[str, tuple[StoredRow, ...]] = field(default_factory=dict)
    timestamps: dict[str, int] = field(default_factory=dict)
    incremental: dict[str, bool] = field(default_factory=dict)
    refreshes: dict[int, list[Due]] = field(default_factory=dict)
    refused: bool = False
    unreadable: set[str] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, bool] = field(default_factory=dict)
    written: dict[str, list[int]] = field(default_factory=dict)
    without_effect: set[tuple[str, int]] = field(default_factory=set)
    met: Counter[str] = field(default_factory=Counter)
    not_checked: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Judges every event, as far as the engine shows what a check needs.

        What an engine shows may break a check. Findings made before that stay; without one, the error is
        raised.
        """
        try:
            self._run()
        except Exception:
            if not self.findings:
                raise

    def _run(self) -> None:
        """Judges the events one by one, then the refreshes as a whole, then the run as a history."""
        for event in self.trace.events:
            try:
                self._event(event)
            except UnfitValue:
                if not self._find_unfit(event):
                    raise
        if self.broken:
            return
        self._all_refreshed()
        if Shown.FRONTIER in self.trace.shown:
            self._as_history()

    def _event(self, event: Event) -> None:
        """Judges one event. Raises UnfitValue: some row has a value that its column cannot hold."""
        match event:
            case SourceWritten():
                self._source(event)
            case Created():
                self._created(event)
            case Refreshed():
                self._refreshed(event)
            case RefreshRefused():
                self._refused(event)
            case Redefined():
                self._redefined(event)
            case ReadDone():
                # Readers are judged when the whole run is seen as a history.
                pass
            case PastRead():
                self._past_read(event)
            case Declared():
                self._declared(event)
            case _:
                assert_never(event)

    @property
    def sources(self) -> SourceHistory:
        """What happened to the base tables so far."""
        return SourceHistory(self.scenario, self.written, self.without_effect)

    def _as_history(self) -> None:
        """Judges the versions that the run wrote, derived and read, whatever their contents."""
        observed = observe(self.scenario, self.trace, self.sources.base_tables, self.recording)
        self.checks += observed.checks
        for anomaly in observed.anomalies:
            self._find(Check.HISTORY, anomaly.table, anomaly.step, anomaly.message, anomaly.timestamp)
        self.met.update(observed.readers)
        self.met["reader that saw skew"] += observed.skewed

    def _redefined(self, event: Redefined) -> None:
        """Notes that tables go on under new names, from the contents that the old definitions left."""
        self.met["definition replaced"] += 1
        first = next(iter(event.replaced.values()))
        for old, new in event.replaced.items():
            if old in self.timestamps:
                self.timestamps[new], self.contents[new] = self.timestamps[old], self.contents[old]
            if old in self.incremental:
                self.incremental[new] = self.incremental[old]
            self.waiting[new] = self.sources.reads_by_views(new, first)

    def _source(self, event: SourceWritten) -> None:
        """Compares a base table: where it differs, the tables over it tell nothing about the engine."""
        self.checks += 1
        at = self.scenario.steps[event.step].at
        if broken := self.truth.broken_promise(event.table, at):
            self.promise_broken = self.promise_broken or f"{broken} at {at}, which is promised not to be"
        if event.version > self.versions.get(event.table, 0):
            self.versions[event.table] = event.version
            self.written.setdefault(event.table, []).append(at)
        expected = self.truth.source_rows(event.table, at)
        columns = self.truth.compared_columns(event.table)
        types = [column.type for column in columns]
        before = self.truth.source_rows(event.table, at - 1)
        if len(before) == len(expected) and Bag.of(before, types) == Bag.of(expected, types):
            self.without_effect.add((event.table, at))
        difference = compare(columns, expected, event.columns, event.rows)
        if difference is not None and compare(event.columns, expected, event.columns, event.rows) is None:
            # The engine's base tables do not keep the sign: DuckDB's UPDATE leaves 0.0 for -0.0.
            self.truth.tells_zeros, difference = False, None
            self.not_checked[SIGN_OF_ZEROS] += 1
        if difference is not None:
            self.not_judged = f"{event.table} holds other rows after its commit than the oracle computes"
            self._find(Check.SOURCES, event.table, event.step, self.not_judged, difference=difference)

    def _past_read(self, event: PastRead) -> None:
        """Compares what a reader saw of an earlier data timestamp with the query at that time."""
        if any(finding.table == event.table for finding in self.findings):
            # A table that was stored wrongly is read wrongly: that is no second mistake.
            return
        self.checks += 1
        self.met["read of an earlier data timestamp"] += 1
        message = f"a read of {event.table} at {event.timestamp}"
        if event.error:
            message = f"{message} was refused: {event.error}"
            self._find(Check.EQUALITY, event.table, event.step, message, event.timestamp)
            return
        columns = self.truth.columns(event.table)
        try:
            # Where a LIMIT leaves ties, any choice is right, so the oracle takes the rows that were read.
            expected = self._contents(event.table, event.timestamp, event.rows)
        except OracleQueryError:
            return
        difference = compare(columns, expected, columns, event.rows)
        if difference is not None and self.texts.is_ambiguous(event.table, event.timestamp):
            self.not_judged = f"{event.table} {AMBIGUOUS}"
        elif difference is not None:
            message = f"{message} gives other rows than its query had then"
            self._find(
                Check.EQUALITY, event.table, event.step, message, event.timestamp, difference=difference
            )

    def _incremental_due(self, name: str) -> bool:
        """Tells whether the engine must maintain a definition incrementally."""
        definition = self.scenario.definition(name)
        if not isinstance(definition, DynamicTable):
            return False
        definitions = {each.name: each for each in self.scenario.definitions}
        if only_in_full(definition.query, definitions, self._types_of):
            return False
        return incremental_due(definition, operators_of(self.scenario, definition.query))

    def _admission_due(self, name: str) -> bool:
        """Tells whether the engine must take a definition, in the mode that it asks for."""
        definition = self.scenario.definition(name)
        if self._is_deep(name) or self.texts.has(name):
            return False
        if isinstance(definition, DynamicTable) and definition.mode is RefreshMode.INCREMENTAL:
            return self._incremental_due(name)
        return operators_of(self.scenario, definition.query) <= SUPPORTED

    def _is_deep(self, name: str) -> bool:
        """Tells whether a definition is nested so deep that the engine may rightly not maintain changes."""
        return nesting(self.scenario, self.scenario.definition(name).query) > MOST_NESTED

    def _types_of(self, name: str) -> list[SqlType]:
        return [column.type for column in self.truth.columns(name)]

    def _created(self, event: Created) -> None:
        """Compares the mode of a new dynamic table with the one that was due."""
        if event.incremental is None or not isinstance(self.scenario.definition(event.name), DynamicTable):
            return
        self.checks += 1
        self.incremental[event.name] = event.incremental
        if self.texts.has(event.name):
            # Which texts are maintained incrementally is the engine's to say; the summary lists its answers.
            return
        due = self._incremental_due(event.name)
        if due != event.incremental and not (due and self._is_deep(event.name)):
            mode = "INCREMENTAL" if event.incremental else f"FULL ({event.reason})"
            message = f"{event.name} came out {mode}; {'INCREMENTAL' if due else 'FULL'} was due"
            self._find(Check.REFRESH_MODE, event.name, event.step, message)

    def _declared(self, event: Declared) -> None:
        """Notes that the engine refused a definition, and finds out whether it rightly did."""
        self.refused = True
        if event.name in self.unreadable:
            # It was refused before; this is a later refresh, which does not find the table.
            return
        # The first refusal tells the reason; later ones say that the table is not there.
        self.unsupported = self.unsupported or f"{event.name}: {event.message}"
        query = self.scenario.definition(event.name).query
        above = self.unreadable.intersection(names_read(query))
        if above or unreadable_by_spark(self.scenario, query, event.message):
            self.unreadable.add(event.name)
        elif Shown.ACTIONS in self.trace.shown and self._admission_due(event.name):
            message = f"{event.name} was refused though every operator in it is supported: {event.message}"
            self._find(Check.REFRESH_MODE, event.name, event.step, message)

    def _refreshed(self, event: Refreshed) -> None:
        """Judges a refresh: its action, its contents, its row ids and its change set."""
        previous = self.timestamps.get(event.table)
        self.not_checked.update(not_checked(self.trace.shown))
        if Shown.ACTIONS in self.trace.shown:
            self._action(event, previous)
        try:
            stored_rows = [stored.row for stored in event.contents]
            circumstances = self._circumstances(event.table, previous, event.timestamp, stored_rows)
            judged = check_refresh(event, circumstances)
            self._needless(event, previous)
        except OracleQueryError as error:
            if not self._may_fail(event.table):
                self.not_judged = f"the oracle cannot evaluate {event.table} at {event.timestamp}: {error}"
                return
            # An engine may leave out an expression whose value it does not need; the oracle evaluates all.
            self.met["refresh where the query fails"] += 1
            self._keep(event)
            return
        self.checks += judged.checks
        self.changes += judged.changes
        self.amplification += judged.amplification
        wrong = any(each.check is Check.EQUALITY for each in judged.findings)
        if wrong and self.texts.is_ambiguous(event.table, event.timestamp):
            self.not_judged = f"{event.table} {AMBIGUOUS}"
            self._keep(event)
            return
        for finding in judged.findings:
            if finding.difference is not None and finding.check is Check.EQUALITY:
                finding = self._voted(finding, event)
            self.findings.append(finding)
        self._keep(event)

    def _voted(self, finding: Finding, event: Refreshed) -> Finding:
        """Returns a finding about contents with the votes on whose fault the difference is."""
        if self.texts.voice is not None and self.texts.has(event.table):
            # Spark's answer to the text is the truth, so nothing else has to be asked.
            return replace(finding, votes={"verdict": INCREMENTAL_BUG, "what is right": "Spark's own answer"})
        votes = count_votes(self.truth, event, self.vote)
        self.split = self.split or votes.split
        self.unvoted = self.unvoted or bool(votes.error)
        return votes.added_to(finding)

    def _find_unfit(self, event: Event) -> bool:
        """Adds the first row of an event that its columns cannot hold; returns whether there is one.

        Without one the row with the wrong value is not the engine's.
        """
        rows: list[Row] = []
        match event:
            case SourceWritten(columns=columns):
                rows += event.rows
            case Refreshed():
                columns = judged_columns(event.columns, self.truth.columns(event.table))
                rows += (each.row for each in (*event.contents, *(event.fresh or ())))
                rows += (each.row for each in event.change_set or ())
                self._keep(event)
            case PastRead():
                columns = self.truth.columns(event.table)
                rows += event.rows
            case RefreshRefused():
                columns = self.truth.columns(event.table)
                rows += (each.row for each in event.contents or ())
                rows += (each.row for each in event.change_set or ())
            case _:
                return False
        for row in rows:
            try:
                canonical_row(row, [column.type for column in columns])
            except UnfitValue as error:
                message = f"{event.table} shows a row that its columns cannot hold: {error}, in {row!r}"
                self._find(Check.EQUALITY, event.table, event.step, message[:LONGEST_ERROR])
                return True
        return False

    def _keep(self, event: Refreshed) -> None:
        """Notes what the next refresh of the table starts from."""
        self.contents[event.table] = event.contents
        self.timestamps[event.table] = event.timestamp
        self.refreshes.setdefault(event.step, []).append(Due(event.table, event.timestamp))
        self.waiting.pop(event.table, None)

    def _pairs_fail(self, event: Refreshed, previous: int | None) -> bool:
        """Tells whether rows that were never there together may make the query of the changes fail.

        Such a query joins old rows of one table with new rows of another. So the table's query must have
        joins, views expanded, and must be able to fail on its data. Where it works row by row otherwise, it
        must fail over the rows of both data timestamps, in DuckDB or in the engine's own SQL; groups and the
        like have other values over both, which say nothing.
        """
        if self.texts.has(event.table):
            return previous is not None and (
                self.texts.fails_over_both(event.table, previous, event.timestamp)
                or self.own_error(self.truth, event.table, event.timestamp, previous) != ""
            )
        used = operators_of(self.scenario, self.scenario.definition(event.table).query)
        if not self._may_fail(event.table) or used.isdisjoint(JOIN_OPERATORS.values()):
            return False
        if previous is None or not ROW_BY_ROW.issuperset(operators(self.truth.expanded(event.table))):
            return True
        if self.truth.fails_over_both(event.table, previous, event.timestamp):
            return True
        # Not caught: a scenario whose judge broke has not passed, and is not the engine's fault.
        return self.own_error(self.truth, event.table, event.timestamp, previous) != ""

    def _may_fail(self, name: str) -> bool:
        """Tells whether the query of a relation, or of one below it, may fail on its data."""
        definitions = {definition.name: definition for definition in self.scenario.definitions}
        if name not in definitions:
            return False
        query = definitions[name].query
        return isinstance(query, Verbatim) or may_fail(query) or any(map(self._may_fail, names_read(query)))

    def _action(self, event: Refreshed, previous: int | None) -> None:
        """Compares the action of a refresh with those that were due."""
        self.checks += 1
        incremental = self.incremental.get(event.table, False)
        due = self.sources.actions_due(event.table, incremental, previous, event.timestamp)
        if previous is not None and self.sources.only_time_passed(event.table, previous, event.timestamp):
            due = self._due_by_time(event, due)
        if event.table in self.waiting and previous is not None:
            due = self._due_after_replacement(event, incremental, due)
        if event.action is Action.FULL and Action.INCREMENTAL in due and self._pairs_fail(event, previous):
            # The query of the changes may meet pairs of rows that the defining query never does, and fail.
            due |= {Action.FULL}
        mode = {each.name: each.mode for each in self.scenario.dynamic_tables}.get(event.table)
        if mode is RefreshMode.AUTO and Action.INCREMENTAL in due and CHOSEN_FULL in event.reason:
            # FULL by choice, and not because something could not be maintained.
            self.met["FULL by choice"] += 1
            due |= {Action.FULL}
        if event.effective_action not in due or event.action is not event.effective_action:
            listed = " or ".join(sorted(action.value for action in due))
            action = f"{event.effective_action.value} (reported: {event.action.value}, {event.reason})"
            message = f"{event.table} was refreshed by {action}; {listed} was due"
            self._find(Check.REFRESH_MODE, event.table, event.step, message, event.timestamp)

    def _due_by_time(self, event: Refreshed, due: frozenset[Action]) -> frozenset[Action]:
        """Returns the actions due for a refresh in whose interval only time has passed, and nobody wrote.

        `due`: the actions due, whatever rows have come or gone.
        """
        no_changes = event.change_set is not None and not event.change_set
        quiet = no_changes or event.action is Action.NO_DATA
        self.met["time passed and changed nothing" if quiet else "time alone changed rows"] += 1
        below = any(map(self.sources.moves, self.sources.direct_sources(event.table)))
        # A table below may have changed rows that this one does not show.
        return frozenset({Action.NO_DATA}) if no_changes and not below and Action.NO_DATA in due else due

    def _due_after_replacement(
        self, event: Refreshed, incremental: bool, due: frozenset[Action]
    ) -> frozenset[Action]:
        """Returns the actions due for the first refresh of a table in `waiting`.

        `due`: the actions due by the statements on its base tables.
        """
        if not self.waiting[event.table]:
            if Action.REINITIALIZE in due:
                return due
            # A dynamic table below it is written anew, and gives it changes as every source does, or none.
            return frozenset({Action.INCREMENTAL if incremental else Action.FULL, Action.NO_DATA})
        # Over another view the same query may be maintained in another way than before.
        self.incremental[event.table] = event.action is Action.REINITIALIZE
        return frozenset({Action.REINITIALIZE, Action.FULL})

    def _refused(self, event: RefreshRefused) -> None:
        """Judges a refresh that failed: rightly, if the query fails on its data, for the oracle too."""
        if event.error is RefreshError.BROKEN:
            self.refused = True
            self.checks += 1
            self._find(Check.REFRESH_ERROR, event.table, event.step, event.message, event.timestamp)
            return
        self._unchanged_by_failure(event)
        previous = self.timestamps.get(event.table)
        try:
            circumstances = self._circumstances(event.table, previous, event.timestamp)
        except OracleQueryError as error:
            # The query fails on the data itself, for the oracle as for the engine: not the engine's fault.
            if event.error is RefreshError.VALIDATION or not self._may_fail(event.table):
                self.refused = True
                self.not_judged = f"{event.table} at {event.timestamp}: {error}"
                return
            self._failed_as_its_query(event, "refresh failed as its query does")
            return
        if event.error is RefreshError.FAILED and self._fails_by_itself(event):
            # Spark moves c + 1 over a = c to a + 1, which may overflow on a row that the join drops.
            self._failed_as_its_query(event, "refresh failed as the engine's own SQL does")
            return
        self.refused = True
        check = Check.VALIDATION if event.error is RefreshError.VALIDATION else Check.REFRESH_ERROR
        self._find(check, event.table, event.step, event.message, event.timestamp)
        judged = check_refused(event, circumstances)
        self.checks += 1 + judged.checks
        self.findings.extend(judged.findings)

    def _fails_by_itself(self, event: RefreshRefused) -> bool:
        """Tells whether the engine's own SQL fails on the defining query with the error of the refresh."""
        try:
            error = self.own_error(self.truth, event.table, event.timestamp, None)
        except BaseException as broken:  # noqa: BLE001  # then nothing speaks for the engine
            error = ""
            # Raises the error again where it is KeyboardInterrupt.
            shown(broken)
        # Up to the end of Spark's error condition: "ArithmeticException: [ARITHMETIC_OVERFLOW".
        return bool(error) and error.split("]")[0] == event.message.split("]")[0]

    def _failed_as_its_query(self, event: RefreshRefused, state: str) -> None:
        """Notes a refresh that failed rightly: refreshes due after it may come at any later time."""
        self.checks += 1
        self.met[state] += 1
        self.failed.setdefault(event.step, event.table)

    def _unchanged_by_failure(self, event: RefreshRefused) -> None:
        """Compares the contents after a refresh that failed with those before it."""
        before = self.contents.get(event.table)
        if event.contents is None or before is None:
            return
        self.checks += 1
        types = [column.type for column in self.truth.columns(event.table)]
        old, new = (
            (Bag.of((stored.row for stored in rows), types), Counter(stored.row_id for stored in rows))
            for rows in (before, event.contents)
        )
        if old != new:
            message = f"a refresh of {event.table} that failed changed its contents"
            self._find(Check.EQUALITY, event.table, event.step, message, event.timestamp)

    def _needless(self, event: Refreshed, previous: int | None) -> None:
        """Finds rows that LIMIT took out for others that are equal in its order, though it need not."""
        now = self.truth.first_rows(event.table, event.timestamp)
        if now is None or previous is None or event.change_set is None:
            return
        self.checks += 1
        before = self.truth.first_rows(event.table, previous)
        assert before is not None, "a query leaves ties, or it does not"
        old, new = ([each.row for each in rows] for rows in (self.contents[event.table], event.contents))
        gone = list(now.needless(before, old, new))
        if gone:
            message = f"{gone[0]!r} went, though no row that is equal to it in the order has changed"
            self._find(Check.INVARIANT_6, event.table, event.step, message, event.timestamp)

    def _circumstances(
        self, table: str, previous: int | None, timestamp: int, stored_rows: Iterable[Row] = ()
    ) -> Circumstances:
        """Returns what a refresh is judged by. `stored_rows`: those that it stored."""
        sources = self.sources
        bases = sources.base_tables(table)
        return Circumstances(
            before=self.contents.get(table, ()),
            previous=previous,
            sources_unchanged=previous is not None
            and table not in self.waiting
            and sources.unchanged(table, previous, timestamp),
            expected_sources={
                source: sources.last_commit(source, timestamp) if source in bases else timestamp
                for source in sources.direct_sources(table)
            }
            if Shown.FRONTIER in self.trace.shown
            else None,
            expected_columns=self.truth.compared_columns(table),
            expected_rows=self._contents(table, timestamp, stored_rows),
        )

    def _contents(self, table: str, timestamp: int, stored_rows: Iterable[Row]) -> tuple[Row, ...]:
        """Returns what a table must hold, of ties the stored ones. Raises as `DelayedView.contents` does."""
        if self.texts.has(table):
            return self.texts.contents(table, timestamp)
        return self.truth.contents_like(table, timestamp, stored_rows)

    def _all_refreshed(self) -> None:
        """Compares the refreshes with those that were due, unless some may be missing after a refusal."""
        if self.refused:
            return
        skipped: set[str] = set()
        definitions = {definition.name: definition for definition in self.scenario.definitions}
        for step, due in enumerate(due_refreshes(self.scenario)):
            if step in self.failed:
                # What was due after the table that failed may be refreshed at any later time.
                tables = [each.table for each in due]
                first = tables.index(self.failed[step]) if self.failed[step] in tables else 0
                skipped.update(tables[first:])
                due = due[:first]
            self.checks += bool(due)
            done = self.refreshes.get(step, ())
            refreshes = tuple(each for each in done if each in due or each.table not in skipped)
            if refreshes != due and not done_as_due(refreshes, due, definitions):
                message = f"due: {_listed(due)}; done: {_listed(refreshes)}"
                self._find(Check.REFRESH_MODE, due[-1].table if due else "", step, message)

    def _find(
        self,
        check: Check,
        table: str,
        step: int,
        message: str,
        timestamp: int | None = None,
        *,
        difference: Difference | None = None,
    ) -> None:
        """Adds a finding. `timestamp`: by default the logical time of the step."""
        at = self.scenario.steps[step].at if timestamp is None else timestamp
        self.findings.append(
            Finding(check=check, table=table, step=step, timestamp=at, message=message, difference=difference)
        )


def _listed(refreshes: Sequence[Due]) -> str:
    """Returns refreshes as text: `t1 at 30, t2 at 30`."""
    return ", ".join(f"{refresh.table} at {refresh.timestamp}" for refresh in refreshes) or "nothing"


def _shown(trace: Trace, given: Set[str]) -> dict[str, int]:
    """Returns how often an engine showed each action, branch and mode, by name.

    `given`: the definitions that are given as text; of these the actions and the mode count by definition.
    """
    shown = trace.refreshes if Shown.ACTIONS in trace.shown else ()
    branches = {(each.table, branch) for each in trace.refreshes for branch in each.branches}
    modes = {
        f"{MODE}{event.name} / {'INCREMENTAL' if event.incremental else 'FULL'}": 1
        for event in trace.events
        if isinstance(event, Created) and event.name in given and event.incremental is not None
    }
    return {
        **Counter(f"action: {each.action.value}" for each in shown),
        **Counter(f"{REFRESH}{each.table} / {each.action.value}" for each in shown if each.table in given),
        **Counter(f"branch: {branch}" for _, branch in branches),
        **modes,
    }


def judge(
    scenario: Scenario,
    trace: Trace,
    vote: Vote,
    recording: Recording = RECORDING,
    own_error: OwnError = no_own_error,
    broken: str = "",
    voice: Voice | None = None,
) -> Outcome:
    """Returns the outcome of a run. `broken`: the error that ended it before its end; "" without one.

    `vote` is called only where contents differ from the oracle's, `own_error` only where a refresh fails.
    `voice`: Spark's own answer, which is the truth about definitions that are given as text.
    """
    probed = with_probes(scenario)
    given = {each.name for each in scenario.definitions if isinstance(each.query, Verbatim)}
    moments: dict[str, list[int]] = {}
    for event in trace.refreshes:
        moments.setdefault(event.table, []).append(event.timestamp)
    for probe in probed.probes:
        for view in (probe.preserved, probe.unmatched):
            moments[view.name] = moments.get(probe.table, [])
    limit = LIMIT_S if given else None
    # Whoever ran the scenario has checked its steps.
    catalog = check_definitions(probed.scenario)
    with DelayedView(probed.scenario, shared_duckdb(), catalog, limit_s=limit, moments=moments) as truth:
        judgement = Judgement(
            scenario, truth, trace, vote, recording, own_error, Texts(scenario, truth, voice), broken
        )
        judgement.run()
        conclusion = classify(judgement)
        reached: Counter[str] = Counter()
        met: Counter[str] = Counter()
        if conclusion.outcome is OutcomeClass.PASSED and not given:
            reached = states.reached(scenario, trace, truth, probed.probes)
            reached.update(judgement.met)
            met = statements_met(scenario, trace)
    return Outcome(
        scenario=scenario.name,
        outcome=conclusion.outcome,
        findings=tuple(judgement.findings),
        reason=conclusion.reason,
        definitions=len(scenario.dynamic_tables),
        refreshes=len(trace.refreshes),
        checks=judgement.checks,
        changes=judgement.changes,
        amplification=judgement.amplification,
        states={
            **{f"state: {name}": count for name, count in reached.items()},
            **{f"dml: {name}": count for name, count in met.items()},
            **_shown(trace, given),
            **{
                f"{VOICE}{name} / {each}": 1 for name, said in judgement.texts.voices.items() for each in said
            },
        },
        not_checked=judgement.not_checked,
    )


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The class of an outcome, and the reason in words; no reason for a pass."""

    outcome: OutcomeClass
    reason: str = ""


def _was_undone(judgement: Judgement, finding: Finding) -> bool:
    """Tells whether the engine undid another transaction on a base table beside the commit of a finding."""
    step = judgement.scenario.steps[finding.step]
    return isinstance(step, Commit) and step.meanwhile is not None and step.meanwhile.abandoned


def classify(judgement: Judgement) -> Conclusion:
    """Returns what a judgement means for the scenario; what could not be judged is never a pass."""
    findings = judgement.findings
    if judgement.promise_broken:
        return Conclusion(OutcomeClass.GENERATOR_INVALID, judgement.promise_broken)
    # After a table is wrong, later findings about it follow from that: its first one tells whose fault it is.
    first_wrong = {finding.table: finding for finding in reversed(findings) if finding.check is Check.SOURCES}
    if not all(_was_undone(judgement, finding) for finding in first_wrong.values()):
        return Conclusion(OutcomeClass.INFRASTRUCTURE_FAILURE, judgement.not_judged)
    if judgement.not_judged and not findings:
        return Conclusion(OutcomeClass.GENERATOR_INVALID, judgement.not_judged)
    if findings:
        voted = not judgement.unvoted and all(f.check is Check.EQUALITY and f.votes for f in findings)
        if judgement.split and voted:
            reason = "stored contents and full recomputation agree, the oracle does not"
            return Conclusion(OutcomeClass.DIVERGENCE, reason)
        first = min(findings, key=lambda finding: list(Check).index(finding.check))
        return Conclusion(OutcomeClass.PRODUCT_FAILURE, f"{first.check.value}: {first.message}")
    if judgement.unsupported:
        return Conclusion(OutcomeClass.UNSUPPORTED, judgement.unsupported)
    return Conclusion(OutcomeClass.PASSED)
