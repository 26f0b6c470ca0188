"""A campaign of many minutes starts its platform otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.lanes import TIERS, LaneSpec, RulesTier, TierKind
from campaign.runner import Plan, run
from generators.profiles import QUICK

PLAN = Plan(seed=1, profile=QUICK, workers=1)


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
def test_what_lasts(plan: Plan, lasting: bool) -> None:
    assert plan.lasting is lasting


@pytest.mark.parametrize(("scenarios", "started"), [(2, ["at once"]), (300, ["to last"])])
def test_the_tier_is_started_for_as_long_as_it_is_wanted(
    scenarios: int, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    how: list[str] = []

    def starting(name: str) -> RulesTier:
        how.append(name)
        return RulesTier()

    kind = TierKind(
        start=lambda: starting("at once"), lasting=lambda: starting("to last"), what="a tier", attempts=1
    )
    monkeypatch.setitem(TIERS, "rules", kind)
    results = run(replace(PLAN, scenarios=scenarios), LaneSpec(tier="rules"))
    next(results)
    results.close()
    assert how == started
