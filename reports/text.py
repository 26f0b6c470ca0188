"""The summary of a run as Markdown (`report.md`), for pull requests."""

from __future__ import annotations

from reports.describe import definition_sql
from reports.figures import figures, headline, number, outcome_counts
from reports.findings import fingerprint_text, first_finding
from reports.markdown import code, fence, plain, table
from workload.outcomes.results import Failure, FailureGroup, OutcomeClass, RunSummary


def summary_markdown(summary: RunSummary) -> str:
    """Returns the Markdown of a run: verdict, figures, outcomes, missed floors and failures, but no rows."""
    head = headline(summary)
    parts = [
        f"# {plain(head.title)}",
        " ".join(plain(sentence) for sentence in head.sentences),
        f"Tier {code(summary.tier)}, profile {code(summary.profile)}, seed {code(str(summary.seed))}.",
        table(("figure", "value", "rate"), [(f.label, f.value, f.note) for f in figures(summary)]),
        table(
            ("outcome", "scenarios"),
            [(code(outcome.value), number(count)) for outcome, count in outcome_counts(summary).items()],
        ),
    ]
    if actions := summary.coverage.actions:
        rows = [(code(name), number(count)) for name, count in actions.items()]
        parts.append(table(("refresh action", "refreshes"), rows))
    if unmet := summary.coverage.unmet:
        floors = [(code(name), number(floor.reached), number(floor.wanted)) for name, floor in unmet.items()]
        parts += ["## Coverage floors not met", table(("floor", "reached", "wanted"), floors)]
    if summary.groups:
        columns: tuple[str, ...] = ("looks like", "outcome", "fingerprint", "failures", "ignored")
        parts += ["## Failures by cause", table(columns, map(_group_row, summary.groups))]
    parts.extend(_divergences(summary))
    if summary.refusals:
        refused = [(plain(r.message), number(len(r.indices)), plain(r.limit)) for r in summary.refusals]
        parts += ["## Refused by the engine", table(("message", "scenarios", "limit"), refused)]
    if summary.failures:
        columns = ("scenario", "outcome", "first failed check", "table", "data timestamp", "folder")
        parts += ["## Failures", table(columns, map(_failure_row, summary.failures))]
    return "\n\n".join(parts) + "\n"


def _divergences(summary: RunSummary) -> list[str]:
    """Returns the queries on which the engines disagree, the smallest of each group."""
    failures_by_index = {failure.index: failure for failure in summary.failures}
    diverged = [g for g in summary.groups if g.fingerprint.outcome is OutcomeClass.DIVERGENCE]
    texts = [
        f"{definition.name}:\n{definition_sql(shrunk, definition)}"
        for shrunk in (failures_by_index[group.representative].shrunk for group in diverged)
        for definition in shrunk.definitions
    ]
    return ["## Divergences of the engines", *(fence(text, "sql") for text in texts)] if texts else []


def _group_row(group: FailureGroup) -> tuple[str, ...]:
    fingerprint = group.fingerprint
    return (
        plain(fingerprint_text(fingerprint)),
        code(fingerprint.outcome.value),
        code(fingerprint.code),
        number(len(group.indices)),
        plain(group.ignored),
    )


def _failure_row(failure: Failure) -> tuple[str, ...]:
    outcome = failure.outcome
    first = first_finding(outcome)
    return (
        code(outcome.scenario),
        code(outcome.outcome.value),
        plain(outcome.reason or "none") if first is None else plain(first.check.value),
        "" if first is None else code(first.table),
        "" if first is None else str(first.timestamp),
        code(failure.folder),
    )
