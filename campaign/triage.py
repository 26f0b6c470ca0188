"""From a scenario that failed to the smallest one that fails the same way."""

from __future__ import annotations

from campaign.lanes import Lane
from campaign.shrink import shrink
from workload.results import Outcome, OutcomeClass
from workload.scenario import Scenario


def same_class(first: Outcome, second: Outcome) -> bool:
    """Whether two outcomes fail alike: the same class, by the same first check."""
    return (first.outcome, first.killer) == (second.outcome, second.killer)


def smallest(lane: Lane, scenario: Scenario, outcome: Outcome, attempts: int) -> tuple[Scenario, Outcome]:
    """The scenario shrunk with its failure's class kept, and the outcome of the result."""
    if outcome.outcome not in (OutcomeClass.PRODUCT_FAILURE, OutcomeClass.DIVERGENCE):
        return scenario, outcome
    found = shrink(scenario, lambda candidate: same_class(outcome, lane.judge(candidate)), attempts=attempts)
    return found.scenario, lane.judge(found.scenario)
