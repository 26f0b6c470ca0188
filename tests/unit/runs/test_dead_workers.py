"""A worker process that dies costs at most the scenario it died on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from campaign.lanes.spec import LaneSpec, within_limits
from campaign.runs.campaign import run_plan
from campaign.runs.plan import CampaignPlan, JudgedScenario
from campaign.runs.runner import run
from generators.coverage import operators
from generators.profiles import QUICK
from tests.unit.runs.deadly import DeadlySpec
from workload.operators import GROUPINGS
from workload.outcomes.results import ENGINE_DIED, OutcomeClass

pytestmark = pytest.mark.nightly

PLAN = CampaignPlan(seed=1, profile=QUICK, scenarios=14, workers=2)
"""Its chunks are of four scenarios: each deadly one is in a chunk of its own."""


def by_index(plan: CampaignPlan, spec: DeadlySpec) -> dict[int, JudgedScenario]:
    judged = list(run(plan, spec))
    outcomes = {one.index: one for one in judged}
    assert len(outcomes) == len(judged), "a scenario was counted twice"
    assert sorted(outcomes) == list(range(plan.scenarios or 0)), "a scenario was lost"
    return outcomes


def test_a_scenario_on_which_the_worker_dies_twice_is_named_and_the_others_pass(tmp_path: Path) -> None:
    outcomes = by_index(PLAN, DeadlySpec(tier="rules", always=("quick-1-3", "quick-1-9"), met=tmp_path))
    failed = {index: one.outcome for index, one in outcomes.items() if not passed(one)}
    assert sorted(failed) == [3, 9]
    assert {outcome.outcome for outcome in failed.values()} == {OutcomeClass.INFRASTRUCTURE_FAILURE}
    assert failed[3].reason == "the worker process died on this scenario, twice"
    assert failed[3].scenario == "quick-1-3"


def test_a_worker_that_died_by_chance_costs_nothing(tmp_path: Path) -> None:
    plan = replace(PLAN, scenarios=6, workers=1)
    outcomes = by_index(plan, DeadlySpec(tier="rules", once=("quick-1-1",), met=tmp_path))
    assert (tmp_path / "quick-1-1").exists()
    assert all(passed(one) for one in outcomes.values())


def test_what_is_done_is_not_done_again() -> None:
    plan = CampaignPlan(seed=1, profile=QUICK, scenarios=6, workers=1, done=frozenset({0, 1, 4}))
    assert sorted(one.index for one in run(plan, LaneSpec(tier="rules"))) == [2, 3, 5]


def passed(judged: JudgedScenario) -> bool:
    return judged.outcome.outcome is OutcomeClass.PASSED


def test_an_engine_that_dies_is_a_product_failure_with_its_folder_and_the_run_goes_on(tmp_path: Path) -> None:
    spec = LaneSpec(tier="adapter:tests.unit.engines.aborting:Aborting")
    profile = within_limits(QUICK, spec.tier)
    plan = CampaignPlan(seed=2, profile=profile, scenarios=16, workers=2)
    summary = run_plan(plan, spec, tmp_path / "run")
    assert summary.outcomes["passed"] > 0
    assert summary.outcomes["passed"] + summary.outcomes["product_failure"] == 16
    assert summary.failures
    for failure in summary.failures:
        assert failure.outcome.reason == f"refresh error: {ENGINE_DIED}"
        assert (Path(failure.folder) / "scenario.json").exists()
    again = run_plan(replace(plan, scenarios=18), spec, tmp_path / "run", resume=True)
    assert again.scenarios == 18


def test_a_scenario_that_takes_too_much_memory_is_no_failure_of_the_engine(tmp_path: Path) -> None:
    """Engine and judge share the process, and one statement of 14 MB took 6 GB in both."""
    spec = LaneSpec(tier="adapter:tests.unit.engines.aborting:Growing")
    plan = CampaignPlan(seed=2, profile=within_limits(QUICK, spec.tier), scenarios=8, workers=2)
    summary = run_plan(plan, spec, tmp_path / "run")
    assert summary.outcomes["infrastructure_failure"] > 0
    assert summary.outcomes["product_failure"] == 0
    assert all("MiB of memory, and was not judged" in each.outcome.reason for each in summary.failures)


def test_a_call_that_nothing_interrupts_costs_its_scenario_and_names_the_call(tmp_path: Path) -> None:
    """A call in C that holds Python's lock stopped all threads of a worker, for ever."""
    spec = LaneSpec(tier="adapter:tests.unit.engines.aborting:Hanging")
    plan = CampaignPlan(seed=2, profile=within_limits(QUICK, spec.tier), scenarios=4, workers=2)
    summary = run_plan(plan, spec, tmp_path / "run")
    assert summary.outcomes["infrastructure_failure"] > 0
    assert summary.outcomes["infrastructure_failure"] + summary.outcomes["passed"] == 4
    assert all(
        each.outcome.reason.startswith("a call did not return in refresh (") for each in summary.failures
    )


def test_an_engine_that_dies_of_a_question_has_its_failure_with_the_query(tmp_path: Path) -> None:
    """The process that reports the failure drew the scenario again, asked the engine, and died."""
    spec = LaneSpec(tier="adapter:tests.unit.engines.aborting:AbortingWhenAsked")
    plan = CampaignPlan(seed=2, profile=within_limits(QUICK, spec.tier), scenarios=8, workers=2)
    summary = run_plan(plan, spec, tmp_path / "run")
    assert summary.outcomes["product_failure"] > 0
    assert summary.outcomes["product_failure"] + summary.outcomes["passed"] == 8
    for failure in summary.failures:
        assert failure.outcome.reason == f"refresh error: {ENGINE_DIED}"
        used = [set(operators(table.query)) for table in failure.scenario.definitions]
        assert any(GROUPINGS & each for each in used)
