"""Reports the failures of a run: shrinks them within a budget, attributes, groups and stores them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.failures import folders
from campaign.failures.attribution import attribute, replay_elsewhere, unasked
from campaign.failures.fingerprint import fingerprint
from campaign.failures.grouping import Signature, groups_of
from campaign.failures.ignore import IgnoreRules
from campaign.failures.queue import Queue
from campaign.failures.shrinkers import ShrinkTask, shrinkers
from campaign.failures.triage import SHRINKABLE, Reduced
from campaign.lanes.spec import LaneSpec
from workload.results import ENGINE_DIED, Failure, FailureGroup, Outcome, OutcomeClass
from workload.scenario import Scenario

ATTRIBUTION = 5.0
"""Attributing divergences on another tier may take so many times the seconds of shrinking. On a busy machine
the start of a JVM alone takes minutes, and where Spark was not asked the run is undecided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkBudget:
    """How many failures may be shrunk, and within how many seconds; then searches under way are cut short."""

    failures: int = 24
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class FailedScenario:
    """A scenario that did not pass, as it ran, and its outcome."""

    scenario: Scenario
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """The failures of a run, and their groups by cause.

    `outcomes`: by index, after replay, attribution and ignore rules. `notes`: on the ignore rules.
    """

    failures: tuple[Failure, ...]
    groups: tuple[FailureGroup, ...]
    outcomes: Mapping[int, Outcome]
    notes: tuple[str, ...]


def report_failures(
    failed: Mapping[int, FailedScenario],
    spec: LaneSpec,
    workers: int,
    out: Path | None,
    budget: ShrinkBudget,
    rules: IgnoreRules,
) -> FailureReport:
    """Shrinks, attributes and groups the failures of a run, by index. With `out`, they get folders there.

    An interrupt (KeyboardInterrupt) ends the shrinking; the results so far are reported.
    """
    originals = {index: Reduced(each.scenario, each.outcome, False) for index, each in failed.items()}
    searched = _shrunk(originals, spec, workers, budget)
    replay = replay_elsewhere(spec, ATTRIBUTION * budget.seconds)
    if replay is not None and searched.interrupted:
        replay = unasked
    attributed = attribute(searched.reduced, searched.unshrunk, replay)
    failures = [
        _failure(index, failed[index].scenario, result, rules)
        for index, result in sorted(attributed.reduced.items())
    ]
    groups = groups_of(failures, attributed.unshrunk)
    if out is not None:
        failures = [_in_folder(failure, spec, out) for failure in failures]
    fingerprints = [f.fingerprint for f in failures if f.fingerprint is not None and f.minimal]
    misread = {
        index: replace(failed[index].outcome, outcome=OutcomeClass.PRODUCT_FAILURE)
        for index in attributed.misread
    }
    return FailureReport(
        failures=tuple(failures),
        groups=groups,
        outcomes={**misread, **{failure.index: failure.outcome for failure in failures}},
        notes=rules.notes(fingerprints),
    )


@dataclass(frozen=True, slots=True)
class _Searched:
    """The result of shrinking. `unshrunk`: the failures that one of `reduced` stands for."""

    reduced: dict[int, Reduced]
    unshrunk: list[Signature]
    interrupted: bool


def _shrunk(
    originals: Mapping[int, Reduced], spec: LaneSpec, workers: int, budget: ShrinkBudget
) -> _Searched:
    """Shrinks as many failures as the budget allows, and adds one of each kind that it did not reach."""
    interrupted = False
    queue = Queue(
        {index: Signature.of(index, each.scenario, each.outcome) for index, each in originals.items()}
    )
    reduced: dict[int, Reduced] = {}
    shrinkable = [
        index
        for index, each in originals.items()
        if each.outcome.outcome in SHRINKABLE
        and not any(finding.message == ENGINE_DIED for finding in each.outcome.findings)
    ]
    deadline = time.time() + budget.seconds
    tasks = (
        ShrinkTask(
            index, originals[index].scenario, originals[index].outcome, spec.engine_tier.attempts, deadline
        )
        for index in queue.picked(shrinkable, budget.failures, deadline)
    )
    if shrinkable:
        try:
            with shrinkers(spec, workers) as shrink:
                for index, result in shrink(tasks):
                    reduced[index] = result
                    queue.learn(index, result)
        except KeyboardInterrupt:
            interrupted = True
    remaining = [index for index in sorted(originals) if index not in reduced]
    for index in queue.unexplained(remaining):
        reduced[index] = originals[index]
    unshrunk = [queue.signatures[index] for index in remaining if index not in reduced]
    return _Searched(reduced, unshrunk, interrupted)


def _failure(index: int, scenario: Scenario, result: Reduced, rules: IgnoreRules) -> Failure:
    shrunk_to = fingerprint(result.scenario, result.outcome)
    # A scenario that is not shrunk to the end holds operators that its cause has nothing to do with.
    rule = rules.covering(shrunk_to) if result.minimal else None
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
        fingerprint=shrunk_to,
        minimal=result.minimal,
        ignored="" if rule is None else rule.issue,
    )


def _in_folder(failure: Failure, spec: LaneSpec, out: Path) -> Failure:
    path = out / "failures" / f"{failure.index:06d}"
    with_folder = replace(failure, folder=str(path), options=spec.options)
    folders.write_failure(path, with_folder, spec)
    return with_folder
