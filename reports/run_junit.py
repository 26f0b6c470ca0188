"""A run as JUnit XML: one case for all scenarios, one for each cause, one for each missed floor."""

from __future__ import annotations

from collections.abc import Iterator

from reports.figures import number, plural
from reports.findings import fingerprint_text, group_text, summary_text
from reports.junit import Case, CaseVerdict, Suite, junit_xml
from workload.outcomes.decision import Decision
from workload.outcomes.results import FailureGroup, OutcomeClass, RunSummary
from workload.outcomes.run_verdict import RunVerdict, verdicts, worst

CASES = {
    Decision.PASSED: CaseVerdict.PASSED,
    Decision.FAILED: CaseVerdict.FAILED,
    Decision.UNDECIDED: CaseVerdict.ERROR,
}


def run_junit(summary: RunSummary) -> str:
    """Returns the XML document. The case of a cause that an ignore rule covers is skipped."""
    name = f"dvs fuzz: {summary.tier}, profile {summary.profile}, seed {summary.seed}"
    return junit_xml([Suite(name, run_cases(summary))])


def run_cases(summary: RunSummary) -> tuple[Case, ...]:
    """Returns the cases of a run, for its own document and for that of a gate."""
    return (_scenarios(summary), *_causes(summary), *_floors(summary))


def _scenarios(summary: RunSummary) -> Case:
    """Returns the case of all scenarios. Floors do not decide it, because they have cases of their own."""
    counts = (f"{number(count)} {name}" for name, count in summary.outcomes.items() if count)
    message = ", ".join(counts) or "nothing ran"
    if summary.scenarios < summary.wanted:
        message += f"; {number(summary.scenarios)} of {number(summary.wanted)} scenarios, time over"
    details = (
        f"{plural(summary.definitions, 'dynamic table')}, {number(summary.refreshes)} refreshes, "
        f"{plural(summary.checks, 'check')}"
    )
    deciding = (v.decision for v in verdicts(summary) if v is not RunVerdict.FLOORS_UNMET)
    verdict = CASES[worst((Decision.PASSED, *deciding))]
    if summary.interrupted:
        message = f"interrupted: {message}"
    if verdict is CaseVerdict.PASSED:
        details = f"{message}; {details}"
    return Case("scenarios", summary.seconds, verdict, message, details)


def _causes(summary: RunSummary) -> Iterator[Case]:
    failures = {failure.index: failure for failure in summary.failures}
    for group in summary.groups:
        failure = failures[group.representative]
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
    for name, floor in summary.coverage.unmet.items():
        message = f"reached {number(floor.reached)} of {number(floor.wanted)}"
        yield Case(f"floor: {name}", 0.0, CaseVerdict.ERROR, message)
