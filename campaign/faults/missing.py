"""Real bugs of other engines that are not planted yet, each with the reason.

`dvs mutants` lists them beside its score: a score that hides what is not planted would look too good.
"""

from __future__ import annotations

from collections.abc import Mapping

from campaign.faults import FAULTS

_SCHEDULER = "there is no scheduler yet: refreshes are manual"
_CRASHES = "a refresh cannot be stopped between two commits in a run yet"
_PROTOCOLS = "there are no protocol models yet"

REASONS: Mapping[str, str] = {
    "flatten-without-position": "flatten is not maintained incrementally yet",
    "tuple-in-first-column": "IN with several columns is not drawn yet",
    "stddev-of-one-row": "STDDEV is not maintained incrementally yet",
    "columns-by-position": "columns of base tables do not change yet",
    "diamond-arm-stale": "user errors are not generated: no arm of a diamond fails alone",
    "misaligned-period": _SCHEDULER,
    "skipped-interval-lost": _SCHEDULER,
    "resume-from-now": _SCHEDULER,
    "group-without-shared-snapshot": _SCHEDULER,
    "frontier-in-second-commit": _CRASHES,
    "refresh-in-two-commits": _CRASHES,
    "unfenced-overwrite": _PROTOCOLS,
    "dirty-statement-read": _PROTOCOLS,
    "intents-one-pass": _PROTOCOLS,
}
"""Name of the fault -> what the engine or the harness lacks to have it planted."""

MISSING: Mapping[str, str] = {name: reason for name, reason in REASONS.items() if name not in FAULTS}
"""The faults that are not planted yet, each with the reason."""
