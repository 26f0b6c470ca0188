"""Findings in words: which check failed, where, and what the other votes were."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from reports.difference import difference_text
from reports.figures import number, plural
from workload.results import SPARK_VOTE, Check, FailureGroup, Finding, Fingerprint, Outcome, OutcomeClass


def first_finding(outcome: Outcome) -> Finding | None:
    """The finding of the check that kills the scenario: the first one in the order of diagnosis."""
    return next(iter(by_diagnosis(outcome)), None)


def by_diagnosis(outcome: Outcome) -> tuple[Finding, ...]:
    """The findings in the order of diagnosis, those of one check as they were found."""
    order = list(Check)
    return tuple(sorted(outcome.findings, key=lambda finding: order.index(finding.check)))


def place(finding: Finding) -> str:
    """`table orders_by_day at data timestamp 3000000 (step 4)`."""
    return f"table {finding.table} at data timestamp {finding.timestamp} (step {finding.step})"


def summary_text(outcome: Outcome) -> str:
    """One paragraph: what failed first and where, its difference, and how much else failed."""
    first = first_finding(outcome)
    if first is None:
        return _without_finding(outcome)
    parts = [f"The check '{first.check.value}' failed on {place(first)}: {_sentence(first.message)}"]
    if first.difference is not None:
        parts.append(_sentence(difference_text(first.difference).capitalize()))
    others = len(outcome.findings) - 1
    if others:
        verb = "is" if others == 1 else "are"
        parts.append(f"There {verb} {plural(others, 'more finding')}.")
    if outcome.outcome is OutcomeClass.DIVERGENCE:
        parts.append(_divergence(first.votes.get(SPARK_VOTE)))
    return " ".join(parts)


def _divergence(spark: str | None) -> str:
    if spark:
        return (
            f"So far no proof against the dynamic table: Spark, on the query's own text, {_sentence(spark)}"
        )
    return (
        "A full recomputation agrees with the table, not with the oracle, so this alone is no proof against "
        "the dynamic table."
    )


def _without_finding(outcome: Outcome) -> str:
    if outcome.outcome is OutcomeClass.PASSED:
        return "Every check held."
    reason = outcome.reason or "no reason was recorded"
    return f"No check failed; the outcome is '{outcome.outcome.value}': {_sentence(reason)}"


def replay_command(folder: str, options: Sequence[str] = ()) -> str:
    """What to type to run the kept scenario again, on the lane that it failed on."""
    return shlex.join(["dvs", "replay", folder, *options])


def _sentence(text: str) -> str:
    text = text.strip() or "no message"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def group_text(group: FailureGroup) -> str:
    """`12 failures: oracle equality: left join: wrong value (product_failure, 1a2b3c4d)`, and what else."""
    found = group.fingerprint
    count = plural(len(group.indices), "failure")
    text = f"{count}: {fingerprint_text(found)} ({found.outcome.value}, {found.code})"
    if group.unshrunk:
        text += f"; {number(len(group.unshrunk))} of them by likeness, not shrunk"
    if group.ignored:
        text += f"; ignored: {group.ignored}"
    return text


def fingerprint_text(found: Fingerprint) -> str:
    """A fingerprint without its class: check, operators left with their number, kind of difference."""
    counts = Counter(found.operators)
    operators = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())
    check = "no check" if found.check is None else found.check.value
    return f"{check}: {operators or 'no operator'}" + ("" if found.kind is None else f": {found.kind.value}")
