"""What becomes of the failures of a run: replayed, shrunk within a budget, kept, grouped by cause."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign import folders
from campaign.fingerprint import fingerprint
from campaign.grouping import Likeness, groups_of
from campaign.ignore import IgnoreRules
from campaign.lanes import LaneSpec
from campaign.runner import Judged, Plan
from campaign.settling import asked_elsewhere, settle
from campaign.shrink_queue import Queue
from campaign.shrinkers import Task, shrinkers
from campaign.triage import SHRINKABLE, Reduced
from generators.generate import scenario_at
from workload.results import Failure, FailureGroup, Outcome, OutcomeClass
from workload.scenario import Scenario

SETTLING = 60.0
"""Seconds that settling divergences on another tier may take at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkBudget:
    """How many failures may be shrunk, and within how many seconds; searches under way are then cut short."""

    failures: int = 24
    seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """The failures of a run by cause. `outcomes`: by index, what replay and ignore rules made of them."""

    failures: tuple[Failure, ...]
    groups: tuple[FailureGroup, ...]
    outcomes: Mapping[int, Outcome]
    notes: tuple[str, ...]


def understand(
    failed: Sequence[Judged],
    plan: Plan,
    spec: LaneSpec,
    out: Path | None,
    budget: ShrinkBudget,
    rules: IgnoreRules,
) -> Understood:
    """Groups the failures of a run. With `out`, those that were shrunk get folders there.

    An interrupt (KeyboardInterrupt) ends the shrinking; what is there is kept.
    """
    found = {
        judged.index: Reduced(
            judged.outcome.reproduction or scenario_at(plan.seed, plan.profile, judged.index),
            judged.outcome,
            False,
        )
        for judged in failed
    }
    reduced, unshrunk, interrupted = _shrunk(found, plan, spec, budget)
    ask = None if interrupted else asked_elsewhere(spec, min(SETTLING, budget.seconds))
    reduced, unshrunk, misread = settle(reduced, unshrunk, ask)
    failures = [
        _failure(index, found[index].scenario, result, rules) for index, result in sorted(reduced.items())
    ]
    groups = groups_of(failures, unshrunk)
    if out is not None:
        failures = [_kept(failure, spec, out) for failure in failures]
    prints = [f.fingerprint for f in failures if f.fingerprint is not None and f.minimal]
    return Understood(
        failures=tuple(failures),
        groups=groups,
        outcomes={
            **{
                index: replace(found[index].outcome, outcome=OutcomeClass.PRODUCT_FAILURE)
                for index in misread
            },
            **{failure.index: failure.outcome for failure in failures},
        },
        notes=rules.notes(prints),
    )


def _shrunk(
    found: Mapping[int, Reduced], plan: Plan, spec: LaneSpec, budget: ShrinkBudget
) -> tuple[dict[int, Reduced], list[Likeness], bool]:
    """What the budget allowed to shrink, and one of each kind that it did not; what all others look like.

    Last, whether an interrupt ended it.
    """
    interrupted = False
    queue = Queue({index: Likeness.of(index, own.scenario, own.outcome) for index, own in found.items()})
    reduced: dict[int, Reduced] = {}
    shrinkable = [index for index, own in found.items() if own.outcome.outcome in SHRINKABLE]
    deadline = time.time() + budget.seconds
    tasks = (
        Task(index, found[index].scenario, found[index].outcome, spec.kind.attempts, deadline)
        for index in queue.picked(shrinkable, budget.failures, deadline)
    )
    if shrinkable:
        try:
            with shrinkers(spec, plan.workers) as shrink:
                for index, result in shrink(tasks):
                    reduced[index] = result
                    queue.learn(index, result)
        except KeyboardInterrupt:
            interrupted = True
    left = [index for index in sorted(found) if index not in reduced]
    for index in queue.unexplained(left):
        reduced[index] = found[index]
    return reduced, [queue.likenesses[index] for index in left if index not in reduced], interrupted


def _failure(index: int, scenario: Scenario, result: Reduced, rules: IgnoreRules) -> Failure:
    found = fingerprint(result.scenario, result.outcome)
    # What is not shrunk to the end shows operators that its cause has nothing to do with.
    rule = rules.covering(found) if result.minimal else None
    outcome = result.outcome
    if rule is not None:
        reason = f"ignored until {rule.expires} ({rule.issue}): {outcome.outcome.value}: {outcome.reason}"
        outcome = replace(outcome, outcome=OutcomeClass.IGNORED, reason=reason)
    return Failure(
        index=index,
        scenario=scenario,
        shrunk=result.scenario,
        outcome=outcome,
        folder="",
        fingerprint=found,
        minimal=result.minimal,
        ignored="" if rule is None else rule.issue,
    )


def _kept(failure: Failure, spec: LaneSpec, out: Path) -> Failure:
    path = out / "failures" / f"{failure.index:06d}"
    kept = replace(failure, folder=str(path), options=spec.options)
    folders.write_failure(path, kept, spec)
    return kept
