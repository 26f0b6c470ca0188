"""Mutation testing of the harness: plant a fault, see it found, shrink what found it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from multiprocessing import get_context

from campaign.faults import FAULTS
from campaign.lanes import LaneSpec
from campaign.shrink.measure import Size, size
from campaign.triage import smallest
from generators.profiles import Profile
from generators.scenarios import scenario_at
from workload.results import Check, OutcomeClass
from workload.scenario import Scenario


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
    """One fault's share of the work: from which scenario on, and for how many seconds."""

    fault: str
    tier: str
    seed: int
    profile: Profile
    first: int
    seconds: float
    attempts: int
    validations: bool


def hunt(task: Hunt) -> Verdict:
    """Judges scenarios with the fault planted until one fails that the right engine passes.

    A failure counts as a kill only if its shrunk reproduction fails with the fault and passes without it.
    """
    spec = LaneSpec(tier=task.tier, faults=(task.fault,), validations=task.validations)
    faulty, right = spec.build(), LaneSpec(tier=task.tier, validations=task.validations).build()
    start = time.perf_counter()
    index, note = task.first, ""
    while time.perf_counter() - start < task.seconds:
        scenario = scenario_at(task.seed, task.profile, index)
        index += 1
        outcome = faulty.judge(scenario)
        if outcome.outcome is OutcomeClass.PASSED:
            continue
        if outcome.outcome is not OutcomeClass.PRODUCT_FAILURE:
            note = f"scenario {index - 1}: {outcome.outcome.value}: {outcome.reason}"
            continue
        found = time.perf_counter() - start
        shrunk, after = smallest(faulty, scenario, outcome, task.attempts)
        if right.judge(shrunk).outcome is not OutcomeClass.PASSED or after.killer is None:
            note = f"scenario {index - 1} fails without the fault too"
            continue
        kill = Kill(killer=after.killer, index=index - 1, reproduction=shrunk, size=size(shrunk))
        return Verdict(fault=task.fault, scenarios=index - task.first, seconds=found, kill=kill, note=note)
    return Verdict(
        fault=task.fault,
        scenarios=index - task.first,
        seconds=time.perf_counter() - start,
        kill=None,
        note=note,
    )


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
    """Hunts every fault within a total budget in seconds: a fair share each, then the rest for survivors."""
    deadline = time.monotonic() + budget
    share = max(2.0, budget * workers / (2 * max(1, len(names))))
    verdicts: dict[str, Verdict] = {}
    waiting = [
        Hunt(
            fault=name,
            tier=tier,
            seed=seed,
            profile=profile,
            first=0,
            seconds=share,
            attempts=attempts,
            validations=validations,
        )
        for name in names
    ]
    for verdict in _in_processes(waiting, workers, deadline):
        verdicts[verdict.fault] = verdict
        if verdict.kill is not None:
            progress(verdict)
    for verdict in _second_chance(
        [v for v in verdicts.values() if v.kill is None], waiting, workers, deadline
    ):
        before = verdicts[verdict.fault]
        verdicts[verdict.fault] = replace(
            verdict,
            scenarios=before.scenarios + verdict.scenarios,
            seconds=before.seconds + verdict.seconds,
            note=verdict.note or before.note,
        )
        progress(verdicts[verdict.fault])
    return [verdicts[name] for name in names]


def _second_chance(
    survivors: list[Verdict], tasks: list[Hunt], workers: int, deadline: float
) -> Iterator[Verdict]:
    left = deadline - time.monotonic()
    if not survivors or left < 2:
        return
    share = left * workers / len(survivors)
    by_name = {task.fault: task for task in tasks}
    again = [replace(by_name[s.fault], first=s.scenarios, seconds=share) for s in survivors]
    yield from _in_processes(again, workers, deadline)


def _in_processes(tasks: Sequence[Hunt], workers: int, deadline: float) -> Iterator[Verdict]:
    if tasks and tasks[0].tier != "rules":
        # One JVM serves all: another process would start another.
        for task in tasks:
            yield hunt(_cut(task, deadline))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = list(tasks)
        running: set[Future[Verdict]] = set()
        while waiting or running:
            while waiting and len(running) < workers:
                running.add(pool.submit(hunt, _cut(waiting.pop(0), deadline)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def _cut(task: Hunt, deadline: float) -> Hunt:
    left = max(0.0, deadline - time.monotonic())
    return replace(task, seconds=min(task.seconds, left))


def core_faults() -> list[str]:
    """The faults every gate hunts."""
    return [name for name, fault in FAULTS.items() if fault.core]
