"""The summary of a run as JSON data: `summary.json`, and the output of `dvs fuzz --json`."""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import Enum
from typing import Any, cast

from reports import documents
from reports.figures import outcome_counts
from workload.outcomes.results import Coverage, Failure, FailureGroup, Finding, Fingerprint, RunSummary

SUMMARY_FORMAT = "dvs-run"
SUMMARY_VERSION = 1


def summary_object(summary: RunSummary) -> documents.RunDocument:
    """Returns the run as JSON data. `outcomes` has every class and adds up to `scenarios`.

    Times are seconds, timestamps logical microseconds. Rows are only in the failure folders. Raises
    ReportError where the outcomes do not add up.
    """
    # Failures are encoded one by one below: their scenarios and rows are only in the failure folders.
    fields = asdict(replace(summary, failures=(), groups=()))
    document = {
        "format": SUMMARY_FORMAT,
        "version": SUMMARY_VERSION,
        "ignore_rules": fields.pop("rule_notes"),
        **fields,
        "outcomes": {outcome.value: count for outcome, count in outcome_counts(summary).items()},
        "coverage": _coverage(summary.coverage),
        "failures": [_failure(failure) for failure in summary.failures],
        "groups": [_group(group) for group in summary.groups],
    }
    return cast("documents.RunDocument", document)


def _coverage(coverage: Coverage) -> documents.CoverageDocument:
    return cast("documents.CoverageDocument", {**asdict(coverage), "floors_met": coverage.floors_met})


def _failure(failure: Failure) -> documents.FailureDocument:
    outcome = failure.outcome
    return {
        "index": failure.index,
        "scenario": outcome.scenario,
        "folder": failure.folder,
        "outcome": outcome.outcome.value,
        "reason": outcome.reason,
        "killer": None if outcome.killer is None else outcome.killer.value,
        "fingerprint": None if failure.fingerprint is None else _fingerprint(failure.fingerprint),
        "minimal": failure.minimal,
        "ignored": failure.ignored,
        "findings": [finding_object(finding) for finding in outcome.findings],
    }


def _group(group: FailureGroup) -> documents.GroupDocument:
    return {
        "fingerprint": _fingerprint(group.fingerprint),
        "others": [_fingerprint(other) for other in group.others],
        "scenarios": list(group.indices),
        "representative": group.representative,
        "unshrunk": list(group.unshrunk),
        "ignored": group.ignored,
    }


def _fingerprint(fingerprint: Fingerprint) -> documents.FingerprintDocument:
    fields = asdict(fingerprint, dict_factory=_plain)
    document = {"code": fingerprint.code, "difference": fields.pop("kind"), **fields}
    return cast("documents.FingerprintDocument", document)


def finding_object(finding: Finding) -> documents.FindingDocument:
    """Returns a failed check as JSON data, with the figures of its difference but no rows."""
    difference = finding.difference
    figures: documents.DifferenceDocument | None = None
    if difference is not None:
        figures = {
            "kind": difference.kind.value,
            "expected_rows": difference.expected_rows,
            "actual_rows": difference.actual_rows,
            "missing": sum(times for _, times in difference.missing),
            "extra": sum(times for _, times in difference.extra),
        }
    document = {**asdict(replace(finding, difference=None), dict_factory=_plain), "difference": figures}
    return cast("documents.FindingDocument", document)


def _plain(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value.value if isinstance(value, Enum) else value for name, value in fields}
