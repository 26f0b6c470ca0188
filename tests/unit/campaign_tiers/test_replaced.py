"""A platform that dies is replaced once per piece of work; one that lives keeps its errors."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from campaign.engine import Engine
from campaign.tiers.recording import FreshWanted
from campaign.tiers.replaced import ReplacedTier
from generators.generate import scenario_at
from generators.profiles import QUICK
from oracle.delayed_view import DelayedView
from workload.scenario import Scenario
from workload.trace import Refreshed, RefreshError, RefreshRefused, Trace
from workload.types import Row

SCENARIO = scenario_at(1, QUICK, 0)
DONE = Trace(())
REFUSED = Trace((RefreshRefused(1, "d", 2, RefreshError.FAILED, "connection refused"),))


@dataclass
class Platform:
    """Gives its answers in turn; it is dead from the answer None, or one with `dies`, on."""

    answers: list[Trace | Exception]
    dies: bool = False
    dead: bool = False
    asked: int = 0

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        self.asked += 1
        answer = self.answers.pop(0)
        self.dead = self.dies
        if isinstance(answer, Exception):
            raise answer
        return answer

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> tuple[Row, ...]:
        raise NotImplementedError

    def alive(self) -> bool:
        return not self.dead


@dataclass
class Starting:
    """Starts platforms in turn."""

    platforms: list[Platform]
    started: list[Platform] = field(default_factory=list)

    def __call__(self) -> Platform:
        self.started.append(self.platforms.pop(0))
        return self.started[-1]


def run(*platforms: Platform) -> tuple[Trace, int]:
    """The trace, and how many platforms it took."""
    starting = Starting(list(platforms))
    trace = ReplacedTier.of(starting).run(SCENARIO, Engine(), lambda step, table: False)
    return trace, len(starting.started)


def test_one_that_lives_is_left_alone() -> None:
    assert run(Platform([DONE])) == (DONE, 1)
    assert run(Platform([REFUSED])) == (REFUSED, 1)


def test_an_error_of_one_that_lives_is_seen() -> None:
    with pytest.raises(RuntimeError, match="its own"):
        run(Platform([RuntimeError("its own")]), Platform([DONE]))


def test_one_that_dies_with_an_error_is_replaced_and_the_work_done_again() -> None:
    assert run(Platform([OSError("gone")], dies=True), Platform([DONE])) == (DONE, 2)


def test_one_that_dies_in_a_refresh_is_no_failure_of_the_engine() -> None:
    assert run(Platform([REFUSED], dies=True), Platform([DONE])) == (DONE, 2)


def test_one_that_dies_after_its_work_was_done_has_done_it() -> None:
    assert run(Platform([DONE], dies=True)) == (DONE, 1)


def test_two_that_die_are_an_error() -> None:
    with pytest.raises(OSError, match="again"):
        run(Platform([OSError("gone")], dies=True), Platform([OSError("again")], dies=True))


def test_the_new_one_serves_what_comes_after() -> None:
    starting = Starting([Platform([OSError("gone")], dies=True), Platform([DONE, DONE])])
    tier = ReplacedTier.of(starting)
    for _ in range(2):
        assert tier.run(SCENARIO, Engine(), lambda step, table: False) == DONE
    assert [platform.asked for platform in starting.started] == [1, 2]
