"""Sentences about failures that all reports share: which check failed, where, and how."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from reports.difference import difference_text
from reports.figures import number, plural
from reports.visible import one_line
from workload.outcomes import results
from workload.scenario import Create, Scenario


def first_finding(outcome: results.Outcome) -> results.Finding | None:
    """Returns the finding that comes first in the order of diagnosis; None where no check failed."""
    return next(iter(by_diagnosis(outcome)), None)


def by_diagnosis(outcome: results.Outcome) -> tuple[results.Finding, ...]:
    """Returns the findings in the order of diagnosis (see Check), those of one check in that of the run."""
    order = list(results.Check)
    return tuple(sorted(outcome.findings, key=lambda finding: order.index(finding.check)))


def place(finding: results.Finding) -> str:
    """Returns where a check failed: `table orders_by_day at data timestamp 3000000 (step 4)`."""
    return f"table {finding.table} at data timestamp {finding.timestamp} (step {finding.step})"


def failed_steps(outcome: results.Outcome) -> Mapping[int, tuple[str, ...]]:
    """Returns the failed checks of each step, by its number: `oracle equality on d1`."""
    notes: dict[int, dict[str, None]] = {}
    for finding in by_diagnosis(outcome):
        notes.setdefault(finding.step, {})[f"{finding.check.value} on {finding.table}"] = None
    if outcome.breakage is not None and outcome.breakage.step is not None:
        notes.setdefault(outcome.breakage.step, {})["the adapter"] = None
    return {step: tuple(texts) for step, texts in notes.items()}


def summary_text(outcome: results.Outcome) -> str:
    """Returns one paragraph: the first failed check, where, how rows differ, and how many more failed."""
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
    if outcome.breakage is not None:
        parts.append(f"{breakage_text(outcome.breakage, given=True)} after that.")
    if outcome.outcome is results.OutcomeClass.DIVERGENCE:
        parts.append(_divergence(first.votes.get(results.SPARK_VOTE)))
    return " ".join(parts)


def _divergence(spark: str | None) -> str:
    if spark:
        return f"So far no proof against the dynamic table: Spark, on the query's text, {_sentence(spark)}"
    return (
        "A full recomputation agrees with the table, not with the oracle, so this alone is no proof against "
        "the dynamic table."
    )


def _without_finding(outcome: results.Outcome) -> str:
    if outcome.outcome is results.OutcomeClass.PASSED:
        return "Every check held."
    reason = outcome.reason or "no reason was recorded"
    if outcome.breakage is not None:
        broke = breakage_text(outcome.breakage, given=True)
        return f"{broke}: {_sentence(reason)} Nothing was judged after that."
    return f"No check failed; the outcome is '{outcome.outcome.value}': {_sentence(reason)}"


def breakage_text(breakage: results.Breakage, *, given: bool = False) -> str:
    """Returns where an adapter broke: `The engine or its adapter broke in refresh at step 4`.

    `given`: also the first statement of the step.
    """
    verb = "was cut" if breakage.hung else "broke"
    method = f" in {breakage.method}" if breakage.method else ""
    when = "before the first step" if breakage.step is None else f"at step {breakage.step}"
    first = one_line(breakage.statements[0])[:LONGEST_GIVEN] if given and breakage.statements else ""
    others = len(breakage.statements) - 1
    more = f" and {plural(others, 'statement')} more" if others > 0 else ""
    return f"The engine or its adapter {verb}{method} {when}{f', given {first}{more}' if first else ''}"


LONGEST_GIVEN = 120
"""Characters of a statement that stand in a sentence."""


def votes_shown(scenario: Scenario, outcome: results.Outcome, finding: results.Finding) -> Mapping[str, str]:
    """Returns the votes on a finding; of a table that was wrong when it was made, the verdict says so.

    Its maintenance had not begun, so that the verdict alone would name the wrong part of the engine.
    """
    made_wrong = any(
        each.table == finding.table
        and each.check is results.Check.EQUALITY
        and each.step < len(scenario.steps)
        and isinstance(step := scenario.steps[each.step], Create)
        and step.name == each.table
        for each in outcome.findings
    )
    if not made_wrong or finding.votes.get("verdict") != results.INCREMENTAL_BUG:
        return finding.votes
    return {**finding.votes, "verdict": f"{results.INCREMENTAL_BUG}: {FROM_THE_START}"}


FROM_THE_START = "wrong from the first contents on"


def replay_command(folder: str, options: Sequence[str] = ()) -> str:
    """Returns the command that runs the scenario of a failure folder again, on the lane where it failed."""
    return shlex.join(["dvs", "replay", folder, *options])


def fuzz_command(tier: str, profile: str, seed: int, first: int, scenarios: int = 1) -> str:
    """Returns the command that judges random scenarios from an index on, and writes their pages."""
    which = ("--profile", profile, "--seed", str(seed), "--first", str(first), "--scenarios", str(scenarios))
    return shlex.join(["dvs", "fuzz", "--tier", tier, *which])


def _sentence(text: str) -> str:
    text = text.strip() or "no message"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def group_text(group: results.FailureGroup) -> str:
    """Returns the text of a group: `12 failures: oracle equality: left join (product_failure, 1a2b3c4d)`."""
    fingerprint = group.fingerprint
    count = plural(len(group.indices), "failure")
    text = f"{count}: {fingerprint_text(fingerprint)} ({fingerprint.outcome.value}, {fingerprint.code})"
    if group.unshrunk:
        text += f"; {number(len(group.unshrunk))} of them similar, not shrunk"
    if group.ignored:
        text += f"; ignored: {group.ignored}"
    return text


def fingerprint_text(fingerprint: results.Fingerprint) -> str:
    """Returns a fingerprint but its outcome: check, operators with numbers, kind of difference or error."""
    counts = Counter(fingerprint.operators)
    operators = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())
    check = "no check" if fingerprint.check is None else fingerprint.check.value
    kind = "" if fingerprint.kind is None else f": {fingerprint.kind.value}"
    error = f": {fingerprint.message}" if fingerprint.message else ""
    return f"{check}: {operators or 'no operator'}{kind}{error}"
