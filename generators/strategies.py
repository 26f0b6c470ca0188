"""Hypothesis strategies over the same generator code that campaigns run."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generators.choices import Choices
from generators.fitting import fitted
from generators.generate import generate
from generators.limits import NO_LIMITS, Limits
from generators.profiles import QUICK, Profile
from workload.scenario import Scenario


class DrawnChoices(Choices):
    """Decisions that Hypothesis draws, shrinks and stores."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """An integer that shrinks towards `low`."""
        return self._draw(st.integers(low, high))


@st.composite
def _scenarios(draw: DrawFn, profile: Profile) -> Scenario:
    return generate(DrawnChoices(draw), profile, "hypothesis")


def scenarios(profile: Profile = QUICK, limits: Limits = NO_LIMITS) -> SearchStrategy[Scenario]:
    """Random scenarios: `@given(scenarios())`; `limits`: those of the engine that is tested."""
    return _scenarios(profile if limits == NO_LIMITS else fitted(profile, limits))
