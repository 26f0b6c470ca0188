"""The machine-readable summary of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.figures import outcome_counts
from workload.results import Coverage, Failure, FailureGroup, Finding, Fingerprint, RunSummary

SUMMARY_FORMAT = "dvs-run"
SUMMARY_VERSION = 1


def summary_object(summary: RunSummary) -> dict[str, Any]:
    """The run as JSON data. `outcomes` has every class and adds up to `scenarios`.

    Times are seconds; timestamps logical microseconds. Rows are not in it: the failure folders keep them.
    Raises ReportError where the outcomes do not add up.
    """
    return {
        "format": SUMMARY_FORMAT,
        "version": SUMMARY_VERSION,
        "started": summary.started,
        "seed": summary.seed,
        "tier": summary.tier,
        "profile": summary.profile,
        "scenarios": summary.scenarios,
        "definitions": summary.definitions,
        "refreshes": summary.refreshes,
        "checks": summary.checks,
        "judgements": summary.judgements,
        "left_out": dict(summary.left_out),
        "outcomes": {outcome.value: count for outcome, count in outcome_counts(summary).items()},
        "coverage": _coverage(summary.coverage),
        "seconds": summary.seconds,
        "interrupted": summary.interrupted,
        "time_split": dict(summary.time_split),
        "failures": [_failure(failure) for failure in summary.failures],
        "groups": [_group(group) for group in summary.groups],
        "ignore_rules": list(summary.rule_notes),
    }


def _coverage(coverage: Coverage) -> Mapping[str, Any]:
    return {
        "operators": dict(coverage.operators),
        "pairs": dict(coverage.pairs),
        "intents": dict(coverage.intents),
        "states": dict(coverage.states),
        "actions": dict(coverage.actions),
        "crossings": dict(coverage.crossings),
        "floors_met": coverage.floors_met,
        "unmet": {
            name: {"reached": reached, "wanted": floor} for name, (reached, floor) in coverage.unmet.items()
        },
    }


def _failure(failure: Failure) -> Mapping[str, Any]:
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
        "findings": [_finding(finding) for finding in outcome.findings],
    }


def _group(group: FailureGroup) -> Mapping[str, Any]:
    return {
        "fingerprint": _fingerprint(group.fingerprint),
        "others": [_fingerprint(other) for other in group.others],
        "scenarios": list(group.indices),
        "representative": group.representative,
        "unshrunk": list(group.unshrunk),
        "ignored": group.ignored,
    }


def _fingerprint(found: Fingerprint) -> Mapping[str, Any]:
    return {
        "code": found.code,
        "outcome": found.outcome.value,
        "check": None if found.check is None else found.check.value,
        "operators": list(found.operators),
        "difference": None if found.kind is None else found.kind.value,
    }


def _finding(finding: Finding) -> Mapping[str, Any]:
    difference = finding.difference
    return {
        "check": finding.check.value,
        "table": finding.table,
        "step": finding.step,
        "timestamp": finding.timestamp,
        "message": finding.message,
        "difference": None
        if difference is None
        else {
            "kind": difference.kind.value,
            "expected_rows": difference.expected_rows,
            "actual_rows": difference.actual_rows,
            "missing": sum(times for _, times in difference.missing),
            "extra": sum(times for _, times in difference.extra),
        },
        "votes": dict(finding.votes),
    }
