"""Hypothesis strategies over the same generator code that campaigns run."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generators.choices import Choices
from generators.fitting import fitted
from generators.generate import generate
from generators.profiles import QUICK, Profile
from workload.limits import NO_LIMITS, Limits
from workload.scenario import Scenario


class DrawnChoices(Choices):
    """Decisions that Hypothesis draws, shrinks, and stores in its example database."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """Returns an integer between two bounds, both included, which shrinks towards `low`."""
        return self._draw(st.integers(low, high))


@st.composite
def _scenarios(draw: DrawFn, profile: Profile) -> Scenario:
    return generate(DrawnChoices(draw), profile, "hypothesis")


def scenarios(profile: Profile = QUICK, limits: Limits = NO_LIMITS) -> SearchStrategy[Scenario]:
    """Returns the Hypothesis strategy of random scenarios: `@given(scenarios())`.

    `limits`: what the engine under test can do; scenarios are reduced to that.
    """
    return _scenarios(profile if limits == NO_LIMITS else fitted(profile, limits))
