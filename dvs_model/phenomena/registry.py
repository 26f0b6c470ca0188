"""Every phenomenon with its detector."""

from __future__ import annotations

from collections.abc import Mapping

from dvs_model.phenomena.cycles import CYCLE_DETECTORS, Detector
from dvs_model.phenomena.dirty import aborted_read, intermediate_read
from dvs_model.phenomena.mixed import mixed_predicate_write, mixed_writes
from dvs_model.phenomena.overlaps import interference, read_before_commit
from dvs_model.theory.names import Phenomenon

DETECTORS: Mapping[Phenomenon, Detector] = {
    **CYCLE_DETECTORS,
    Phenomenon.G1A: aborted_read,
    Phenomenon.G1B: intermediate_read,
    Phenomenon.G_SIA: interference,
    Phenomenon.G_MSRA: read_before_commit,
    Phenomenon.G1_PREDA: mixed_predicate_write,
    Phenomenon.G1_PREDB: mixed_writes,
}
