"""The failures of a run as SARIF 2.1.0, for code scanning: one result per group of failures.

A result points at the scenario file of the smallest failure of its group.
"""

from __future__ import annotations

from collections.abc import Mapping

from reports.findings import group_text, summary_text
from reports.sarif import SarifResult, location, sarif_document
from reports.visible import visible
from workload.outcomes.results import Failure, FailureGroup, OutcomeClass, RunSummary

LEVELS: Mapping[OutcomeClass, str] = {
    OutcomeClass.PRODUCT_FAILURE: "error",
    OutcomeClass.FLAKY: "warning",
    OutcomeClass.DIVERGENCE: "warning",
}
"""The SARIF level of an outcome. Others are notes: they do not show that anything is wrong."""


def run_sarif(summary: RunSummary) -> str:
    """Returns the SARIF document. The result of a group that an ignore rule covers is suppressed."""
    failures = {failure.index: failure for failure in summary.failures}
    names = dict.fromkeys(_rule(group) for group in summary.groups)
    rules = [{"id": name, "shortDescription": {"text": name}} for name in names]
    results = [_result(group, failures[group.representative]) for group in summary.groups]
    return sarif_document("dvs fuzz", rules, results)


def _rule(group: FailureGroup) -> str:
    check = group.fingerprint.check
    return group.fingerprint.outcome.value if check is None else check.value


def _result(group: FailureGroup, failure: Failure) -> SarifResult:
    return {
        "ruleId": _rule(group),
        "level": LEVELS.get(group.fingerprint.outcome, "note"),
        "message": {"text": visible(f"{group_text(group)}\n{summary_text(failure.outcome)}")},
        "partialFingerprints": {"dvsFingerprint/v1": group.fingerprint.code},
        "locations": [location(f"{failure.folder}/scenario.json", 1)],
        "suppressions": [{"kind": "external", "justification": group.ignored}] if group.ignored else [],
    }
