"""Runs the scenarios of a plan on workers or on a cluster, until all are judged or the time is up."""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile

from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import MOST_MEMORY, Worker, WorkerDied, completed, in_worker_process, pool_for
from campaign.runs.goals import goals_met
from campaign.runs.plan import CampaignPlan, JudgedScenario
from campaign.runs.tally import covered
from engines.engine import METHODS
from engines.registry import find_adapter
from generators.generate import scenario_at
from generators.profiles import Profile
from workload.limits import NO_LIMITS, Limits
from workload.outcomes.results import ENGINE_DIED, Check, Finding, Outcome, OutcomeClass
from workload.scenario import Scenario


def judge_chunk(
    worker: Worker, spec: LaneSpec, lasting: bool, seed: int, profile: Profile, indices: Sequence[int]
) -> list[JudgedScenario]:
    """Generates and judges the scenarios of some indices in a worker; returns their results.

    A worker gets indices in place of scenarios, because seed, profile and index decide a scenario.
    """
    lane = worker.lifted_lane(spec, lasting=lasting)
    asks = _limits_that_ask(spec) is not None
    judged = []
    for index in indices:
        start = time.perf_counter()
        cut: Counter[str] | None = None if profile.limits == NO_LIMITS else Counter()
        scenario = scenario_at(seed, profile, index, cut)
        generated = time.perf_counter() - start
        outcome, ran = lane.judge_as_run(scenario)
        # `ran` is the scenario as the engine ran it: lifted where the lane lifts.
        outcome = replace(outcome, times={"generate": generated, **outcome.times})
        coverage = covered(ran)
        coverage.update(cut or {})
        if profile.given is not None:
            coverage.update(goals_met(profile.given, ran))
        keep = asks and outcome.outcome is not OutcomeClass.PASSED
        judged.append(JudgedScenario(index, outcome, coverage, scenario if keep else None))
    return judged


def _limits_that_ask(spec: LaneSpec) -> Limits | None:
    """Returns the limits of a lane's adapter where they ask the engine what it takes; None: they do not."""
    limits = find_adapter(spec.adapter).capabilities.limits if spec.adapter else NO_LIMITS
    return limits if limits.asks else None


@dataclass(frozen=True, slots=True)
class Judging:
    """What judges chunks of a plan.

    `submit`: starts judging the scenarios of some indices; raises WorkerDied. `grew`, `hung`: as those of
    `Pool`.
    """

    submit: Callable[[Sequence[int]], Future[list[JudgedScenario]]]
    grew: Callable[[], bool] = lambda: False
    hung: Callable[[], str] = str


@contextmanager
def judging(plan: CampaignPlan, spec: LaneSpec) -> Iterator[Judging]:
    """Opens what judges chunks of a plan: a pool of workers here, or tasks on a cluster."""
    arguments = (spec, plan.lasting, plan.seed, plan.profile)
    if plan.master:
        with on_cluster(plan, spec) as call, ThreadPoolExecutor(plan.workers) as pool:
            yield Judging(lambda indices: pool.submit(call, judge_chunk, *arguments, tuple(indices)))
        return
    with pool_for(spec, plan.workers) as workers:
        workers.prepare(spec, lasting=plan.lasting)

        def submit(indices: Sequence[int]) -> Future[list[JudgedScenario]]:
            return workers.submit(judge_chunk, *arguments, indices)

        yield Judging(submit, workers.grew, workers.hung)


@contextmanager
def on_cluster(plan: CampaignPlan, spec: LaneSpec) -> Iterator[Callable[..., list[JudgedScenario]]]:
    """Yields a function that runs one task on an existing Spark cluster; Spark decides how many run at once.

    Raises CampaignError where the cluster does not answer, or the tier cannot run there.
    """
    # Imported here, because it loads pyspark.
    from campaign.runs.cluster import Cluster

    if not (spec.engine_tier.processes and spec.engine_tier.built_in):
        raise CampaignError(
            f"--master does not work with tier {spec.tier}, which starts its own engine; use --tier rules"
        )
    cluster = Cluster.join(plan.master)
    yield lambda *task: cluster.call(in_worker_process, *task)


def run(plan: CampaignPlan, spec: LaneSpec) -> Generator[JudgedScenario]:
    """Yields the result of each scenario of a plan, once, as soon as it is known.

    When a time budget is spent, no new chunk starts; the chunks under way are finished and counted. Where a
    worker process dies, the scenarios under way are judged again, one at a time; a scenario on which the
    worker dies again is an infrastructure failure, or a product failure of an engine that is not built in. A
    scenario that takes too much memory, or in which a call never returns, is an infrastructure failure in any
    case.
    """
    deadline = None if plan.budget is None else time.monotonic() + plan.budget
    chunks = takewhile(
        lambda _: deadline is None or time.monotonic() < deadline, plan.chunks(spec.engine_tier.chunk)
    )
    while lost := (yield from _until_a_worker_dies(plan, spec, chunks)):
        yield from _one_by_one(plan, spec, lost)


def _until_a_worker_dies(
    plan: CampaignPlan, spec: LaneSpec, chunks: Iterator[Sequence[int]]
) -> Generator[JudgedScenario, None, list[int]]:
    """Yields results until the chunks end or a worker dies; returns the indices whose results were lost."""
    lost: list[int] = []
    with judging(plan, spec) as judge:
        for chunk, future in completed(chunks, judge.submit, plan.workers + 1):
            try:
                yield from future.result()
            except WorkerDied:
                lost.extend(chunk)
    return sorted(lost)


def _one_by_one(plan: CampaignPlan, spec: LaneSpec, indices: Iterable[int]) -> Iterator[JudgedScenario]:
    """Judges scenarios one at a time, to find the one on which the worker dies; yields their results."""
    remaining = deque(indices)
    while remaining:
        with judging(replace(plan, workers=1), spec) as judge:
            try:
                while remaining:
                    yield from judge.submit((remaining[0],)).result()
                    remaining.popleft()
            except WorkerDied:
                not_judged = _not_judged(grew=judge.grew(), hung=judge.hung())
                yield _died(plan, spec, remaining.popleft(), not_judged)


def _not_judged(*, grew: bool, hung: str) -> str:
    """Returns why a worker was ended by the harness itself; "" where it was not. Arguments: as of `Pool`."""
    if grew:
        # Engine and judge share the process: whose memory it was is not known.
        return f"the scenario takes more than {MOST_MEMORY >> 20:,} MiB of memory, and was not judged"
    if hung:
        # The thread that ran the scenario is the last one that is listed; its newest call stands first.
        stack = hung.rpartition("most recent call first")[2]
        calls = re.findall(r'File "(.+)", line (\d+) in (\w+)', stack)
        where = next(
            (f" in {name} ({file}, line {line})" for file, line, name in calls if name in METHODS), ""
        )
        return f"a call did not return{where}, and nothing interrupted it: its process was ended"
    return ""


def _died(plan: CampaignPlan, spec: LaneSpec, index: int, not_judged: str) -> JudgedScenario:
    """Returns the result of a scenario on which the worker has died twice. `not_judged`: as `_not_judged`."""
    scenario = _drawn_again(plan, spec, index)
    outcome = Outcome(
        scenario=scenario.name,
        outcome=OutcomeClass.INFRASTRUCTURE_FAILURE,
        reason=not_judged or "the worker process died on this scenario, twice",
        reproduction=None if spec.engine_tier.built_in else scenario,
    )
    if not not_judged and not spec.engine_tier.built_in:
        # The harness runs the built-in engine by the same code, so the engine ended the process.
        last = len(scenario.steps) - 1
        tables = scenario.dynamic_tables
        finding = Finding(
            check=Check.REFRESH_ERROR,
            table=tables[-1].name if tables else "",
            step=last,
            timestamp=scenario.steps[last].at,
            message=ENGINE_DIED,
        )
        reason = f"{finding.check.value}: {ENGINE_DIED}"
        outcome = replace(outcome, outcome=OutcomeClass.PRODUCT_FAILURE, findings=(finding,), reason=reason)
    return JudgedScenario(index, outcome, covered(scenario))


def _drawn_again(plan: CampaignPlan, spec: LaneSpec, index: int) -> Scenario:
    """Returns the scenario on which a worker has died.

    Limits that ask the engine may end the process that draws, so another one draws. If that dies too, a query
    that was asked is the cause: the scenario is then drawn without asking, with that query.
    """
    profile = plan.profile
    if (limits := _limits_that_ask(spec)) is None:
        return scenario_at(plan.seed, profile, index)
    with pool_for(spec, 1) as workers:
        try:
            return workers.submit(_drawn, plan.seed, profile, index).result()
        except WorkerDied:
            unasked = replace(profile, limits=replace(limits, asks=False))
            return scenario_at(plan.seed, unasked, index)


def _drawn(_worker: Worker, seed: int, profile: Profile, index: int) -> Scenario:
    """Returns a scenario, for a worker process that draws it."""
    return scenario_at(seed, profile, index)
