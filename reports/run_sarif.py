"""A run's failures as SARIF 2.1.0, one result per group, at the scenario file of its smallest failure."""

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
"""Other classes are notes: nothing was shown to be wrong."""


def run_sarif(summary: RunSummary) -> str:
    """The document. A group that an ignore rule covers is a suppressed result, with its issue."""
    kept = {failure.index: failure for failure in summary.failures}
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
                "results": [_result(group, kept[group.representative]) for group in summary.groups],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _rule(group: FailureGroup) -> str:
    found = group.fingerprint
    return found.outcome.value if found.check is None else found.check.value


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
