"""The judgement of one run: every refresh against the truth, the invariants, and what was due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from campaign import states
from campaign.expectations import SourceHistory, incremental_due, operators_of
from campaign.left_out import left_out
from campaign.observe.recording import RECORDING, Recording
from campaign.observe.run import observe
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from oracle.duck import shared_duckdb
from oracle.errors import OracleQueryError
from oracle.invariants import Circumstances, check_refresh, check_refused
from workload.results import Check, Finding, Outcome, OutcomeClass
from workload.scenario import DynamicTable, Scenario
from workload.timeline import Due, due_refreshes
from workload.trace import (
    EVERYTHING,
    Created,
    Declared,
    ReadDone,
    Refreshed,
    RefreshError,
    RefreshRefused,
    Shown,
    SourceWritten,
    StoredRow,
    Trace,
)
from workload.types import Row

Vote = Callable[[Refreshed], Sequence[Row]]
"""The engine's (or platform's) own full recomputation of a table at a refresh: the third vote."""

INCREMENTAL_BUG = "incremental bug"
"""The verdict where the full recomputation agrees with the oracle."""


@dataclass(slots=True)
class Judgement:
    """Walks a trace beside the truth and collects findings."""

    scenario: Scenario
    truth: DelayedView
    vote: Vote
    recording: Recording = RECORDING
    findings: list[Finding] = field(default_factory=list)
    votes_split: bool = False
    broken: str = ""
    unsupported: str = ""
    checks: int = 0
    amplification: int = 0
    contents: dict[str, tuple[StoredRow, ...]] = field(default_factory=dict)
    timestamps: dict[str, int] = field(default_factory=dict)
    incremental: dict[str, bool] = field(default_factory=dict)
    done: dict[int, list[Due]] = field(default_factory=dict)
    refused: bool = False
    versions: dict[str, int] = field(default_factory=dict)
    written: dict[str, list[int]] = field(default_factory=dict)
    readers: Counter[str] = field(default_factory=Counter)
    shown: frozenset[Shown] = EVERYTHING
    left_out: Counter[str] = field(default_factory=Counter)

    def run(self, trace: Trace) -> None:
        """Judges every event, as far as the trace shows what a check is about."""
        self.shown = trace.shown
        for event in trace.events:
            match event:
                case SourceWritten():
                    self._source(event)
                case Created():
                    self._created(event)
                case Refreshed():
                    self._refreshed(event)
                case RefreshRefused():
                    self._refused(event)
                case ReadDone():
                    pass
                case Declared():
                    self._declared(event)
                case _:
                    assert_never(event)
        self._all_done()
        if Shown.FRONTIER in self.shown:
            self._as_history(trace)

    def _as_history(self, trace: Trace) -> None:
        """The run as a history: what its versions alone say."""
        observed = observe(self.scenario, trace, self.sources.base_tables, self.recording)
        self.checks += observed.checks
        for anomaly in observed.anomalies:
            self._find(Check.HISTORY, anomaly.table, anomaly.step, anomaly.timestamp, anomaly.message)
        self.readers.update(observed.readers)
        self.readers["reader that saw skew"] += observed.skewed

    @property
    def sources(self) -> SourceHistory:
        """What happened to the base tables."""
        return SourceHistory(self.scenario, self.written)

    def _source(self, event: SourceWritten) -> None:
        """Sources first: if they differ, what is built on them says nothing about the engine."""
        self.checks += 1
        if event.version > self.versions.get(event.table, 0):
            self.versions[event.table] = event.version
            self.written.setdefault(event.table, []).append(self.scenario.steps[event.step].at)
        expected = self.truth.source_rows(event.table, self.scenario.steps[event.step].at)
        difference = compare(event.columns, expected, event.columns, event.rows)
        if difference is not None:
            at = self.scenario.steps[event.step].at
            message = f"{event.table} holds other rows after its commit than the oracle computes"
            self._find(Check.SOURCES, event.table, event.step, at, message, difference=difference)
            self.broken = message

    def _created(self, event: Created) -> None:
        definition = self.scenario.definition(event.name)
        if not isinstance(definition, DynamicTable) or event.incremental is None:
            return
        self.checks += 1
        self.incremental[event.name] = event.incremental
        due = incremental_due(definition, operators_of(self.scenario, definition.query))
        if due != event.incremental:
            found = "INCREMENTAL" if event.incremental else f"FULL ({event.reason})"
            message = f"{event.name} came out {found}; {'INCREMENTAL' if due else 'FULL'} was due"
            self._find(
                Check.REFRESH_MODE, event.name, event.step, self.scenario.steps[event.step].at, message
            )

    def _declared(self, event: Declared) -> None:
        definition = self.scenario.definition(event.name)
        self.unsupported = f"{event.name}: {event.message}"
        self.refused = True
        if (
            Shown.ACTIONS in self.shown
            and isinstance(definition, DynamicTable)
            and incremental_due(definition, operators_of(self.scenario, definition.query))
        ):
            message = f"{event.name} was refused though every operator in it is supported: {event.message}"
            self._find(
                Check.REFRESH_MODE, event.name, event.step, self.scenario.steps[event.step].at, message
            )

    def _refreshed(self, event: Refreshed) -> None:
        previous = self.timestamps.get(event.table)
        self.left_out.update(left_out(self.shown))
        if Shown.ACTIONS in self.shown:
            self._action(event, previous)
        try:
            judged = check_refresh(event, self._circumstances(event.table, previous, event.timestamp))
        except OracleQueryError as error:
            self.broken = f"the oracle cannot evaluate {event.table} at {event.timestamp}: {error}"
            return
        self.checks += judged.checks
        self.amplification += judged.amplification
        for finding in judged.findings:
            self._add(
                self._with_votes(finding, event)
                if finding.difference is not None and finding.check is Check.EQUALITY
                else finding
            )
        self.contents[event.table] = event.contents
        self.timestamps[event.table] = event.timestamp
        self.done.setdefault(event.step, []).append((event.table, event.timestamp))

    def _action(self, event: Refreshed, previous: int | None) -> None:
        self.checks += 1
        due = self.sources.actions_due(
            event.table, self.incremental.get(event.table, False), previous, event.timestamp
        )
        if event.effective_action not in due or event.action is not event.effective_action:
            wanted = " or ".join(sorted(action.value for action in due))
            found = f"{event.effective_action.value} (reported: {event.action.value}, {event.reason})"
            message = f"{event.table} was refreshed by {found}; {wanted} was due"
            self._find(Check.REFRESH_MODE, event.table, event.step, event.timestamp, message)

    def _refused(self, event: RefreshRefused) -> None:
        self.refused = True
        previous = self.timestamps.get(event.table)
        try:
            circumstances = self._circumstances(event.table, previous, event.timestamp)
        except OracleQueryError as error:
            # The query fails on the data itself, for the oracle as for the engine: not the engine's fault.
            self.broken = f"{event.table} at {event.timestamp}: {error}"
            return
        check = Check.VALIDATION if event.error is RefreshError.VALIDATION else Check.REFRESH_ERROR
        self._find(check, event.table, event.step, event.timestamp, event.message)
        judged = check_refused(event, circumstances)
        self.checks += 1 + judged.checks
        for finding in judged.findings:
            self._add(finding)

    def _circumstances(self, table: str, previous: int | None, timestamp: int) -> Circumstances:
        sources = self.sources
        bases = sources.base_tables(table)
        return Circumstances(
            before=self.contents.get(table, ()),
            previous=previous,
            sources_unchanged=previous is not None and sources.unchanged(table, previous, timestamp),
            expected_sources={
                source: sources.last_commit(source, timestamp) if source in bases else timestamp
                for source in sources.direct_sources(table)
            }
            if Shown.FRONTIER in self.shown
            else None,
            expected_columns=self.truth.columns(table),
            expected_rows=self.truth.contents(table, timestamp),
        )

    def _with_votes(self, finding: Finding, event: Refreshed) -> Finding:
        """The three-way vote: who else disagrees decides whose fault it is."""
        columns = self.truth.columns(event.table)
        expected = self.truth.contents(event.table, event.timestamp)
        full = self.vote(event)
        agrees_with_oracle = compare(columns, expected, columns, full) is None
        agrees_with_engine = (
            compare(columns, full, columns, [stored.row for stored in event.contents]) is None
        )
        if agrees_with_engine:
            self.votes_split = True
        verdict = (
            INCREMENTAL_BUG
            if agrees_with_oracle
            else "divergence of the engines"
            if agrees_with_engine
            else "three different answers"
        )
        votes = {
            "oracle (DuckDB)": f"the defining query at {event.timestamp}: {len(expected)} rows",
            "stored contents": "differ from the oracle",
            "full recomputation": "agrees with the oracle"
            if agrees_with_oracle
            else "differs from the oracle",
            "verdict": verdict,
        }
        return replace(finding, votes=votes)

    def _all_done(self) -> None:
        """Every refresh that was due happened; after a refusal later ones may rightly be missing."""
        if self.refused:
            return
        for step, due in enumerate(due_refreshes(self.scenario)):
            self.checks += bool(due)
            if tuple(self.done.get(step, ())) != due:
                at = self.scenario.steps[step].at
                message = f"due: {_listed(due)}; done: {_listed(self.done.get(step, ()))}"
                self._find(Check.REFRESH_MODE, due[-1][0] if due else "", step, at, message)

    def _find(
        self, check: Check, table: str, step: int, timestamp: int, message: str, **more: object
    ) -> None:
        self._add(Finding(check=check, table=table, step=step, timestamp=timestamp, message=message, **more))  # type: ignore[arg-type]

    def _add(self, finding: Finding) -> None:
        self.findings.append(finding)


def _listed(due: Sequence[Due]) -> str:
    return ", ".join(f"{table} at {timestamp}" for table, timestamp in due) or "nothing"


def judge(scenario: Scenario, trace: Trace, vote: Vote, recording: Recording = RECORDING) -> Outcome:
    """The outcome of a run. `vote` is asked only where contents differ from the oracle's."""
    probed, probes = states.with_probes(scenario)
    with DelayedView(probed, shared_duckdb()) as truth:
        judgement = Judgement(scenario, truth, vote, recording)
        judgement.run(trace)
        outcome, reason = classify(judgement)
        reached: Counter[str] = Counter()
        if outcome is OutcomeClass.PASSED:
            reached = states.reached(scenario, trace, truth, probes)
            reached.update(judgement.readers)
    shown = trace.refreshes if Shown.ACTIONS in trace.shown else ()
    actions = Counter(f"action: {refreshed.action.value}" for refreshed in shown)
    return Outcome(
        scenario=scenario.name,
        outcome=outcome,
        findings=tuple(judgement.findings),
        reason=reason,
        definitions=len(scenario.dynamic_tables),
        refreshes=len(trace.refreshes),
        checks=judgement.checks,
        amplification=judgement.amplification,
        states={**{f"state: {name}": count for name, count in reached.items()}, **actions},
        left_out=judgement.left_out,
    )


def classify(judgement: Judgement) -> tuple[OutcomeClass, str]:
    """The class of an outcome and its reason; anything not understood is not a pass."""
    findings = judgement.findings
    if any(finding.check is Check.SOURCES for finding in findings):
        return OutcomeClass.INFRASTRUCTURE_FAILURE, judgement.broken
    if judgement.broken and not findings:
        return OutcomeClass.GENERATOR_INVALID, judgement.broken
    if findings:
        first = min(findings, key=lambda finding: list(Check).index(finding.check))
        only_contents = all(finding.check is Check.EQUALITY and finding.votes for finding in findings)
        if only_contents and judgement.votes_split:
            return (
                OutcomeClass.DIVERGENCE,
                "stored contents and full recomputation agree, the oracle does not",
            )
        return OutcomeClass.PRODUCT_FAILURE, f"{first.check.value}: {first.message}"
    if judgement.unsupported:
        return OutcomeClass.UNSUPPORTED, judgement.unsupported
    return OutcomeClass.PASSED, ""
