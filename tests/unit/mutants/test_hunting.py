"""Planted faults share the budget: a survivor of its share is hunted on with the time that others leave."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from campaign.cli.mutants import engine_score, print_line
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Pool, Worker
from campaign.mutants import hunt as hunting
from campaign.mutants.hunt import Hunt, HuntResult, Kill, hunt_all
from campaign.mutants.verdict import HuntVerdict, hunt_text
from generators.profiles import SMOKE
from shrink import size
from tests.unit.workload.shop import SHOP
from workload.outcomes.results import Check

KILL = Kill(killer=Check.EQUALITY, index=0, reproduction=SHOP, size=size(SHOP))

SECONDS_PER_HUNT = 0.25


@contextmanager
def one_thread(spec: LaneSpec, size: int, *, dies_by_interrupt: bool = False) -> Iterator[Pool]:
    with ThreadPoolExecutor(1) as executor:
        yield Pool(executor, 1, Worker())


@dataclass
class Hunter:
    """Judges two scenarios in each hunt, by a clock of its own; kills the fault at scenario `needed`."""

    needed: int
    clock: float = 1000.0
    tasks: list[Hunt] = field(default_factory=list)

    def hunt(self, worker: Worker, task: Hunt) -> HuntResult:
        self.tasks.append(task)
        self.clock += SECONDS_PER_HUNT
        kill = KILL if task.first + 2 >= self.needed else None
        return HuntResult(fault=task.fault, scenarios=2, seconds=SECONDS_PER_HUNT, kill=kill, most=task.most)

    def hunt_one_fault(self, monkeypatch: pytest.MonkeyPatch, budget: float, most: int = 500) -> HuntResult:
        monkeypatch.setattr(hunting, "pool_for", one_thread)
        monkeypatch.setattr(hunting, "hunt", self.hunt)
        (result,) = hunt_all(
            ("empty-group-kept",),
            tier="rules",
            seed=1,
            profile=SMOKE,
            budget=budget,
            workers=1,
            attempts=0,
            most=most,
            now=lambda: self.clock,
        )
        return result


def test_a_survivor_is_hunted_until_it_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    hunter = Hunter(needed=7)
    result = hunter.hunt_one_fault(monkeypatch, budget=60)
    assert [task.first for task in hunter.tasks] == [0, 2, 4, 6]
    assert result.kill is KILL
    assert result.scenarios == 8


def test_a_hunt_ends_with_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A further round needs more than WORTHWHILE seconds, so the last second of the budget starts none."""
    hunter = Hunter(needed=1_000)
    result = hunter.hunt_one_fault(monkeypatch, budget=3.0)
    assert hunting.WORTHWHILE == 1.0
    assert result.kill is None
    assert len(hunter.tasks) == 8
    assert result.scenarios == 16
    assert result.seconds == 2.0
    assert result.verdict is HuntVerdict.UNDECIDED, "the time was over, which says nothing about the fault"
    assert hunt_text(result.verdict, result.scenarios, result.most) == (
        "hunted in 16 scenarios of 500, time over"
    )


def test_each_hunt_has_the_time_that_is_left_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    hunter = Hunter(needed=5)
    hunter.hunt_one_fault(monkeypatch, budget=10.0)
    assert [task.deadline for task in hunter.tasks] == [1010.0] * 3
    # The first share is half of what hunting may take at all; a survivor then gets all that is left.
    assert [task.seconds for task in hunter.tasks] == [3.0, 9.75, 9.5]
    assert hunter.tasks[-1].left == 1010.0 - hunter.clock


def test_a_hunt_ends_after_the_most_scenarios_for_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    hunter = Hunter(needed=1_000)
    result = hunter.hunt_one_fault(monkeypatch, budget=60, most=6)
    assert [task.most for task in hunter.tasks] == [6] * 3
    assert result.kill is None
    assert result.scenarios == 6
    assert result.verdict is HuntVerdict.SURVIVED


def test_a_worker_judges_no_scenario_after_the_most() -> None:
    hunt = Hunt(
        fault="empty-group-kept",
        tier="rules",
        seed=1,
        profile=SMOKE,
        validations=False,
        first=3,
        most=3,
        seconds=60.0,
        deadline=float("inf"),
    )
    assert hunting.hunt(Worker(), hunt).scenarios == 0


def test_a_fault_that_is_hunted_again_is_open_in_the_progress(capsys: pytest.CaptureFixture[str]) -> None:
    result = HuntResult(fault="join-both-at-t0", scenarios=12, seconds=3.0, kill=None)
    print_line(engine_score(result), "scenario")
    print_line(engine_score(replace(result, scenarios=500)), "scenario")
    assert capsys.readouterr().err == (
        "open     join-both-at-t0 not found so far (12 scenarios, 3.0 s)\n"
        "survived join-both-at-t0 not found in 500 scenarios (500 scenarios, 3.0 s)\n"
    )
