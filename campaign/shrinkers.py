"""Shrinking many failures at once: processes for the in-memory tier, one thread where one JVM serves all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

from campaign.lanes import Lane, LaneSpec
from campaign.runner import ignore_interrupts
from campaign.triage import Reduced, replayed, smallest
from workload.results import Outcome
from workload.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Task:
    """One failure to shrink. `deadline`: seconds since the epoch after which no further candidate is run."""

    index: int
    scenario: Scenario
    outcome: Outcome
    attempts: int
    deadline: float


Shrink = Callable[[Iterator[Task]], Iterator[tuple[int, Reduced]]]
"""Takes tasks as workers become free, gives results as they come. Ends early if a worker dies."""


@contextmanager
def shrinkers(spec: LaneSpec, workers: int) -> Iterator[Shrink]:
    """A function that shrinks failures on the workers of a lane."""
    pool: Executor
    lane: Lane | None = None
    if spec.tier == "rules":
        context = get_context("spawn")
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=ignore_interrupts)
    else:
        workers, lane = 1, spec.build()
        pool = ThreadPoolExecutor(workers)

    def submit(task: Task) -> Future[Reduced]:
        if lane is None:
            return pool.submit(reduce_in_process, spec, task)
        return pool.submit(reduce, lane, task)

    def results(tasks: Iterator[Task]) -> Iterator[tuple[int, Reduced]]:
        running = {submit(task): task.index for task in islice(tasks, workers)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                index = running.pop(future)
                try:
                    yield index, future.result()
                except BrokenExecutor:
                    # The worker is gone; what was not shrunk is reported as it was found.
                    return
                running.update({submit(task): task.index for task in islice(tasks, 1)})

    try:
        yield results
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def reduce(lane: Lane, task: Task) -> Reduced:
    """Runs a failure again, then shrinks it."""
    outcome = replayed(lane, task.scenario, task.outcome)
    return smallest(lane, task.scenario, outcome, task.attempts, deadline=task.deadline)


def reduce_in_process(spec: LaneSpec, task: Task) -> Reduced:
    """`reduce` in a process of its own: the lane is built there, for rules do not travel."""
    return reduce(spec.build(), task)
