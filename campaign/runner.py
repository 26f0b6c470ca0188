"""Running a campaign: scenarios by index over workers, within a count or a time budget."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from multiprocessing import get_context

from campaign.lanes import Lane, LaneSpec
from campaign.tally import covered
from generators.generate import scenario_at
from generators.profiles import Profile
from workload.results import Outcome

CHUNK = 4
"""Scenarios a worker takes at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run: everything that decides which scenarios there are. The budget only decides how many run.

    `scenarios`: how many; None with a `budget` in seconds.
    """

    seed: int
    profile: Profile
    scenarios: int | None = None
    budget: float | None = None
    workers: int = 2
    first: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """One scenario's result."""

    index: int
    outcome: Outcome
    coverage: Mapping[str, int]


def ignore_interrupts() -> None:
    """In a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def judge_in_process(spec: LaneSpec, seed: int, profile: Profile, indices: range) -> list[Judged]:
    """`judge_chunk` in a process of its own: the lane is built there, for rules do not travel."""
    return judge_chunk(spec.build(), seed, profile, indices)


def judge_chunk(lane: Lane, seed: int, profile: Profile, indices: range) -> list[Judged]:
    """Generates and judges some scenarios."""
    judged = []
    for index in indices:
        scenario = scenario_at(seed, profile, index)
        judged.append(Judged(index, lane.judge(scenario), covered(scenario)))
    return judged


Submit = Callable[[range], "Future[list[Judged]]"]


@contextmanager
def workers_for(plan: Plan, spec: LaneSpec) -> Iterator[Submit]:
    """Processes for the in-memory tier, threads where one JVM serves all."""
    pool: Executor
    if spec.tier == "rules":
        # Ctrl-C reaches the whole process group; the parent alone decides what becomes of it.
        context = get_context("spawn")
        pool = ProcessPoolExecutor(plan.workers, mp_context=context, initializer=ignore_interrupts)
    else:
        pool = ThreadPoolExecutor(plan.workers)
        lane = spec.build()

    def submit(indices: range) -> Future[list[Judged]]:
        if isinstance(pool, ProcessPoolExecutor):
            return pool.submit(judge_in_process, spec, plan.seed, plan.profile, indices)
        return pool.submit(judge_chunk, lane, plan.seed, plan.profile, indices)

    try:
        yield submit
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run(
    plan: Plan, spec: LaneSpec, stop: Callable[[Judged], bool] = lambda judged: False
) -> Iterator[Judged]:
    """Results as they come, each scenario once. `stop`: end early after this result.

    With a budget no chunk starts after it is spent; the chunks under way are finished and counted.
    """
    deadline = None if plan.budget is None else time.monotonic() + plan.budget
    chunks = _chunks(plan, CHUNK if spec.tier == "rules" else 1)
    running: set[Future[list[Judged]]] = set()
    stopped = False
    with workers_for(plan, spec) as submit:
        while True:
            while not stopped and len(running) < plan.workers + 1:
                chunk = None if deadline is not None and time.monotonic() >= deadline else next(chunks, None)
                if chunk is None:
                    stopped = True
                    break
                running.add(submit(chunk))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                for judged in future.result():
                    yield judged
                    stopped = stopped or stop(judged)


def _chunks(plan: Plan, size: int) -> Iterator[range]:
    end = None if plan.scenarios is None else plan.first + plan.scenarios
    for start in count(plan.first, size):
        if end is not None and start >= end:
            return
        yield range(start, start + size if end is None else min(start + size, end))
