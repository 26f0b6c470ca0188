"""Scenarios to shrink: one written by hand with every class of the vocabulary, some random ones."""

from __future__ import annotations

from collections.abc import Iterator

from generators.generate import scenario_at
from generators.profiles import SMOKE
from shrink.admit import admissible, tidied
from shrink.reduction import Reduction
from shrink.weight import weight
from tests.unit.workload.shop import SHOP
from workload.dml import Dml
from workload.scenario import Commit, Refresh, Scenario


def random_scenario(index: int) -> Scenario:
    """A scenario of the smoke profile."""
    return scenario_at(2024, SMOKE, index)


SAMPLES = (SHOP, *(random_scenario(index) for index in range(6)))


def offered(scenario: Scenario, reduction: Reduction) -> Iterator[Scenario]:
    """The candidates of a reduction for which an attempt would be spent."""
    for candidate in reduction.candidates(scenario):
        candidate = tidied(candidate)
        if admissible(candidate) and weight(candidate) < weight(scenario):
            yield candidate


def statements_of(scenario: Scenario) -> list[Dml]:
    """All statements in order."""
    return [s for step in scenario.steps if isinstance(step, Commit) for s in step.statements]


def refreshes_of(scenario: Scenario) -> list[Refresh]:
    """The refreshes that the scenario asks for."""
    return [step for step in scenario.steps if isinstance(step, Refresh)]
