"""The machine-readable summary of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.figures import outcome_counts
from workload.results import Coverage, Failure, Finding, RunSummary


def summary_object(summary: RunSummary) -> dict[str, Any]:
    """The run as JSON data. `outcomes` has every class and adds up to `scenarios`.

    Times are seconds; timestamps logical microseconds. Rows are not in it: the failure folders keep them.
    Raises ReportError where the outcomes do not add up.
    """
    return {
        "seed": summary.seed,
        "tier": summary.tier,
        "profile": summary.profile,
        "scenarios": summary.scenarios,
        "definitions": summary.definitions,
        "refreshes": summary.refreshes,
        "checks": summary.checks,
        "left_out": dict(summary.left_out),
        "outcomes": {outcome.value: count for outcome, count in outcome_counts(summary).items()},
        "coverage": _coverage(summary.coverage),
        "seconds": summary.seconds,
        "interrupted": summary.interrupted,
        "time_split": dict(summary.time_split),
        "failures": [_failure(failure) for failure in summary.failures],
    }


def _coverage(coverage: Coverage) -> Mapping[str, Any]:
    return {
        "operators": dict(coverage.operators),
        "pairs": dict(coverage.pairs),
        "intents": dict(coverage.intents),
        "states": dict(coverage.states),
        "actions": dict(coverage.actions),
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
        "findings": [_finding(finding) for finding in outcome.findings],
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
