"""Faults in how a run is recorded as a history: the analysis can only judge what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from campaign.faults.fault import in_recording, part_fault
from workload.outcomes.results import Check
from workload.outcomes.trace import Refreshed, SourceWritten


def first_table(events: Sequence[SourceWritten]) -> Sequence[SourceWritten]:
    """Of a transaction over several tables, only the write of the first table is recorded."""
    return events[:1]


def all_sources_but_one(refreshed: Refreshed) -> Mapping[str, int]:
    """One source is missing from the recorded derivation of a refresh over several sources."""
    names = list(refreshed.versions)
    return {name: refreshed.versions[name] for name in (names[:-1] if len(names) > 1 else names)}


_fault = partial(part_fault, area="history", replacing=in_recording)

FAULTS = (
    _fault("recorder-first-row-only", "written", first_table, Check.HISTORY),
    _fault("derivation-edge-missing", "sources", all_sources_but_one, Check.HISTORY),
)
