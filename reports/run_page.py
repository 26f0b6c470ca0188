"""The HTML page of a run: one file, no requests, no scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports import coverage, figures
from reports.describe import Entry, definition_head, query_sql, table_sql, timeline
from reports.difference import DiffRow, diff_rows, difference_text, hidden_rows
from reports.findings import by_diagnosis, first_finding, place, replay_command, summary_text
from reports.visible import visible
from workload.results import Check, Failure, Finding, OutcomeClass, RunSummary
from workload.sql import Dialect


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One line of the outcome table."""

    name: str
    count: str
    share: float
    meaning: str


@dataclass(frozen=True, slots=True)
class TimeRow:
    """A part of the measured time; `share` of all parts."""

    name: str
    seconds: str
    share: float


@dataclass(frozen=True, slots=True)
class DefinitionView:
    """A definition with its text for each engine."""

    name: str
    head: str
    spark: str
    duckdb: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A failed check with the rows that differ."""

    check: str
    place: str
    message: str
    difference: str
    header: tuple[str, ...]
    rows: tuple[DiffRow, ...]
    hidden: int
    votes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView:
    """A failure as its article shows it; the scenario is the shrunk one."""

    anchor: str
    name: str
    outcome: str
    killer: str
    place: str
    summary: str
    size: str
    intents: tuple[str, ...]
    replay: str
    tables: tuple[str, ...]
    definitions: tuple[DefinitionView, ...]
    entries: tuple[Entry, ...]
    failed_steps: Mapping[int, tuple[str, ...]]
    findings: tuple[FindingView, ...]


def run_page(summary: RunSummary) -> str:
    """The page as text. Raises ReportError where the outcomes do not add up."""
    template = environment().get_template("run.html.j2")
    head = figures.headline(summary)
    return template.render(
        summary=summary,
        headline=head,
        good=head.verdict is figures.Verdict.PASSED,
        figures=figures.figures(summary),
        outcomes=_outcomes(summary),
        checks=_checks(summary),
        actions=coverage.actions(summary.coverage),
        groups=coverage.groups(summary.coverage),
        matrix=coverage.matrix(summary.coverage),
        times=_times(summary.time_split),
        failures=[
            _failure(number, failure, summary.tier) for number, failure in enumerate(summary.failures, 1)
        ],
    )


@cache
def environment() -> Environment:
    """The templates; every value is escaped, and its control characters made visible."""
    loaded = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loaded.filters["number"] = figures.number
    return loaded


def _finalize(value: Any) -> Any:
    # Markup is a subclass of str: it is the page's own and stays.
    return visible(value) if type(value) is str else value


def _outcomes(summary: RunSummary) -> tuple[OutcomeRow, ...]:
    return tuple(
        OutcomeRow(
            outcome.value.replace("_", " "),
            figures.number(count),
            count / (summary.scenarios or 1),
            figures.MEANINGS[outcome],
        )
        for outcome, count in figures.outcome_counts(summary).items()
    )


def _checks(summary: RunSummary) -> tuple[tuple[str, int], ...]:
    """Kept failures per first failed check, in the order of diagnosis."""
    killers = [failure.outcome.killer for failure in summary.failures]
    return tuple((check.value, killers.count(check)) for check in Check if check in killers)


def _times(split: Mapping[str, float]) -> tuple[TimeRow, ...]:
    total = sum(split.values()) or 1.0
    ordered = sorted(split.items(), key=lambda item: (-item[1], item[0]))
    return tuple(TimeRow(name, figures.duration(seconds), seconds / total) for name, seconds in ordered)


def _failure(number: int, failure: Failure, tier: str) -> FailureView:
    scenario, outcome = failure.shrunk, failure.outcome
    first = first_finding(outcome)
    size = figures.size_text(scenario)
    if failure.shrunk != failure.scenario:
        size += f" (shrunk from {figures.size_text(failure.scenario)})"
    failed: dict[int, tuple[str, ...]] = {}
    for finding in by_diagnosis(outcome):
        failed[finding.step] = (*failed.get(finding.step, ()), f"{finding.check.value} on {finding.table}")
    no_check = "" if outcome.outcome is OutcomeClass.PASSED else "no check failed"
    return FailureView(
        anchor=f"failure-{number}",
        name=scenario.name,
        outcome=outcome.outcome.value.replace("_", " "),
        killer=no_check if first is None else first.check.value,
        place="" if first is None else place(first),
        summary=summary_text(outcome),
        size=size,
        intents=scenario.intents,
        replay=replay_command(failure.folder, tier),
        tables=tuple(table_sql(table) for table in scenario.tables),
        definitions=tuple(
            DefinitionView(
                definition.name,
                definition_head(definition),
                query_sql(definition.query, Dialect.SPARK),
                query_sql(definition.query, Dialect.DUCKDB),
            )
            for definition in scenario.definitions
        ),
        entries=timeline(scenario),
        failed_steps={step: tuple(dict.fromkeys(notes)) for step, notes in failed.items()},
        findings=tuple(_finding(finding) for finding in by_diagnosis(outcome)),
    )


def _finding(finding: Finding) -> FindingView:
    difference = finding.difference
    return FindingView(
        check=finding.check.value,
        place=place(finding),
        message=finding.message,
        difference="" if difference is None else difference_text(difference),
        header=() if difference is None else tuple(f"{c.name} {c.type}" for c in difference.columns),
        rows=() if difference is None else diff_rows(difference),
        hidden=0 if difference is None else hidden_rows(difference),
        votes=finding.votes,
    )
