"""The failures of a run as SARIF 2.1.0, for code scanning: one result per group of failures.

A result points at the scenario file of the smallest failure of its group.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from reports.findings import group_text, summary_text
from reports.visible import visible
from workload.results import Failure, FailureGroup, OutcomeClass, RunSummary

Result = Mapping[str, object]

LEVELS: Mapping[OutcomeClass, str] = {
    OutcomeClass.PRODUCT_FAILURE: "error",
    OutcomeClass.FLAKY: "warning",
    OutcomeClass.DIVERGENCE: "warning",
}
"""The SARIF level of an outcome. Others are notes: they do not show that anything is wrong."""


def run_sarif(summary: RunSummary) -> str:
    """The SARIF document. The result of a group that an ignore rule covers is suppressed."""
    failures = {failure.index: failure for failure in summary.failures}
    names = dict.fromkeys(_rule(group) for group in summary.groups)
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "dvs fuzz",
                        "rules": [{"id": name, "shortDescription": {"text": name}} for name in names],
                    }
                },
                "results": [_result(group, failures[group.representative]) for group in summary.groups],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _rule(group: FailureGroup) -> str:
    check = group.fingerprint.check
    return group.fingerprint.outcome.value if check is None else check.value


def _result(group: FailureGroup, failure: Failure) -> Result:
    place = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(f"{failure.folder}/scenario.json")},
            "region": {"startLine": 1},
        }
    }
    return {
        "ruleId": _rule(group),
        "level": LEVELS.get(group.fingerprint.outcome, "note"),
        "message": {"text": visible(f"{group_text(group)}\n{summary_text(failure.outcome)}")},
        "partialFingerprints": {"dvsFingerprint/v1": group.fingerprint.code},
        "locations": [place],
        "suppressions": [{"kind": "external", "justification": group.ignored}] if group.ignored else [],
    }
