"""Lanes that run many worlds as one: what fails is found again alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from campaign.faults import FAULTS
from campaign.judging.lane import Lane
from campaign.lanes.lifted import LiftedLane, lifted_lane, suspects
from campaign.lanes.spec import LaneSpec
from campaign.runs.floors import floors_of_lifted
from engines.drive import FreshWanted, SoFar, never_fresh
from engines.engine import Engine
from engines.in_memory import InMemoryPlatform
from engines.watchdog import HungQuery
from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.depth import examples
from tests.ir import columns, named, select, table
from workload.dml import Insert, Replace
from workload.failing import may_fail
from workload.lift import Unliftable, lift
from workload.lift.kind import Lifting
from workload.outcomes.results import Check, Difference, DifferenceKind, Finding, Outcome, OutcomeClass
from workload.outcomes.trace import Trace
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import INT

pytestmark = pytest.mark.nightly


def lane(lifting: Lifting, *faults: str, alone_percent: int = 0) -> LiftedLane:
    spec = LaneSpec(tier="rules", lifting=lifting, worlds=8, faults=faults, validations=False)
    built = lifted_lane(spec.build(), spec)
    assert isinstance(built, LiftedLane)
    return LiftedLane(
        lane=built.lane, lifting=built.lifting, worlds=built.worlds, alone_percent=alone_percent
    )


def scenarios(seed: int, count: int) -> Iterator[Scenario]:
    return (scenario_at(seed, SMOKE, index) for index in range(count))


def may_fail_anywhere(scenario: Scenario) -> bool:
    return any(may_fail(definition.query) for definition in scenario.definitions)


def test_a_scenario_whose_query_may_fail_is_run_alone() -> None:
    scenario = next(scenario for scenario in scenarios(12, 200) if may_fail_anywhere(scenario))
    outcome, ran = lane(Lifting.INTERVALS).judge_as_run(scenario)
    assert (outcome.outcome, ran) == (OutcomeClass.PASSED, scenario)


@pytest.mark.parametrize("lifting", [Lifting.INTERVALS, Lifting.DATABASES])
def test_the_right_engine_passes_and_every_world_is_counted(lifting: Lifting) -> None:
    # Scenarios with a query that may fail are run one by one.
    liftable = [scenario for scenario in scenarios(12, examples(8)) if not may_fail_anywhere(scenario)]
    several = 0
    for scenario in liftable:
        outcome, ran = lane(lifting).judge_as_run(scenario)
        assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
        assert outcome.scenario == scenario.name
        if outcome.worlds > 1:
            several += 1
            assert ran.name.endswith(f"/x{outcome.worlds}")
    assert several > 4


@pytest.mark.parametrize(
    ("lifting", "fault", "first"),
    [(Lifting.INTERVALS, "join-both-at-t1", 19), (Lifting.DATABASES, "extremum-not-rescanned", 15)],
)
def test_a_planted_fault_is_reported_unlifted(lifting: Lifting, fault: str, first: int) -> None:
    """From the first scenario that shows it on, but for those that only all worlds together show."""
    assert fault in FAULTS
    faulty = lane(lifting, fault)
    failures = (o.reproduction for o in outcomes(faulty, first) if o.outcome is OutcomeClass.PRODUCT_FAILURE)
    alone = next(each for each in failures if each is None or "/x" not in each.name)
    if alone is not None:
        assert faulty.lane.judge(alone).outcome is OutcomeClass.PRODUCT_FAILURE
        assert LaneSpec(tier="rules").build().judge(alone).outcome is OutcomeClass.PASSED


def outcomes(lane: LiftedLane, first: int) -> Iterator[Outcome]:
    return (lane.judge_as_run(scenario_at(7, SMOKE, index))[0] for index in range(first, first + 60))


def test_what_cannot_be_lifted_is_run_one_by_one() -> None:
    table_r = table("r", k=INT)
    query = select({"k": columns(table_r)["k"]}, named("r"))
    steps = (
        Commit(1, (Insert("r", ((1,),)),)),
        Create(2, "d"),
        Commit(3, (Replace("r", ((2,),)),)),
        Refresh(4, "d", 4),
        Commit(5, (Insert("r", ((3,),)),)),
        Refresh(6, "d", 6),
    )
    scenario = Scenario("replaced", (table_r,), (DynamicTable("d", query),), steps)
    outcome, ran = lane(Lifting.INTERVALS).judge_as_run(scenario)
    assert (outcome.outcome, outcome.worlds, ran) == (OutcomeClass.PASSED, 1, scenario)


class HangsOnWorlds(Engine):
    """An engine on which lifted scenarios are cut."""

    def run(
        self, scenario: Scenario, fresh_wanted: FreshWanted = never_fresh, so_far: SoFar | None = None
    ) -> Trace:
        if "/x" in scenario.name:
            raise HungQuery("cut after 300 s")
        return super().run(scenario, fresh_wanted, so_far)


def liftable(scenario: Scenario) -> bool:
    return not isinstance(lift([scenario, scenario]), Unliftable)


def test_a_lifted_run_that_is_cut_is_no_pass_though_the_scenario_passes_alone() -> None:
    hanging = Lane(engine=HangsOnWorlds(InMemoryPlatform, InMemoryPlatform()))
    scenario = next(s for s in (scenario_at(12, SMOKE, i) for i in range(20)) if liftable(s))
    assert hanging.judge(scenario).outcome is OutcomeClass.PASSED
    lifted = LiftedLane(lane=hanging, lifting=Lifting.DATABASES, worlds=3, alone_percent=0)
    outcome, _ = lifted.judge_as_run(scenario)
    assert (outcome.outcome, outcome.reason) == (
        OutcomeClass.INFRASTRUCTURE_FAILURE,
        "HungQuery: cut after 300 s",
    )


def test_a_sample_is_run_one_by_one_all_the_same() -> None:
    scenario = scenario_at(11, SMOKE, 0)
    outcome, ran = lane(Lifting.DATABASES, alone_percent=100).judge_as_run(scenario)
    assert (outcome.worlds, ran) == (1, scenario)


def test_worlds_in_the_difference_are_suspected_first() -> None:
    difference = Difference(DifferenceKind.MISSING, (), (((5, 3), 1),), (((None, 1), 1),), 2, 2)
    finding = Finding(check=Check.EQUALITY, table="d", step=0, timestamp=0, message="", difference=difference)
    outcome = Outcome(scenario="s", outcome=OutcomeClass.PRODUCT_FAILURE, findings=(finding,))
    assert list(suspects(outcome, 5)) == [3, 1, 0, 2, 4]


def test_floors_that_lifting_cannot_reach_are_not_asked_for() -> None:
    floors = {"operator: cross join": 1, "operator: left join": 1, "state: reader that saw skew": 1}
    assert floors_of_lifted(floors, Lifting.NONE) == floors
    assert set(floors_of_lifted(floors, Lifting.DATABASES)) == {
        "operator: left join",
        "state: reader that saw skew",
    }
    assert set(floors_of_lifted(floors, Lifting.INTERVALS)) == {"operator: left join"}
