"""Planted faults share the time there is: one that survives its share is hunted on with what others leave."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from campaign import mutation
from campaign.mutation import Hunt, Kill, Verdict, hunt_all
from campaign.shrink import size
from generators.profiles import SMOKE
from tests.unit.workload.shop import SHOP
from workload.results import Check

KILL = Kill(killer=Check.EQUALITY, index=0, reproduction=SHOP, size=size(SHOP))


@contextmanager
def one_thread(tier: str, workers: int) -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def hunted(monkeypatch: pytest.MonkeyPatch, needed: int, budget: float) -> tuple[Verdict, list[Hunt]]:
    """A fault that takes so many scenarios to be seen, two of them in each hunt, however long that is."""
    asked: list[Hunt] = []

    def hunt(task: Hunt) -> Verdict:
        asked.append(task)
        time.sleep(0.05)
        kill = KILL if task.first + 2 >= needed else None
        return Verdict(fault=task.fault, scenarios=2, seconds=0.05, kill=kill)

    monkeypatch.setattr(mutation, "workers_for", one_thread)
    monkeypatch.setattr(mutation, "hunt", hunt)
    (verdict,) = hunt_all(
        ("empty-group-kept",), tier="rules", seed=1, profile=SMOKE, budget=budget, workers=1, attempts=0
    )
    return verdict, asked


def test_a_survivor_is_hunted_until_it_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, asked = hunted(monkeypatch, needed=7, budget=60)
    assert [task.first for task in asked] == [0, 2, 4, 6]
    assert verdict.kill is KILL
    assert verdict.scenarios == 8


def test_not_beyond_the_time_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, asked = hunted(monkeypatch, needed=1_000, budget=mutation.WORTHWHILE + 0.3)
    assert verdict.kill is None
    assert 2 <= len(asked) < 12
    assert verdict.scenarios == 2 * len(asked)
