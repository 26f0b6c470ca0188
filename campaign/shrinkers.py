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
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context

from campaign.lanes import Lane, LaneSpec
from campaign.runner import ignore_interrupts
from campaign.triage import SHRINKABLE, Reduced, replayed, smallest
from workload.results import Outcome
from workload.scenario import Scenario

CHEAP_ATTEMPTS = 400
"""Runs that shrinking on a cheaper tier may take."""


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
    cheap: Lane | None = None
    if spec.tier == "rules":
        context = get_context("spawn")
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=ignore_interrupts)
    else:
        workers, lane, cheap = 1, spec.build(), replace(spec, tier="rules").build()
        pool = ThreadPoolExecutor(workers)

    def submit(task: Task) -> Future[Reduced]:
        if lane is None:
            return pool.submit(reduce_in_process, spec, task)
        return pool.submit(reduce, lane, task, cheap)

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


def reduce(lane: Lane, task: Task, cheap: Lane | None = None) -> Reduced:
    """Runs a failure again, then shrinks it.

    `cheap`: the same engine on a cheaper tier. Where the failure shows there too, it is shrunk there first;
    what comes of it counts only if it fails on `lane`, which then has the last word on what can go.
    """
    outcome = replayed(lane, task.scenario, task.outcome)
    if cheap is None or outcome.outcome not in SHRINKABLE:
        return smallest(lane, task.scenario, outcome, task.attempts, deadline=task.deadline)
    scenario = task.scenario
    there = cheap.judge(scenario)
    if there.outcome is outcome.outcome:
        small = smallest(cheap, scenario, there, CHEAP_ATTEMPTS, deadline=task.deadline).scenario
        here = lane.judge(small)
        if here.outcome is outcome.outcome:
            scenario, outcome = small, here
    return smallest(lane, scenario, outcome, task.attempts, deadline=task.deadline)


def reduce_in_process(spec: LaneSpec, task: Task) -> Reduced:
    """`reduce` in a process of its own: the lane is built there, for rules do not travel."""
    return reduce(spec.build(), task)
