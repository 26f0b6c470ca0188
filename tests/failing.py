"""Random scenarios that a planted fault breaks, looked for: a seed known by heart goes with the generator."""

from __future__ import annotations

from campaign.lanes.spec import LaneSpec
from generators.generate import scenario_at
from generators.profiles import Profile
from workload.outcomes.results import OutcomeClass

SEARCHED = 400
"""Scenarios: most faults show within five, the rarest planted one within a hundred."""


def first_failing(fault: str, seed: int, profile: Profile) -> int:
    """The first scenario that a fault breaks."""
    lane = LaneSpec(tier="rules", faults=(fault,)).build()
    for index in range(SEARCHED):
        if lane.judge(scenario_at(seed, profile, index)).outcome is OutcomeClass.PRODUCT_FAILURE:
            return index
    raise AssertionError(f"{fault} breaks none of {SEARCHED} scenarios")
