"""Running a campaign: scenarios by index over workers, within a count or a time budget."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from multiprocessing import get_context

from campaign.errors import CampaignError
from campaign.lanes import Lane, LaneSpec
from campaign.lifting import LiftedLane, lane_of
from campaign.tally import covered
from generators.generate import scenario_at
from generators.profiles import Profile
from workload.results import Outcome, OutcomeClass

LASTING_SECONDS = 300.0

LASTING_SCENARIOS = 300
"""What Spark gets through in that time, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run: everything that decides which scenarios there are. The budget only decides how many run.

    `scenarios`: how many; None with a `budget` in seconds. `done`: indices that are judged already.
    `master`: an existing Spark cluster, `spark://host:port`, to judge on; empty: here.
    """

    seed: int
    profile: Profile
    scenarios: int | None = None
    budget: float | None = None
    workers: int = 2
    first: int = 0
    done: frozenset[int] = frozenset()
    master: str = ""

    @property
    def lasting(self) -> bool:
        """Whether it takes many minutes: what starts slower and runs faster is worth it then."""
        if self.budget is not None:
            return self.budget >= LASTING_SECONDS
        return self.scenarios is not None and self.scenarios - len(self.done) >= LASTING_SCENARIOS


@dataclass(frozen=True, slots=True)
class Judged:
    """One scenario's result."""

    index: int
    outcome: Outcome
    coverage: Mapping[str, int]


def begin_worker() -> None:
    """In a worker process: it ignores interrupts, and does not outlive its parent.

    Ctrl-C reaches the whole process group; the parent alone decides what becomes of it. A parent that was
    killed decides nothing any more, and a worker would wait for it for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_with_parent()


def end_with_parent() -> None:
    """In a worker process: it ends when its parent has ended, however that was."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def judge_in_process(spec: LaneSpec, seed: int, profile: Profile, indices: Sequence[int]) -> list[Judged]:
    """`judge_chunk` in a process of its own: the lane is built there, for rules do not travel."""
    return judge_chunk(lane_of(spec), seed, profile, indices)


def judge_chunk(lane: Lane | LiftedLane, seed: int, profile: Profile, indices: Sequence[int]) -> list[Judged]:
    """Generates and judges some scenarios."""
    judged = []
    for index in indices:
        start = time.perf_counter()
        scenario = scenario_at(seed, profile, index)
        generated = time.perf_counter() - start
        outcome, ran = lane.take(scenario)
        outcome = replace(outcome, times={"generate": generated, **outcome.times})
        judged.append(Judged(index, outcome, covered(ran)))
    return judged


Submit = Callable[[Sequence[int]], "Future[list[Judged]]"]


@contextmanager
def workers_for(plan: Plan, spec: LaneSpec) -> Iterator[Submit]:
    """Processes for the in-memory tier, threads where one JVM serves all, or tasks on a cluster."""
    pool: Executor
    if plan.master:
        with on_cluster(plan, spec) as submit_there:
            yield submit_there
        return
    if spec.kind.processes:
        context = get_context("spawn")
        pool = ProcessPoolExecutor(plan.workers, mp_context=context, initializer=begin_worker)
    else:
        pool = ThreadPoolExecutor(plan.workers)
        lane = lane_of(spec, lasting=plan.lasting)

    def submit(indices: Sequence[int]) -> Future[list[Judged]]:
        if isinstance(pool, ProcessPoolExecutor):
            return pool.submit(judge_in_process, spec, plan.seed, plan.profile, indices)
        return pool.submit(judge_chunk, lane, plan.seed, plan.profile, indices)

    try:
        yield submit
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def on_cluster(plan: Plan, spec: LaneSpec) -> Iterator[Submit]:
    """Chunks as tasks on an existing Spark cluster; Spark decides how many run at once.

    Raises CampaignError where it cannot be reached, goes away, or the tier is not one that travels.
    """
    # Imported here: it loads pyspark.
    from campaign.tiers.cluster import Cluster

    if not spec.kind.processes:
        raise CampaignError(
            f"tier {spec.tier} runs on a Spark of its own; --master is for the in-memory tier"
        )
    cluster = Cluster.join(plan.master)

    def judge(indices: Sequence[int]) -> list[Judged]:
        return cluster.call(judge_in_process, spec, plan.seed, plan.profile, tuple(indices))

    with ThreadPoolExecutor(plan.workers) as pool:
        yield lambda indices: pool.submit(judge, indices)


def run(plan: Plan, spec: LaneSpec) -> Generator[Judged]:
    """Results as they come, each scenario once.

    With a budget no chunk starts after it is spent; the chunks under way are finished and counted. Where a
    worker process dies, what was under way is judged again, each scenario alone; one on which the worker
    dies again is an infrastructure failure.
    """
    deadline = None if plan.budget is None else time.monotonic() + plan.budget
    chunks = _in_time(_chunks(plan, spec.kind.chunk), deadline)
    while lost := (yield from _while_workers_live(plan, spec, chunks)):
        yield from _one_by_one(plan, spec, lost)


def _while_workers_live(
    plan: Plan, spec: LaneSpec, chunks: Iterator[Sequence[int]]
) -> Generator[Judged, None, list[int]]:
    """Results until the chunks are done, or a worker dies; returns the scenarios that were lost then."""
    running: dict[Future[list[Judged]], Sequence[int]] = {}
    lost: list[int] = []
    with workers_for(plan, spec) as submit:
        while True:
            while not lost and len(running) < plan.workers + 1 and (chunk := next(chunks, None)) is not None:
                try:
                    running[submit(chunk)] = chunk
                except BrokenProcessPool:
                    lost.extend(chunk)
            if not running:
                return sorted(lost)
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                chunk = running.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    lost.extend(chunk)


def _one_by_one(plan: Plan, spec: LaneSpec, indices: Iterable[int]) -> Iterator[Judged]:
    """Scenarios one at a time in one worker process, so that it is known on which of them it dies."""
    left = deque(indices)
    while left:
        with workers_for(replace(plan, workers=1), spec) as submit:
            try:
                while left:
                    yield from submit((left[0],)).result()
                    left.popleft()
            except BrokenProcessPool:
                yield _not_judged(plan, left.popleft(), "the worker process died on this scenario, twice")


def _not_judged(plan: Plan, index: int, reason: str) -> Judged:
    scenario = scenario_at(plan.seed, plan.profile, index)
    outcome = Outcome(scenario=scenario.name, outcome=OutcomeClass.INFRASTRUCTURE_FAILURE, reason=reason)
    return Judged(index, outcome, covered(scenario))


def _in_time(chunks: Iterator[Sequence[int]], deadline: float | None) -> Iterator[Sequence[int]]:
    while deadline is None or time.monotonic() < deadline:
        chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


def _chunks(plan: Plan, size: int) -> Iterator[Sequence[int]]:
    every = count(plan.first) if plan.scenarios is None else range(plan.first, plan.first + plan.scenarios)
    left = (index for index in every if index not in plan.done)
    while chunk := tuple(islice(left, size)):
        yield chunk
