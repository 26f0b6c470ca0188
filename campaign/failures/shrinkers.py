"""Shrinks many failures at once on the workers of a lane."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

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


def shrunk_on_workers(spec: LaneSpec, workers: int, tasks: Iterator[ShrinkTask]) -> Generator[ShrunkFailure]:
    """Yields failures that the workers of a lane shrank, in the order in which they are finished.

    A lane whose engine is shared by threads has one worker, so that searches do not wait for each other. A
    candidate on which a worker process dies costs the failures that are shrunk at that moment: they are not
    yielded, and new workers go on with the others.
    """
    size = workers if spec.engine_tier.processes else 1
    died = True
    while died:
        died = False
        with pool_for(spec, size) as pool:
            pool.prepare(spec)
            submit = partial(pool.submit, reduced_in, spec)
            for task, future in completed(tasks, submit, size):
                try:
                    yield ShrunkFailure(task.index, _result(future, task))
                except WorkerDied:
                    died = True


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
