"""Shrinks many failures at once on the workers of a lane."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from campaign.failures.triage import Reduced, replayed, smallest
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Worker, WorkerDied, completed, pool_for
from workload.outcomes.results import Outcome
from workload.scenario import Scenario

CHEAP_ATTEMPTS = 400
"""Runs that shrinking in memory may take, before it goes on on the failure's own tier."""


@dataclass(frozen=True, slots=True)
class ShrinkTask:
    """One failure to shrink. `deadline`: seconds since the epoch after which no further candidate runs."""

    index: int
    scenario: Scenario
    outcome: Outcome
    attempts: int
    deadline: float


class ShrunkFailure(NamedTuple):
    """The number of a failed scenario, and what its failure was shrunk to."""

    number: int
    reduced: Reduced


class Shrink(Protocol):
    """Shrinks failures, each when a worker is free. Ends early if a worker process dies."""

    def __call__(self, tasks: Iterator[ShrinkTask], /) -> Iterator[ShrunkFailure]:
        """Returns the shrunk failures in the order in which they are finished."""


@contextmanager
def shrinkers(spec: LaneSpec, workers: int) -> Iterator[Shrink]:
    """Yields a function that shrinks failures on the workers of a lane; an exception in the block stops them.

    A lane whose engine is shared by threads has one worker, so that searches do not wait for each other.
    """
    size = workers if spec.engine_tier.processes else 1
    with pool_for(spec, size) as pool:
        pool.prepare(spec)

        def shrink(tasks: Iterator[ShrinkTask]) -> Iterator[ShrunkFailure]:
            for task, future in completed(tasks, lambda task: pool.submit(reduced_in, spec, task), size):
                try:
                    yield ShrunkFailure(task.index, _result(future, task))
                except WorkerDied:
                    # The remaining failures are reported as they are, not shrunk.
                    return

        yield shrink


def _result(future: Future[Reduced], task: ShrinkTask) -> Reduced:
    """Returns what a worker shrank a failure to. Raises WorkerDied."""
    try:
        return future.result()
    except WorkerDied:
        raise
    except Exception as error:  # noqa: BLE001  # a bug in shrinking must not cost the failure itself
        reason = f"{task.outcome.reason} (shrinking broke: {type(error).__name__}: {error})"
        return Reduced(task.scenario, replace(task.outcome, reason=reason), False)


def reduced_in(worker: Worker, spec: LaneSpec, task: ShrinkTask) -> Reduced:
    """Runs a failure again, then shrinks it, and returns the result.

    A failure of a slow tier that shows in memory too is shrunk there first. That result counts only if it
    fails on the slow tier as well, on which shrinking then goes on.
    """

    def stop() -> bool:
        return worker.stopped() or time.time() >= task.deadline

    lane = worker.lane(spec)
    scenario = task.scenario
    outcome = replayed(lane, scenario, task.outcome)
    if not spec.engine_tier.processes and outcome.shrinkable:
        cheap = worker.lane(replace(spec, tier="rules"))
        in_memory = cheap.judge(scenario)
        if in_memory.outcome is outcome.outcome:
            small = smallest(cheap, scenario, in_memory, CHEAP_ATTEMPTS, stop=stop).scenario
            small_outcome = lane.judge(small)
            if small_outcome.outcome is outcome.outcome:
                scenario, outcome = small, small_outcome
    return smallest(lane, scenario, outcome, task.attempts, stop=stop)
