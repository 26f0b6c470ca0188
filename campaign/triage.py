"""From a scenario that failed to the smallest one that fails the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from campaign.lanes import Lane
from campaign.shrink import Shrunk, shrink
from campaign.shrink.search import key_of
from workload.results import Outcome, OutcomeClass
from workload.scenario import Scenario

SHRINKABLE = (OutcomeClass.PRODUCT_FAILURE, OutcomeClass.DIVERGENCE)
"""The failures that are the product's or the engines' own; a smaller scenario shows them better."""

CANONICAL_SHARE = 0.5
"""Of the attempts, how many may be left to the second search at least."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smallest scenario found and its outcome. `minimal`: nothing is left to take away."""

    scenario: Scenario
    outcome: Outcome
    minimal: bool


@dataclass(slots=True)
class Progress:
    """How far a search has come: the smallest scenario so far, and the candidates that either search tried.

    Given to a later search, it goes on from there.
    """

    scenario: Scenario
    alike: set[bytes] = field(default_factory=set)
    other: set[bytes] = field(default_factory=set)


def same_class(first: Outcome, second: Outcome) -> bool:
    """Whether two outcomes fail alike: the same class, by the same first check."""
    return (first.outcome, first.killer) == (second.outcome, second.killer)


def smallest(
    lane: Lane,
    scenario: Scenario,
    outcome: Outcome,
    attempts: int,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Reduced:
    """The scenario shrunk with its failure's class kept.

    First the failed check is kept too. A smaller scenario may fail another check first: one cause shows in
    several, by the data. So a second search goes on from there and takes any product failure; it makes the
    results of one cause alike, and starts where little is left that another cause could hide in. Once
    `stop()` says so, no candidate is run. `progress` is kept up to date, so that an
    interrupted search loses nothing.
    """
    if outcome.outcome not in SHRINKABLE:
        return Reduced(scenario, outcome, False)

    progress = progress or Progress(scenario)

    def search(tried: set[bytes], alike: Callable[[Outcome], bool], most: int) -> Shrunk:
        def fails(candidate: Scenario) -> bool:
            if stop():
                return False
            failed = alike(lane.judge(candidate))
            tried.add(key_of(candidate))
            if failed:
                progress.scenario = candidate
            return failed

        return shrink(progress.scenario, fails, attempts=most, tried=frozenset(tried))

    found = search(progress.alike, lambda candidate: same_class(outcome, candidate), attempts)
    if outcome.outcome is OutcomeClass.PRODUCT_FAILURE and found.complete:
        left = max(attempts - found.attempts, int(attempts * CANONICAL_SHARE))
        found = search(progress.other, lambda candidate: candidate.outcome is outcome.outcome, left)
    minimal = found.complete and not stop()
    return Reduced(found.scenario, lane.judge(found.scenario), minimal)


def replayed(lane: Lane, scenario: Scenario, outcome: Outcome) -> Outcome:
    """A failure as it comes out when it is run once more: FLAKY, with what was seen first, if it does not."""
    again = lane.judge(scenario)
    if again.outcome is outcome.outcome:
        return outcome
    reason = f"failed once, then {again.outcome.value}; first: {outcome.reason}"
    return replace(outcome, outcome=OutcomeClass.FLAKY, reason=reason)
