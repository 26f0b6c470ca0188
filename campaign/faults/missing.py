"""Real bugs of other engines that are not planted yet, each with the reason.

`dvs mutants` lists them beside its score: a score that hides what is not planted would look too good.
"""

from __future__ import annotations

from collections.abc import Mapping

from campaign.faults import FAULTS

_SOAK = "planted in simulated accounts: `dvs soak --fault {}`"
_CRASHES = "a refresh cannot be stopped between two commits in a run yet"
_PROTOCOL = "planted in a protocol model: `dvs protocol {}`"

REASONS: Mapping[str, str] = {
    "flatten-without-position": "flatten is not maintained incrementally yet",
    "tuple-in-first-column": "IN with several columns is not drawn yet",
    "stddev-of-one-row": "STDDEV is not maintained incrementally yet",
    "columns-by-position": "columns of base tables do not change yet",
    "diamond-arm-stale": _SOAK.format("diamond-arm-stale"),
    "misaligned-period": _SOAK.format("misaligned-period"),
    "skipped-interval-lost": _SOAK.format("skipped-interval-lost"),
    "resume-from-now": _SOAK.format("resume-from-now"),
    "group-without-shared-snapshot": _SOAK.format("group-without-shared-snapshot"),
    "frontier-in-second-commit": _CRASHES,
    "refresh-in-two-commits": _CRASHES,
    "unfenced-overwrite": "a writer beside the fenced ones on real tables: tests/e2e/test_fenced_delta.py",
    "dirty-statement-read": _PROTOCOL.format("read-committed --explore --fault dirty-statement-read"),
    "intents-one-pass": _PROTOCOL.format("data-plane --workload random --fault intents-one-pass"),
}
"""Name of the fault -> what the engine or the harness lacks to have it planted."""

MISSING: Mapping[str, str] = {name: reason for name, reason in REASONS.items() if name not in FAULTS}
"""The faults that are not planted yet, each with the reason."""
