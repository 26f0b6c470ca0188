"""Every phenomenon with its detector."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dvs_model.analysis import Analysis
from dvs_model.names import Phenomenon
from dvs_model.phenomena import cycles, starts
from dvs_model.phenomena.cursor import cursor
from dvs_model.phenomena.dirty import aborted_read, intermediate_read
from dvs_model.phenomena.mixed import mixed_predicate_write, mixed_writes
from dvs_model.phenomena.monotonic import monotonic, monotonic_with_starts
from dvs_model.phenomena.update import update
from dvs_model.verdict import Finding

Detector = Callable[[Analysis], Finding]
P = Phenomenon

DETECTORS: Mapping[P, Detector] = {
    P.G0: cycles.WRITE_CYCLE,
    P.G1A: aborted_read,
    P.G1B: intermediate_read,
    P.G1C: cycles.INFORMATION_CYCLE,
    P.G_SINGLE: cycles.SINGLE_CYCLE,
    P.G2_ITEM: cycles.ITEM_ANTI_DEPENDENCY_CYCLE,
    P.G2: cycles.ANTI_DEPENDENCY_CYCLE,
    P.G_CURSOR: cursor,
    P.G_MONOTONIC: monotonic,
    P.G_UPDATE: update,
    P.G_SIA: starts.interference,
    P.G_SIB: starts.missed_effects,
    P.G_MSRA: starts.read_before_commit,
    P.G_MSRB: monotonic_with_starts,
    P.G1_PREDA: mixed_predicate_write,
    P.G1_PREDB: mixed_writes,
    P.G1C_REALTIME: cycles.in_realtime(cycles.information_cycle, cycles.INFORMATION_CYCLE),
    P.G_SINGLE_REALTIME: cycles.in_realtime(cycles.single_cycle, cycles.SINGLE_CYCLE),
    P.G2_REALTIME: cycles.in_realtime(cycles.anti_dependency_cycle, cycles.ANTI_DEPENDENCY_CYCLE),
    P.G1C_SESSION: cycles.in_sessions(cycles.information_cycle, cycles.INFORMATION_CYCLE),
    P.G_SINGLE_SESSION: cycles.in_sessions(cycles.single_cycle, cycles.SINGLE_CYCLE),
    P.G2_SESSION: cycles.in_sessions(cycles.anti_dependency_cycle, cycles.ANTI_DEPENDENCY_CYCLE),
}
