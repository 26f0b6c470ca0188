"""The HTML page of a run (`report.html`): one file that loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from reports import coverage, figures, findings
from reports.describe import definition_head, definition_sql, table_sql, timeline
from reports.difference import diff_rows, difference_text, hidden_rows
from reports.tree import query_tree
from reports.visible import visible
from workload.outcomes.decision import Decision
from workload.outcomes.results import Check, Failure, FailureGroup, Fingerprint, JudgedDefinition, RunSummary
from workload.sql import Dialect


def marked_lines(judged: JudgedDefinition) -> list[tuple[int, str]]:
    """Returns the lines of a definition's text, each with its number in the file."""
    return list(enumerate(judged.text.splitlines(), judged.line))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    findings.breakage_text,
    findings.by_diagnosis,
    definition_head,
    definition_sql,
    diff_rows,
    difference_text,
    findings.failed_steps,
    findings.fingerprint_text,
    hidden_rows,
    marked_lines,
    findings.place,
    query_tree,
    findings.replay_command,
    findings.summary_text,
    findings.votes_shown,
    table_sql,
    timeline,
    figures.size_text,
)
"""The functions that the templates call."""


DIALECTS = {
    Dialect.SPARK: "Spark",
    Dialect.POSTGRES: "PostgreSQL",
    Dialect.SQLITE: "SQLite",
    Dialect.MYSQL: "MySQL",
    Dialect.ANSI: "ANSI",
    Dialect.FLINK: "Flink",
    Dialect.DUCKDB: "DuckDB",
}
"""The names of the dialects on pages."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A group of failures, and those of its failures that the page shows, the smallest first."""

    group: FailureGroup
    failures: tuple[Failure, ...]


def run_page(summary: RunSummary) -> str:
    """Returns the page. Raises ReportError where the outcomes do not add up."""
    headline = figures.headline(summary)
    killers = [failure.outcome.killer for failure in summary.failures]
    return (
        environment()
        .get_template("run.html.j2")
        .render(
            summary=summary,
            meanings=figures.meanings(summary),
            headline=headline,
            good=headline.verdict.decision is Decision.PASSED,
            figures=figures.figures(summary),
            outcomes=figures.outcome_counts(summary),
            checks={check.value: killers.count(check) for check in Check if check in killers},
            actions=coverage.actions(summary.coverage),
            groups=coverage.groups(summary.coverage),
            matrix=coverage.matrix(summary.coverage),
            statements=coverage.statements(summary.coverage),
            crossings=coverage.crossings(summary.coverage),
            causes=causes(summary),
        )
    )


@cache
def environment() -> Environment:
    """Returns the templates; every value is escaped, and its control characters are made visible."""
    loaded = Environment(
        loader=PackageLoader("reports"),
        autoescape=True,
        undefined=StrictUndefined,
        # Only `str` itself: Markup is a subclass of str and comes from the templates.
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loaded.filters.update(number=figures.number, duration=figures.duration)
    loaded.globals.update({function.__name__: function for function in FUNCTIONS})
    loaded.globals.update(DIALECTS=DIALECTS, DUCKDB=Dialect.DUCKDB)
    return loaded


def causes(summary: RunSummary) -> tuple[Cause, ...]:
    """Returns the groups of a run with their failures; a failure of no group is one, after all others."""
    remaining = {failure.index: failure for failure in summary.failures}
    grouped = [
        Cause(
            group,
            tuple(
                remaining.pop(index) for index in (group.representative, *group.indices) if index in remaining
            ),
        )
        for group in summary.groups
    ]
    return (*grouped, *(Cause(_group_of(failure), (failure,)) for failure in remaining.values()))


def _group_of(failure: Failure) -> FailureGroup:
    outcome, index = failure.outcome, failure.index
    fingerprint = failure.fingerprint or Fingerprint(
        outcome=outcome.outcome, check=outcome.killer, operators=(), kind=None
    )
    return FailureGroup(fingerprint=fingerprint, others=(), indices=(index,), representative=index)
