"""A platform that dies is replaced once for each piece of work; one that lives keeps its errors."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from engines import Notes, RefreshFailed
from engines.engine import Engine, Platform
from tests.unit.engines.sample import Recomputing, shop
from workload.outcomes.trace import RefreshRefused, Trace

DONE = Engine.of(Recomputing).run(shop())
REFUSED = RefreshFailed("connection refused")


class Failing(Recomputing):
    """A database whose refreshes raise an error, if there is one."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        if self.error is not None:
            raise self.error
        return super().refresh(table, timestamp)


@dataclass
class Mortal(Platform):
    """A platform whose databases fail with these errors in turn; with `dies` it is dead after the first."""

    errors: list[Exception | None]
    dies: bool = False
    opened: int = 0

    def open(self) -> Failing:
        self.opened += 1
        return Failing(self.errors.pop(0))

    def alive(self) -> bool:
        return not (self.dies and self.opened)


@dataclass
class Starting:
    """Starts platforms in turn."""

    platforms: list[Mortal]
    started: list[Mortal] = field(default_factory=list)

    def __call__(self) -> Mortal:
        self.started.append(self.platforms.pop(0))
        return self.started[-1]


@dataclass(frozen=True)
class Run:
    """A trace, and the number of platforms that it took."""

    trace: Trace
    platforms: int


def run(*platforms: Mortal) -> Run:
    starting = Starting(list(platforms))
    trace = Engine.started(starting).run(shop())
    return Run(trace, len(starting.started))


def test_a_living_platform_serves_all_work() -> None:
    assert run(Mortal([None])) == Run(DONE, 1)


def test_a_refresh_that_fails_on_a_living_platform_is_the_engines_failure() -> None:
    result = run(Mortal([REFUSED]), Mortal([None]))
    assert result.platforms == 1
    assert any(isinstance(event, RefreshRefused) for event in result.trace.events)


def test_an_error_on_a_living_platform_is_raised() -> None:
    with pytest.raises(RuntimeError, match="its own"):
        run(Mortal([RuntimeError("its own")]), Mortal([None]))


def test_a_platform_that_dies_with_an_error_is_replaced_and_the_work_done_again() -> None:
    assert run(Mortal([OSError("lost")], dies=True), Mortal([None])) == Run(DONE, 2)


def test_a_refresh_that_fails_because_the_platform_died_is_no_failure_of_the_engine() -> None:
    assert run(Mortal([REFUSED], dies=True), Mortal([None])) == Run(DONE, 2)


def test_a_platform_that_dies_after_its_work_is_not_asked_to_do_it_again() -> None:
    assert run(Mortal([None], dies=True), Mortal([None])) == Run(DONE, 1)


def test_the_error_of_a_second_platform_that_dies_is_raised() -> None:
    with pytest.raises(OSError, match="again"):
        run(Mortal([OSError("lost")], dies=True), Mortal([OSError("again")], dies=True))


def test_the_new_platform_serves_later_work() -> None:
    starting = Starting([Mortal([OSError("lost")], dies=True), Mortal([None, None])])
    engine = Engine.started(starting)
    for _ in range(2):
        assert engine.run(shop()) == DONE
    assert [platform.opened for platform in starting.started] == [1, 2]
