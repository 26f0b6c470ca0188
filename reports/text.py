"""A run's summary as Markdown."""

from __future__ import annotations

from reports.describe import query_sql
from reports.figures import figures, headline, number, outcome_counts
from reports.findings import fingerprint_text, first_finding
from reports.markdown import code, fence, plain, table
from workload.results import Failure, OutcomeClass, RunSummary
from workload.sql import Dialect


def summary_markdown(summary: RunSummary) -> str:
    """Verdict, figures, outcomes, floors not met and failures; a few tables, no rows."""
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
    if summary.coverage.actions:
        rows = [(code(name), number(count)) for name, count in summary.coverage.actions.items()]
        parts.append(table(("refresh action", "refreshes"), rows))
    if summary.coverage.unmet:
        unmet = [
            (code(name), number(reached), number(floor))
            for name, (reached, floor) in summary.coverage.unmet.items()
        ]
        parts += ["## Coverage floors not met", table(("floor", "reached", "wanted"), unmet)]
    if summary.groups:
        rows_of_groups = [
            (
                plain(fingerprint_text(group.fingerprint)),
                code(group.fingerprint.outcome.value),
                code(group.fingerprint.code),
                number(len(group.indices)),
                plain(group.ignored),
            )
            for group in summary.groups
        ]
        header_of_groups = ("looks like", "outcome", "fingerprint", "failures", "ignored")
        parts += ["## Failures by cause", table(header_of_groups, rows_of_groups)]
    parts.extend(_divergences(summary))
    if summary.failures:
        header = ("scenario", "outcome", "first failed check", "table", "data timestamp", "folder")
        parts += ["## Failures kept", table(header, [_failure_row(failure) for failure in summary.failures])]
    return "\n\n".join(parts) + "\n"


def _divergences(summary: RunSummary) -> list[str]:
    """The queries that the engines read differently, the smallest of each group."""
    kept = {failure.index: failure for failure in summary.failures}
    diverged = [g for g in summary.groups if g.fingerprint.outcome is OutcomeClass.DIVERGENCE]
    texts = [
        f"{definition.name}:\n{query_sql(definition.query, Dialect.SPARK)}"
        for group in diverged
        for definition in kept[group.representative].shrunk.definitions
    ]
    return ["## Divergences of the engines", *(fence(text, "sql") for text in texts)] if texts else []


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
