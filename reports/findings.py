"""Findings in words: which check failed, where, and what the other votes were."""

from __future__ import annotations

import shlex

from reports.difference import difference_text
from reports.figures import plural
from workload.results import Check, Finding, Outcome, OutcomeClass


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
        parts.append("The engines themselves disagree, so this is no proof against the dynamic table.")
    return " ".join(parts)


def _without_finding(outcome: Outcome) -> str:
    if outcome.outcome is OutcomeClass.PASSED:
        return "Every check held."
    reason = outcome.reason or "no reason was recorded"
    return f"No check failed; the outcome is '{outcome.outcome.value}': {_sentence(reason)}"


def replay_command(folder: str, tier: str = "rules") -> str:
    """What to type to run the kept scenario again where it ran; `rules` need not be said."""
    return f"dvs replay {shlex.quote(folder)}{'' if tier == 'rules' else f' --tier {shlex.quote(tier)}'}"


def _sentence(text: str) -> str:
    text = text.strip() or "no message"
    return text if text.endswith((".", "!", "?")) else f"{text}."
