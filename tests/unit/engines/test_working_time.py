"""A run says how much of its time was the engine's, and the rest is the harness's."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from campaign.cli.fuzz import print_summary
from campaign.runs.tally import Tally
from engines import Notes
from engines.engine import Open
from generators.profiles import SMOKE
from oracle.base_tables import BaseTables
from tests.unit.engines.sample import Recomputing, lane, shop
from workload.schema import Column
from workload.sql import dml_texts
from workload.types import Row


@dataclass
class Clock:
    """A clock that goes on only where somebody works. `worked`: the seconds of each."""

    worked: Counter[str] = field(default_factory=Counter)

    def work(self, who: str, seconds: int) -> None:
        self.worked[who] += seconds

    def __call__(self) -> float:
        return float(self.worked.total())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the whole process: the harness works where it renders a statement and makes a truth."""
    made = Clock()

    def slowed(who: str, seconds: int, work: Callable[..., Any]) -> Callable[..., Any]:
        def working(*args: Any, **named: Any) -> Any:
            made.work(who, seconds)
            return work(*args, **named)

        return working

    monkeypatch.setattr(time, "perf_counter", made)
    monkeypatch.setattr("engines.adapter.dml_texts", slowed("statements", 100, dml_texts))
    monkeypatch.setattr("oracle.delayed_view.BaseTables", slowed("truth", 1000, BaseTables))
    return made


def slow(clock: Clock, wrong: bool = False) -> Open:
    class Slow(Recomputing):
        def __init__(self) -> None:
            clock.work("engine", 1)
            super().__init__()

        def refresh(self, table: str, timestamp: int) -> Notes | None:
            clock.work("engine", 10)
            if not (wrong and self.db.table(table).fetchall()):
                super().refresh(table, timestamp)
            return None

        def rows(self, name: str, columns: Sequence[Column]) -> Iterator[Row]:  # type: ignore[override]
            for row in super().rows(name, columns):
                clock.work("engine", 2)
                yield row

        def close(self) -> None:
            clock.work("engine", 5)
            super().close()

    return Slow


def test_the_time_of_an_engine_is_that_of_its_methods_alone(clock: Clock) -> None:
    outcome = lane(slow(clock)).judge(shop())
    assert outcome.times == {
        "engine": clock.worked["engine"],
        "drive": clock.worked["statements"],
        "judge": clock.worked["truth"],
    }
    assert sum(outcome.times.values()) == outcome.seconds


def test_votes_are_the_time_of_the_engine_too(clock: Clock) -> None:
    outcome = lane(slow(clock, wrong=True)).judge(shop())
    assert outcome.findings
    assert outcome.times["engine"] == clock.worked["engine"]
    assert sum(outcome.times.values()) == outcome.seconds == clock()


@pytest.mark.parametrize(("tier", "shown"), [("adapter:toy:Toy", True), ("rules", False)])
def test_the_summary_of_an_adapter_says_whose_the_time_was(
    tier: str, shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally(times={"judge": 3.0, "engine": 6.0, "generate": 1.0})
    print_summary(tally.summary(1, tier, SMOKE, 12.0, ()), Path())
    assert ("engine 60%, judge 30%, generate 10%" in capsys.readouterr().out) is shown
