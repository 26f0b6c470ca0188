"""Faults in how a run is recorded as a history: a checker is only as good as what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaign.engine import Engine
from campaign.faults.fault import Fault, Plant
from campaign.observe.recording import RECORDING, Recording
from workload.results import Check
from workload.trace import Refreshed, SourceWritten


def first_table(events: Sequence[SourceWritten]) -> Sequence[SourceWritten]:
    """Of a transaction the first table it touched."""
    return events[:1]


def all_sources_but_one(refreshed: Refreshed) -> Mapping[str, int]:
    """A derivation without its last source."""
    names = list(refreshed.versions)
    return {name: refreshed.versions[name] for name in (names[:-1] if len(names) > 1 else names)}


def _recorded(recording: Recording) -> Plant:
    def plant(engine: Engine) -> Engine:
        return replace(engine, recording=recording)

    return plant


FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault(
            name="recorder-first-row-only",
            area="history",
            wrong="the recorder notes one write per transaction: that of the first table it touched",
            plant=_recorded(replace(RECORDING, written=first_table)),
            caught_by=(Check.HISTORY,),
        ),
        Fault(
            name="derivation-edge-missing",
            area="history",
            wrong="the recorder leaves one source out of a derivation",
            plant=_recorded(replace(RECORDING, sources=all_sources_but_one)),
            caught_by=(Check.HISTORY,),
        ),
    )
}
