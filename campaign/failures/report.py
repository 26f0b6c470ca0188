"""Reports the failures of a run: shrinks them within a budget, attributes, groups and stores them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from campaign.failures import folders
from campaign.failures.attribution import attribute, replay_elsewhere, unasked
from campaign.failures.fingerprint import fingerprint
from campaign.failures.grouping import Cause, Signature, groups_of
from campaign.failures.ignore import IgnoreRules
from campaign.failures.shrinkers import ShrinkTask, shrunk_on_workers
from campaign.failures.triage import Reduced
from campaign.lanes.spec import LaneSpec
from engines.registry import limits_of
from workload.outcomes.results import ENGINE_DIED, Failure, FailureGroup, Outcome, OutcomeClass
from workload.scenario import Scenario

ATTRIBUTION = 5.0
"""Attributing divergences on another tier may take so many times the seconds of shrinking. On a busy machine
the start of a JVM alone takes minutes, and a run in which Spark was not asked is undecided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkBudget:
    """How many failures may be shrunk, and within how many seconds, after which searches are cut short."""

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
    """Shrinks, attributes and groups the failures of a run; returns the report. With `out`, they get folders.

    `failed`: the failures by index. `rules`: for known failures. An interrupt (KeyboardInterrupt) ends the
    shrinking; the results so far are reported.
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
    """The result of shrinking, by index. `unshrunk`: the failures for which one of `reduced` stands."""

    reduced: dict[int, Reduced]
    unshrunk: list[Signature]
    interrupted: bool


def _shrunk(
    originals: Mapping[int, Reduced], spec: LaneSpec, workers: int, budget: ShrinkBudget
) -> _Searched:
    """Shrinks as many failures as the budget allows; of each kind that is left, one is listed as it is."""
    interrupted = False
    queue = Queue(
        {index: Signature.of(index, each.scenario, each.outcome) for index, each in originals.items()}
    )
    reduced: dict[int, Reduced] = {}
    shrinkable = [
        index
        for index, each in originals.items()
        if each.outcome.shrinkable
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
            with closing(shrunk_on_workers(spec, workers, tasks)) as shrunk:
                for index, result in shrunk:
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
    """Returns a failure for the report; its outcome is IGNORED where a rule covers its fingerprint."""
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
    """Writes the folder of a failure, and returns the failure with it."""
    path = out / "failures" / f"{failure.index:06d}"
    with_folder = replace(
        failure,
        folder=str(path),
        options=spec.options,
        dialect=spec.dialect,
        of_adapter=bool(spec.adapter),
        keyed=limits_of(spec.tier).keys,
    )
    folders.write_failure(path, with_folder, spec)
    return with_folder


LISTED_OF_A_CLASS = 5
"""How many failures of each class that cannot be shrunk are listed one by one."""


@dataclass(slots=True)
class Queue:
    """Chooses the failure to shrink next: first those that no cause found so far explains.

    Otherwise a second cause would show late, after many failures that resemble the first one. Among equals, a
    kind of failure of which fewer were begun comes first, then a smaller scenario. `started`: by kind, how
    many were begun.
    """

    signatures: Mapping[int, Signature]
    causes: list[Cause] = field(default_factory=list)
    started: Counter[str] = field(default_factory=Counter)

    def learn(self, index: int, result: Reduced) -> None:
        """Adds the cause of a failure that was shrunk to the end."""
        if result.minimal and result.outcome.shrinkable:
            cause = Cause.of(fingerprint(result.scenario, result.outcome))
            if cause not in self.causes:
                self.causes.append(cause)

    def picked(self, indices: Sequence[int], most: int, deadline: float) -> Iterator[int]:
        """Yields at most `most` of the failures, each chosen by the causes known when the next one is wanted.

        `deadline`: seconds since the epoch, after which there is no next one.
        """
        remaining = list(indices)
        while remaining and len(indices) - len(remaining) < most and time.time() < deadline:
            index = min(remaining, key=self._rank)
            remaining.remove(index)
            self.started[self.signatures[index].kind] += 1
            yield index

    def _rank(self, index: int) -> tuple[bool, int, int, int]:
        """Returns the sort key of a failure in the queue; the least is shrunk next."""
        signature = self.signatures[index]
        explained = signature.explained_by(self.causes) is not None
        return (explained, self.started[signature.kind], signature.weight, index)

    def unexplained(self, indices: Sequence[int]) -> list[int]:
        """Returns those of the failures not shrunk that must be listed one by one, so that no group is lost.

        One for each signature that no known cause explains, and some of each class that cannot be shrunk.
        """
        listed: list[int] = []
        causes = list(self.causes)
        others: Counter[Cause] = Counter()
        for index in indices:
            signature = self.signatures[index]
            explained = signature.explained_by(causes)
            if explained is None or (not signature.shrinkable and others[explained] < LISTED_OF_A_CLASS):
                listed.append(index)
                causes.extend(signature.causes)
                others.update(signature.causes)
        return listed
