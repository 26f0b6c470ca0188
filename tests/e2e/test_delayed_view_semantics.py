"""The main property: every refresh of every random dynamic table is its query at the data timestamp."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from generators.strategies import scenarios
from tests.depth import examples
from tests.in_memory import in_memory
from workload.outcomes.results import Check, OutcomeClass
from workload.scenario import Scenario


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(scenarios())
def test_dynamic_tables_are_delayed_views(scenario: Scenario) -> None:
    outcome = Lane(engine=in_memory(), fresh_percent=100).judge(scenario)
    assert outcome.outcome is OutcomeClass.PASSED, (outcome.reason, outcome.findings)


def test_the_property_bites() -> None:
    """A planted fault is found by the same lane within a few dozen scenarios."""
    from generators.generate import scenario_at
    from generators.profiles import SMOKE

    faulty = LaneSpec(tier="rules", faults=("join-both-at-t1",), validations=False).build()
    outcomes = (faulty.judge(scenario_at(3, SMOKE, index)) for index in range(60))
    failed = next(outcome for outcome in outcomes if outcome.outcome is not OutcomeClass.PASSED)
    assert failed.outcome is OutcomeClass.PRODUCT_FAILURE
    assert failed.killer in (Check.INVARIANT_1, Check.INVARIANT_2, Check.INVARIANT_3, Check.EQUALITY)
