"""A run as JUnit XML: its scenarios as one case, each cause of failures and each missed floor as one."""

from __future__ import annotations

from collections.abc import Iterator

from reports.figures import number, plural
from reports.findings import fingerprint_text, group_text, summary_text
from reports.junit import Case, CaseVerdict, Suite, junit_xml
from workload.results import FailureGroup, OutcomeClass, RunSummary

UNDECIDED = (
    OutcomeClass.DIVERGENCE,
    OutcomeClass.FLAKY,
    OutcomeClass.INFRASTRUCTURE_FAILURE,
    OutcomeClass.GENERATOR_INVALID,
)
"""Neither a pass nor the product's failure."""


def run_junit(summary: RunSummary) -> str:
    """The document. A cause that an ignore rule covers is skipped, with its issue."""
    name = f"dvs fuzz: {summary.tier}, profile {summary.profile}, seed {summary.seed}"
    return junit_xml([Suite(name, (_scenarios(summary), *_causes(summary), *_floors(summary)))])


def _scenarios(summary: RunSummary) -> Case:
    """All that was judged: an interrupted run, or one in which nothing passed, is undecided."""
    counts = {outcome: summary.outcomes.get(outcome.value, 0) for outcome in OutcomeClass}
    said = ", ".join(f"{number(count)} {outcome.value}" for outcome, count in counts.items() if count)
    details = (
        f"{plural(summary.definitions, 'dynamic table')}, {number(summary.refreshes)} refreshes, "
        f"{plural(summary.checks, 'check')}"
    )
    if counts[OutcomeClass.PRODUCT_FAILURE]:
        verdict = CaseVerdict.FAILED
    elif summary.interrupted or not counts[OutcomeClass.PASSED] or any(counts[o] for o in UNDECIDED):
        verdict = CaseVerdict.ERROR
    else:
        verdict = CaseVerdict.PASSED
    said = f"interrupted: {said or 'nothing ran'}" if summary.interrupted else said or "nothing ran"
    passed = verdict is CaseVerdict.PASSED
    return Case("scenarios", summary.seconds, verdict, said, f"{said}; {details}" if passed else details)


def _causes(summary: RunSummary) -> Iterator[Case]:
    kept = {failure.index: failure for failure in summary.failures}
    for group in summary.groups:
        failure = kept[group.representative]
        details = f"{summary_text(failure.outcome)}\n{failure.folder}"
        name = f"{fingerprint_text(group.fingerprint)} ({group.fingerprint.code})"
        yield Case(name, failure.outcome.seconds, _verdict(group), group_text(group), details)


def _verdict(group: FailureGroup) -> CaseVerdict:
    if group.ignored:
        return CaseVerdict.SKIPPED
    failed = group.fingerprint.outcome is OutcomeClass.PRODUCT_FAILURE
    return CaseVerdict.FAILED if failed else CaseVerdict.ERROR


def _floors(summary: RunSummary) -> Iterator[Case]:
    if summary.coverage.floors_met:
        yield Case("floors", 0.0, CaseVerdict.PASSED, "met")
    for name, (reached, wanted) in summary.coverage.unmet.items():
        yield Case(f"floor: {name}", 0.0, CaseVerdict.ERROR, f"reached {number(reached)} of {number(wanted)}")
