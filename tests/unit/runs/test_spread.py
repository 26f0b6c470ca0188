"""A campaign over all tiers: every tier of the profile gets its share, and nothing is left out unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from campaign.runs.plan import CampaignPlan
from campaign.runs.spread import of_engines, parts
from engines.adapter import Adapter
from engines.errors import EngineError
from engines.registry import ADAPTERS, TIERS, find_adapter
from generators.generate import scenario_at
from generators.profiles import PROFILES, SMOKE
from workload.lift.kind import Lifting
from workload.outcomes.decision import Decision
from workload.outcomes.run_verdict import worst


def plan(**tiers: int) -> CampaignPlan:
    return CampaignPlan(seed=1, profile=replace(SMOKE, tiers=tiers), scenarios=200)


def test_scenarios_and_budgets_are_shared_by_the_profile() -> None:
    requested = plan(rules=3, delta=1)
    assert [(tier, part.scenarios) for tier, part in parts(requested)] == [("rules", 150), ("delta", 50)]
    timed = replace(requested, scenarios=None, budget=60.0)
    assert [(tier, part.budget) for tier, part in parts(timed)] == [("rules", 45.0), ("delta", 15.0)]


def test_every_tier_runs_at_least_one_scenario() -> None:
    few = replace(plan(rules=99, spark=1), scenarios=2)
    assert [(tier, part.scenarios) for tier, part in parts(few)] == [("rules", 1), ("spark", 1)]


def test_a_tier_without_a_share_is_left_out_and_an_unknown_one_refused() -> None:
    assert [tier for tier, _ in parts(plan(rules=1, delta=0))] == ["rules"]
    with pytest.raises(CampaignError, match="there is no tier postgres; give shares to some of rules, spark"):
        parts(plan(postgres=1))
    with pytest.raises(CampaignError, match="no tier has a share"):
        parts(plan(rules=0))


def test_engines_that_are_installed_share_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"adapter:sqlite", "adapter:duckdb", "adapter:sqlite_triggers"}

    def ready(adapter: type[Adapter]) -> None:
        raise EngineError("it is not installed")

    for name in ADAPTERS:
        if f"adapter:{name}" not in installed:
            monkeypatch.setattr(find_adapter(name), "ready", classmethod(ready))
    shares = of_engines(replace(plan(), scenarios=None, budget=60.0))
    assert {tier: part.budget for tier, part in shares} == dict.fromkeys(installed, 20.0)
    assert all(part.profile != SMOKE for _, part in shares), "each profile is within the engine's limits"
    for name in ADAPTERS:
        monkeypatch.setattr(find_adapter(name), "ready", classmethod(ready))
    with pytest.raises(CampaignError, match="no engine of others is installed"):
        of_engines(plan())


@pytest.mark.parametrize(
    "profile", [each for each in PROFILES.values() if not each.documents], ids=lambda profile: profile.name
)
def test_built_in_profiles_have_a_lane_on_stock_settings(profile: object) -> None:
    assert isinstance(profile, type(SMOKE))
    assert set(profile.tiers) <= set(TIERS)
    assert any(tier.endswith("-stock") for tier, share in profile.tiers.items() if share)


def test_shares_do_not_decide_which_scenarios_there_are() -> None:
    assert scenario_at(1, SMOKE, 3) == scenario_at(1, replace(SMOKE, tiers={"rules": 1}), 3)


def test_a_failure_outweighs_a_doubt_and_a_doubt_a_pass() -> None:
    assert worst([Decision.PASSED, Decision.UNDECIDED]) is Decision.UNDECIDED
    assert worst([Decision.UNDECIDED, Decision.FAILED, Decision.PASSED]) is Decision.FAILED
    assert worst([Decision.PASSED]) is Decision.PASSED
    assert worst([]) is Decision.UNDECIDED


def test_a_lane_is_named_by_what_is_unusual() -> None:
    assert LaneSpec(tier="spark").name == "spark"
    assert LaneSpec(tier="spark", lifting=Lifting.NONE).name == "spark, one by one"
    assert LaneSpec(tier="rules", lifting=Lifting.DATABASES, worlds=9).name == "rules, 9 databases lifted"
