"""Mutation testing of the harness: plant a fault, see it found, shrink what found it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import TypeVar

from campaign.errors import CampaignError
from campaign.faults import FAULTS
from campaign.lanes import LaneSpec
from campaign.lifting import lane_of
from campaign.runner import end_with_parent
from campaign.shrink import shrink
from campaign.shrink.measure import Size, size
from generators.generate import scenario_at
from generators.profiles import Profile
from workload.results import Check, OutcomeClass
from workload.scenario import Scenario

HUNTING = 0.6
"""The share of a budget that goes into hunting; the rest shrinks what was found."""

WORTHWHILE = 1.0
"""Seconds that one more round should have."""

FRESH_PERCENT = 50
"""Refreshes whose row ids are compared with fresh ones: more than in a campaign, for faults in ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """How a fault was found."""

    killer: Check
    index: int
    reproduction: Scenario
    size: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one planted fault. `kill` None: it survived. `note` says what else was odd."""

    fault: str
    scenarios: int
    seconds: float
    kill: Kill | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """One fault's share of the work: from which scenario on, for how many seconds, until when at the latest.

    `kill`: what was found already, and is only to be shrunk within `attempts` runs.
    """

    fault: str
    tier: str
    seed: int
    profile: Profile
    validations: bool
    first: int = 0
    seconds: float
    deadline: float
    attempts: int = 0
    kill: Kill | None = None

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.time()

    def specs(self) -> tuple[LaneSpec, LaneSpec]:
        """The engine with the fault, and the right one."""
        right = LaneSpec(tier=self.tier, validations=self.validations, fresh_percent=FRESH_PERCENT)
        return replace(right, faults=(self.fault,)), right


def hunt(task: Hunt) -> Verdict:
    """Judges scenarios with the fault planted until one fails that the right engine passes."""
    faulty, right = task.specs()
    hunting, control = lane_of(faulty), right.build()
    start = time.perf_counter()
    index, note, kill = task.first, "", None
    while kill is None and time.perf_counter() - start < min(task.seconds, task.left):
        scenario = scenario_at(task.seed, task.profile, index)
        index += 1
        outcome, _ = hunting.take(scenario)
        found = outcome.reproduction or scenario
        match outcome.outcome:
            case OutcomeClass.PASSED:
                continue
            case OutcomeClass.PRODUCT_FAILURE if control.judge(found).outcome is OutcomeClass.PASSED:
                assert outcome.killer is not None
                kill = Kill(killer=outcome.killer, index=index - 1, reproduction=found, size=size(found))
            case _:
                note = f"scenario {index - 1}: {outcome.outcome.value}: {outcome.reason}"
    seconds = time.perf_counter() - start
    return Verdict(fault=task.fault, scenarios=index - task.first, seconds=seconds, kill=kill, note=note)


def shrink_kill(task: Hunt) -> Kill:
    """A kill with its reproduction shrunk; it still fails by the same check, and passes without the fault."""
    kill = task.kill
    assert kill is not None
    faulty, right = (spec.build() for spec in task.specs())

    def fails(candidate: Scenario) -> bool:
        if task.left <= 0:
            return False
        outcome = faulty.judge(candidate)
        return outcome.outcome is OutcomeClass.PRODUCT_FAILURE and outcome.killer is kill.killer

    small = shrink(kill.reproduction, fails, attempts=task.attempts).scenario
    if right.judge(small).outcome is not OutcomeClass.PASSED:
        return kill
    return replace(kill, reproduction=small, size=size(small))


def hunt_all(
    names: Sequence[str],
    *,
    tier: str,
    seed: int,
    profile: Profile,
    budget: float,
    workers: int,
    attempts: int,
    validations: bool = False,
    progress: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """Hunts every fault within a total budget in seconds, then shrinks what was found with what is left.

    A fair share first, so that an early fault cannot starve a late one; what that leaves goes to survivors,
    and again what they leave.
    """
    start = time.time()
    hunting_ends = start + budget * (HUNTING if attempts else 1.0)
    share = budget * HUNTING * workers / (2 * max(1, len(names)))
    task = Hunt(
        fault="",
        tier=tier,
        seed=seed,
        profile=profile,
        validations=validations,
        seconds=share,
        deadline=hunting_ends,
    )
    verdicts: dict[str, Verdict] = {}
    with workers_for(tier, workers) as pool:
        for verdict in in_order(pool, hunt, [replace(task, fault=name) for name in names]):
            verdicts[verdict.fault] = verdict
            progress(verdict)
        while (left := hunting_ends - time.time()) > WORTHWHILE and (
            alive := [v for v in verdicts.values() if v.kill is None]
        ):
            longer = left * workers / len(alive)
            again = [replace(task, fault=v.fault, first=v.scenarios, seconds=longer) for v in alive]
            for verdict in in_order(pool, hunt, again):
                verdicts[verdict.fault] = joined(verdicts[verdict.fault], verdict)
                progress(verdicts[verdict.fault])
        kills = [verdict for verdict in verdicts.values() if verdict.kill is not None] if attempts else []
        last = replace(task, deadline=start + budget, attempts=attempts)
        shrinking = [replace(last, fault=verdict.fault, kill=verdict.kill) for verdict in kills]
        for verdict, kill in zip(kills, in_order(pool, shrink_kill, shrinking), strict=True):
            verdicts[verdict.fault] = replace(verdict, kill=kill)
    return [verdicts[name] for name in names]


def joined(before: Verdict, after: Verdict) -> Verdict:
    """Two hunts of one fault as one."""
    return replace(
        after,
        scenarios=before.scenarios + after.scenarios,
        seconds=before.seconds + after.seconds,
        note=after.note or before.note,
    )


Result = TypeVar("Result")


def begin_hunter() -> None:
    """In a worker process: Ctrl-C ends it at once and without a word; a hunt cut short is worth nothing."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()


@contextmanager
def workers_for(tier: str, workers: int) -> Iterator[Executor]:
    """Processes in memory; one thread where one JVM serves all."""
    pool: Executor
    if LaneSpec(tier=tier).kind.processes:
        pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=begin_hunter)
    else:
        pool = ThreadPoolExecutor(1)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def in_order(pool: Executor, work: Callable[[Hunt], Result], tasks: Sequence[Hunt]) -> Iterator[Result]:
    """The results of some tasks, in their order. Raises CampaignError where a worker process dies."""
    futures = [pool.submit(work, task) for task in tasks]
    for task, future in zip(tasks, futures, strict=True):
        try:
            yield future.result()
        except BrokenProcessPool as error:
            raise CampaignError(
                f"a worker process died while {task.fault} or another fault was hunted (out of memory?), so "
                "the score is not decided; run it again, with fewer --workers"
            ) from error


def known_faults(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given. Raises CampaignError: one is no planted fault."""
    for name in names:
        if name not in FAULTS:
            raise CampaignError(f"no planted fault named {name!r}; `dvs mutants --list` shows them")
    return tuple(names)


def core_faults() -> list[str]:
    """The faults every gate hunts."""
    return [name for name, fault in FAULTS.items() if fault.core]
