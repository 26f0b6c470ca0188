"""Two ways to test an engine; run `pytest examples/toy_engine`. The toy fails, the mended one passes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from toy import MendedToy, Toy

from dvs import assert_delayed_view_semantics, scenarios


@pytest.mark.dvs(engine=Toy)
def test_toy(dvs_scenarios):
    """Seeded scenarios until `--dvs-budget` is spent; a failure is shrunk."""
    for scenario in dvs_scenarios:
        assert_delayed_view_semantics(Toy, scenario)


@pytest.mark.dvs(engine=MendedToy)
def test_mended_toy(dvs_scenarios):
    for scenario in dvs_scenarios:
        assert_delayed_view_semantics(MendedToy, scenario)


@settings(max_examples=5, deadline=None)
@given(scenario=scenarios(limits=MendedToy.capabilities.limits))
def test_mended_toy_with_hypothesis(scenario):
    """Scenarios that Hypothesis draws, shrinks and remembers."""
    assert_delayed_view_semantics(MendedToy, scenario)
