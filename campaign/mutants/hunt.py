"""Mutation testing of the harness: plants faults in the engine and hunts each with random scenarios.

Used by `dvs mutants` and by the stage of planted faults in `dvs gate`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from campaign.errors import CampaignError
from campaign.failures.triage import REDUCTIONS
from campaign.faults import FAULTS
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Pool, Worker, WorkerDied, pool_for
from campaign.mutants.verdict import MOST_SCENARIOS, HuntVerdict, hunt_verdict
from generators.generate import scenario_at
from generators.profiles import Profile
from shrink import shrink
from shrink.measure import Size, size
from workload.outcomes.results import Check, OutcomeClass
from workload.scenario import Scenario

HUNTING = 0.6
"""The share of a budget that goes into hunting; the rest goes into shrinking the kills."""

WORTHWHILE = 1.0
"""Seconds that must be left for one more round of hunting."""

IDLE_AFTER = 20
"""Scenarios over given definitions in which a fault must change something; else they do not use that part."""

FRESH_PERCENT = 50
"""Percent of refreshes whose row ids are compared with fresh ones: more than in a campaign, because some
faults show only in the ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """The scenario that showed a fault, and the check that failed on it."""

    killer: Check
    index: int
    reproduction: Scenario
    size: Size


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntResult:
    """The result for one planted fault. `kill`: None where it was not found.

    `most`: the scenarios after which it counts as survived. `note`: the last scenario that failed in another
    way than by the fault. Over given definitions: `differs`: whether the engine did anything else with it;
    `seen`: whether a reader saw other rows.
    """

    fault: str
    scenarios: int
    seconds: float
    kill: Kill | None
    most: int = MOST_SCENARIOS
    note: str = ""
    differs: bool = True
    seen: bool = True

    @property
    def verdict(self) -> HuntVerdict:
        """Whether the fault was found, survived, changed nothing, or was hunted too little to say."""
        enough = self.most if self.differs else min(self.most, IDLE_AFTER)
        idle = not self.seen and self.scenarios >= enough
        return hunt_verdict(self.kill is not None, self.scenarios, self.most, idle=idle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """The task of one worker: hunt one fault, or shrink its `kill` within `attempts` runs.

    `first`: the index of the first scenario. `most`: the index at which the hunt gives up. `seconds`: how
    long to hunt. `deadline`: the time at which it must have ended, by the clock `now`.
    """

    fault: str
    tier: str
    seed: int
    profile: Profile
    validations: bool
    first: int = 0
    most: int = MOST_SCENARIOS
    seconds: float
    deadline: float
    attempts: int = 0
    kill: Kill | None = None
    now: Callable[[], float] = time.time

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - self.now()

    @property
    def faulty_spec(self) -> LaneSpec:
        """The lane with the fault planted."""
        return replace(self.control_spec, faults=(self.fault,))

    @property
    def control_spec(self) -> LaneSpec:
        """The same lane without the fault."""
        return LaneSpec(tier=self.tier, validations=self.validations, fresh_percent=FRESH_PERCENT)


def hunt(worker: Worker, task: Hunt) -> HuntResult:
    """Judges scenarios with the fault planted, until one fails that passes without the fault."""
    faulty, control = worker.lifted_lane(task.faulty_spec), worker.lane(task.control_spec)
    start = time.perf_counter()
    index, note, kill = task.first, "", None
    differs = seen = task.profile.given is None
    source = "" if task.profile.given is None else task.profile.given.source
    controls = controls_of.setdefault((task.control_spec, source), Controls(control))
    while kill is None and index != task.most and time.perf_counter() - start < min(task.seconds, task.left):
        scenario = scenario_at(task.seed, task.profile, index)
        index += 1
        if task.profile.given is not None:
            other, other_rows = controls.difference(worker.lane(task.faulty_spec), scenario, task.seed, index)
            differs, seen = differs or other, seen or other_rows
            if not differs and index == IDLE_AFTER:
                break
            if not other:
                continue
        outcome = faulty.judge_as_run(scenario).outcome
        reduced = outcome.reproduction or scenario
        match outcome.outcome:
            case OutcomeClass.PASSED:
                continue
            case OutcomeClass.PRODUCT_FAILURE if control.judge(reduced).outcome is OutcomeClass.PASSED:
                assert outcome.killer is not None
                kill = Kill(
                    killer=outcome.killer,
                    index=index - 1,
                    reproduction=reduced,
                    size=size(reduced),
                )
            case _:
                note = f"scenario {index - 1}: {outcome.outcome.value}: {outcome.reason}"
    seconds = time.perf_counter() - start
    return HuntResult(
        fault=task.fault,
        scenarios=index - task.first,
        seconds=seconds,
        kill=kill,
        most=task.most,
        note=note,
        differs=differs,
        seen=seen,
    )


class Deeds(NamedTuple):
    """Digests of what an engine did in a scenario: all of its trace, and what a reader of its tables sees."""

    all: str
    seen: str


@dataclass(slots=True)
class Controls:
    """What the engine without a fault does, for each scenario of a hunt over given definitions.

    Such definitions use some parts of the engine; a fault in another part cannot show, and changes nothing.
    So the traces with and without the fault are compared first; only where they differ, a scenario is judged.
    """

    lane: Lane
    done: dict[tuple[int, int], Deeds] = field(default_factory=dict)

    def difference(self, faulty: Lane, scenario: Scenario, seed: int, index: int) -> tuple[bool, bool]:
        """Returns whether an engine with a fault does anything else, and whether a reader sees other rows."""
        if (seed, index) not in self.done:
            # An engine without a fault that cannot run says nothing of faults: its error is raised.
            self.done[seed, index] = deeds(self.lane, scenario)
        without_fault = self.done[seed, index]
        try:
            with_fault = deeds(faulty, scenario)
        except Exception:  # noqa: BLE001  # a fault may break the run itself
            return True, True
        return with_fault.all != without_fault.all, with_fault.seen != without_fault.seen


def deeds(lane: Lane, scenario: Scenario) -> Deeds:
    """Returns what the engine of a lane does in a scenario, by texts: no NaN in a row equals another one."""
    trace = lane.engine.run(scenario)
    seen = [
        (event.step, event.table, event.timestamp, sorted(repr(stored.row) for stored in event.contents))
        for event in trace.refreshes
    ]
    return Deeds(_digest(trace), _digest(seen))


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


controls_of: dict[tuple[LaneSpec, str], Controls] = {}
"""The controls of a worker by lane and definitions: they outlive the hunt of one fault."""


def shrink_kill(worker: Worker, task: Hunt) -> Kill:
    """Returns the kill with a smaller scenario, which fails the same check and passes without the fault.

    Where the smallest one found fails without the fault too, the kill stays as it is.
    """
    kill = task.kill
    assert kill is not None
    faulty, control = worker.lane(task.faulty_spec), worker.lane(task.control_spec)

    def fails(candidate: Scenario) -> bool:
        if task.left <= 0:
            return False
        outcome = faulty.judge(candidate)
        return outcome.outcome is OutcomeClass.PRODUCT_FAILURE and outcome.killer is kill.killer

    small = shrink(kill.reproduction, fails, attempts=task.attempts, reductions=REDUCTIONS).scenario
    if control.judge(small).outcome is not OutcomeClass.PASSED:
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
    most: int = MOST_SCENARIOS,
    validations: bool = False,
    progress: Callable[[HuntResult], None] = lambda result: None,
    now: Callable[[], float] = time.time,
) -> list[HuntResult]:
    """Hunts every fault in at most `most` scenarios, then shrinks the kills; results in order of `names`.

    `budget`: an upper bound of the seconds for all; what it ends early is undecided. Raises CampaignError: a
    worker died.
    """
    start = now()
    task = Hunt(
        fault="",
        tier=tier,
        seed=seed,
        profile=profile,
        validations=validations,
        most=most,
        # The first round takes at most half of the time for hunting, the rest is for those not found in it.
        seconds=budget * HUNTING * workers / (2 * max(1, len(names))),
        deadline=start + budget * (HUNTING if attempts else 1.0),
        now=now,
    )
    spec = LaneSpec(tier=tier)
    # Spark hunts one fault at a time, because one JVM serves all. An interrupted hunt has no result, so its
    # worker processes may die at once.
    size = workers if spec.engine_tier.processes else 1
    with pool_for(spec, size, dies_by_interrupt=True) as pool:
        results = hunt_in_rounds(pool, task, names, workers, progress)
        kills = [result for result in results.values() if result.kill is not None] if attempts else []
        last = replace(task, deadline=start + budget, attempts=attempts)
        shrinking = [replace(last, fault=result.fault, kill=result.kill) for result in kills]
        for result, kill in zip(kills, in_order(pool, shrink_kill, shrinking), strict=True):
            results[result.fault] = replace(result, kill=kill)
    return [results[name] for name in names]


def hunt_in_rounds(
    pool: Pool, task: Hunt, names: Sequence[str], workers: int, progress: Callable[[HuntResult], None]
) -> dict[str, HuntResult]:
    """Hunts every fault in rounds until the deadline of `task`; returns the results by the faults' names.

    In the first round each fault gets an equal share of the time, so that the first faults cannot use it up.
    Further rounds share the time that is left among the survivors. Raises CampaignError: a worker died.
    """
    results: dict[str, HuntResult] = {}
    for result in in_order(pool, hunt, [replace(task, fault=name) for name in names]):
        results[result.fault] = result
        progress(result)
    while (left := task.left) > WORTHWHILE and (alive := alive_of(results)):
        longer = left * workers / len(alive)
        again = [replace(task, fault=r.fault, first=r.scenarios, seconds=longer) for r in alive]
        for result in in_order(pool, hunt, again):
            results[result.fault] = joined(results[result.fault], result)
            progress(results[result.fault])
    return results


def alive_of(results: dict[str, HuntResult]) -> list[HuntResult]:
    """Returns the results for faults that were not found so far and have scenarios left."""
    return [result for result in results.values() if result.verdict is HuntVerdict.UNDECIDED]


def joined(before: HuntResult, after: HuntResult) -> HuntResult:
    """Returns the result of two hunts of one fault; the second went on where the first one ended."""
    return replace(
        after,
        scenarios=before.scenarios + after.scenarios,
        seconds=before.seconds + after.seconds,
        note=after.note or before.note,
        differs=after.differs or before.differs,
        seen=after.seen or before.seen,
    )


Result = TypeVar("Result")


def in_order(pool: Pool, work: Callable[[Worker, Hunt], Result], tasks: Sequence[Hunt]) -> Iterator[Result]:
    """Yields the results of tasks, in their order. Raises CampaignError where a worker process dies."""
    futures = [pool.submit(work, task) for task in tasks]
    for task, future in zip(tasks, futures, strict=True):
        try:
            yield future.result()
        except WorkerDied as error:
            raise CampaignError(
                f"a worker process died while {task.fault} or another fault was hunted (out of memory?), so "
                "the score is undecided; run it again with fewer --workers"
            ) from error


def core_faults() -> list[str]:
    """Returns the names of the faults that every gate hunts."""
    return [name for name, fault in FAULTS.items() if fault.core]
