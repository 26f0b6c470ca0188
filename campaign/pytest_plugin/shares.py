"""How a budget of scenarios is split over workers: each has a range of its own, and nothing runs twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from generators.generate import scenario_at
from generators.profiles import Profile
from workload.scenario import Scenario

APART = 1_000_000
"""Between the first scenarios of two shares of a time budget: more than one can ever run."""


@dataclass(frozen=True, slots=True)
class Share:
    """Part `number` (from 0) of `of` equal parts of a budget."""

    number: int = 0
    of: int = 1

    def indices(self, scenarios: int | None) -> range:
        """Its scenarios, of so many in all; of a time budget, more than there is time for."""
        if scenarios is None:
            return range(self.number * APART, (self.number + 1) * APART)
        return range(scenarios * self.number // self.of, scenarios * (self.number + 1) // self.of)

    def seconds(self, budget: float) -> float:
        """Its part of a time budget."""
        return budget / self.of


def seeded(
    seed: int,
    profile: Profile,
    indices: range,
    seconds: float | None,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[Scenario]:
    """Scenarios in order until the time is spent (None: all of them), but one in any case."""
    end = None if seconds is None else now() + seconds
    for index in indices:
        if end is not None and index > indices.start and now() >= end:
            return
        yield scenario_at(seed, profile, index)
