"""Shrinking many failures at once: processes for the in-memory tier, one thread where one JVM serves all."""

from __future__ import annotations

import time
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
from multiprocessing.synchronize import Event
from threading import Event as ThreadEvent

from campaign.lanes import Lane, LaneSpec
from campaign.runner import begin_worker
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


STOP: list[Event] = []
"""In a worker process: set when the run is interrupted, which a process would not hear of otherwise."""


def prepare(stop: Event) -> None:
    """In a worker process."""
    begin_worker()
    STOP.append(stop)


@contextmanager
def shrinkers(spec: LaneSpec, workers: int) -> Iterator[Shrink]:
    """A function that shrinks failures on the workers of a lane. Left by an exception, they stop at once."""
    pool: Executor
    stop: Event | ThreadEvent
    if spec.kind.processes:
        context = get_context("spawn")
        stop = context.Event()
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=prepare, initargs=(stop,))

        def submit(task: Task) -> Future[Reduced]:
            return pool.submit(reduce_in_process, spec, task)
    else:
        workers, stop = 1, ThreadEvent()
        pool = ThreadPoolExecutor(workers)
        lane, cheap = spec.build(), replace(spec, tier="rules").build()

        def submit(task: Task) -> Future[Reduced]:
            return pool.submit(reduce, lane, task, stop.is_set, cheap)

    def results(tasks: Iterator[Task]) -> Iterator[tuple[int, Reduced]]:
        running = {submit(task): task for task in islice(tasks, workers)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                try:
                    yield task.index, result_of(future, task)
                except BrokenExecutor:
                    # The worker is gone; what was not shrunk is reported as it was found.
                    return
                running.update({submit(task): task for task in islice(tasks, 1)})

    try:
        yield results
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def result_of(future: Future[Reduced], task: Task) -> Reduced:
    """What a worker found. Raises BrokenExecutor: it is gone."""
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except Exception as error:  # noqa: BLE001  # a bug in shrinking must not cost the failure itself
        reason = f"{task.outcome.reason} (shrinking broke: {type(error).__name__}: {error})"
        return Reduced(task.scenario, replace(task.outcome, reason=reason), False)


def reduce(
    lane: Lane, task: Task, stopped: Callable[[], bool] = lambda: False, cheap: Lane | None = None
) -> Reduced:
    """Runs a failure again, then shrinks it.

    `cheap`: the same engine on a cheaper tier. Where the failure shows there too, it is shrunk there first;
    what comes of it counts only if it fails on `lane`, which then has the last word on what can go.
    """

    def stop() -> bool:
        return stopped() or time.time() >= task.deadline

    outcome = replayed(lane, task.scenario, task.outcome)
    if cheap is None or outcome.outcome not in SHRINKABLE:
        return smallest(lane, task.scenario, outcome, task.attempts, stop=stop)
    scenario = task.scenario
    there = cheap.judge(scenario)
    if there.outcome is outcome.outcome:
        small = smallest(cheap, scenario, there, CHEAP_ATTEMPTS, stop=stop).scenario
        here = lane.judge(small)
        if here.outcome is outcome.outcome:
            scenario, outcome = small, here
    return smallest(lane, scenario, outcome, task.attempts, stop=stop)


def reduce_in_process(spec: LaneSpec, task: Task) -> Reduced:
    """`reduce` in a process of its own: the lane is built there, for rules do not travel."""
    return reduce(spec.build(), task, STOP[0].is_set)
