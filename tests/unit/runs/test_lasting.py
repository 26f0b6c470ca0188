"""A campaign of many minutes starts its platform otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.lanes.spec import LaneSpec
from campaign.runs.plan import CampaignPlan
from campaign.runs.runner import run
from engines.engine import Engine
from engines.registry import TIERS, Tier
from engines.variant import Variant
from generators.profiles import QUICK
from tests.in_memory import in_memory

PLAN = CampaignPlan(seed=1, profile=QUICK, workers=1)


@pytest.mark.parametrize(
    ("plan", "lasting"),
    [
        (replace(PLAN, budget=299), False),
        (replace(PLAN, budget=300), True),
        (replace(PLAN, scenarios=299), False),
        (replace(PLAN, scenarios=300), True),
        (replace(PLAN, scenarios=300, done=frozenset({0})), False),
    ],
)
def test_what_lasts(plan: CampaignPlan, lasting: bool) -> None:
    assert plan.lasting is lasting


@pytest.mark.parametrize(("scenarios", "lasting"), [(2, False), (300, True)])
def test_the_engine_is_started_for_as_long_as_the_campaign_takes(
    scenarios: int, lasting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bool] = []

    def start(variant: Variant, for_long: bool) -> Engine:
        started.append(for_long)
        return in_memory(variant)

    monkeypatch.setitem(TIERS, "rules", Tier(start=start, what="a tier", attempts=1))
    results = run(replace(PLAN, scenarios=scenarios), LaneSpec(tier="rules"))
    next(results)
    results.close()
    assert started == [lasting]
