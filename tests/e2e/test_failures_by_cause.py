"""Planted faults through a whole campaign: one gives one group, two give two, one that heals is caught."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from campaign.failures.report import ShrinkBudget
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from campaign.runs.campaign import run_plan
from campaign.runs.plan import CampaignPlan
from dynamic_tables.refresh.execute import PROTOCOL
from dynamic_tables.refresh.versions import resolve
from dynamic_tables.versions import SourceHistory, SourceVersion
from engines.registry import TIERS
from engines.variant import Variant
from generators.profiles import SMOKE
from tests.failing import first_failing
from tests.in_memory import in_memory
from workload.dml import Insert
from workload.outcomes.results import Check, FailureGroup, OutcomeClass
from workload.query import ColumnRef, Item, Named, Select
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Column, Table
from workload.types import INT

SCENARIOS = 8
SHRUNK = ShrinkBudget(failures=3, seconds=600)


def groups(
    tmp_path: Path, faults: tuple[str, ...], seed: int, first: int, shrunk: ShrinkBudget = SHRUNK
) -> list[FailureGroup]:
    """The groups of a run over a few scenarios with some faults planted.

    A search of 150 attempts does for the cause, though not for the smallest scenario.
    """
    plan = CampaignPlan(seed=seed, profile=SMOKE, first=first, scenarios=SCENARIOS, workers=2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(TIERS, "rules", replace(TIERS["rules"], attempts=150))
        summary = run_plan(plan, LaneSpec(tier="rules", faults=faults), tmp_path, shrinking=shrunk)
    assert summary.outcomes["product_failure"] > 0
    assert sum(len(group.indices) for group in summary.groups) == summary.outcomes["product_failure"]
    return list(summary.groups)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("fault", "seed", "operators"),
    [
        ("join-both-at-t1", 14, {"inner join", "cross join"}),
        ("replaced-upstream-incremental", 5, set()),
    ],
)
def test_one_fault_gives_one_group(tmp_path: Path, fault: str, seed: int, operators: set[str]) -> None:
    (group,) = groups(
        tmp_path, (fault,), seed, first_failing(fault, seed, SMOKE), replace(SHRUNK, failures=2)
    )
    assert set(group.fingerprint.operators) <= operators
    assert bool(group.fingerprint.operators) == bool(operators)


@pytest.mark.nightly
def test_two_faults_give_two_groups(tmp_path: Path) -> None:
    faults = ("distinct-value-lingers", "join-both-at-t1")
    # The first seed at which both faults fail within one short campaign.
    found = ((seed, [first_failing(fault, seed, SMOKE) for fault in faults]) for seed in range(17, 60))
    seed, first = next(each for each in found if abs(each[1][0] - each[1][1]) < SCENARIOS)
    one, two = groups(tmp_path, faults, seed, min(first))
    assert set(one.fingerprint.operators).isdisjoint(two.fingerprint.operators)
    assert set(one.indices).isdisjoint(two.indices)


@dataclass(slots=True)
class StaleOnce:
    """Versions are resolved rightly, but for one data timestamp: then the version before is taken."""

    wrong_at: int
    timestamps: set[int] = field(default_factory=set)

    def __call__(self, history: SourceHistory, timestamp: int, table: str) -> SourceVersion:
        right = resolve(history, timestamp, table)
        if timestamp != self.wrong_at:
            return right
        self.timestamps.add(timestamp)
        return history.versions[history.versions.index(right) - 1]


R = Table("r", (Column("a", INT),))
THREE_REFRESHES = Scenario(
    name="three refreshes",
    tables=(R,),
    definitions=(DynamicTable("d", Select((Item(ColumnRef("r", "a", INT), "a"),), Named("r", "r"))),),
    steps=(
        Commit(10, (Insert("r", ((1,),)),)),
        Create(20, "d"),
        Commit(30, (Insert("r", ((2,),)),)),
        Refresh(40, "d", 40),
        Commit(50, (Insert("r", ((3,),)),)),
        Refresh(60, "d", 60),
        Commit(70, (Insert("r", ((4,),)),)),
        Refresh(80, "d", 80),
    ),
)


def lane_with(resolved: StaleOnce) -> Lane:
    return Lane(engine=in_memory(Variant(protocol=replace(PROTOCOL, resolve=resolved))))


def test_a_fault_that_heals_at_the_next_refresh_is_caught_where_it_was() -> None:
    stale = StaleOnce(wrong_at=60)
    outcome = lane_with(stale).judge(THREE_REFRESHES)
    assert stale.timestamps == {60}
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    wrong = {finding.check: finding for finding in outcome.findings if finding.timestamp == 60}
    assert {Check.FRONTIER, Check.EQUALITY} <= set(wrong)
    difference = wrong[Check.EQUALITY].difference
    assert difference is not None
    assert (difference.missing, difference.extra) == ((((3,), 1),), ())
    # The next refresh starts where the wrong one ended and puts it right.
    assert not [f for f in outcome.findings if f.timestamp == 80 and f.check is Check.EQUALITY]


def test_without_the_refresh_in_which_it_is_wrong_nothing_is_found() -> None:
    healed = replace(
        THREE_REFRESHES, steps=tuple(s for s in THREE_REFRESHES.steps if s != Refresh(60, "d", 60))
    )
    assert lane_with(StaleOnce(wrong_at=60)).judge(healed).outcome is OutcomeClass.PASSED
    assert lane_with(StaleOnce(wrong_at=-1)).judge(THREE_REFRESHES).outcome is OutcomeClass.PASSED
