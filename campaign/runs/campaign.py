"""Runs one campaign, for `dvs fuzz`, `dvs gate` and Python: judges, shrinks failures, writes reports."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from types import MappingProxyType
from typing import Any

from campaign.errors import CampaignError
from campaign.failures import folders
from campaign.failures.ignore import IgnoreRules
from campaign.failures.refusals import Refused, refusals
from campaign.failures.report import FailedScenario, FailureReport, ShrinkBudget, report_failures
from campaign.lanes.spec import LaneSpec
from campaign.runs import journal
from campaign.runs.floors import ensure_reachable_floors, floors_of_lifted
from campaign.runs.journal import Journal
from campaign.runs.lock import locked
from campaign.runs.options import CampaignOptions
from campaign.runs.plan import CampaignPlan, JudgedScenario
from campaign.runs.runner import run
from campaign.runs.spread import SEVERAL
from campaign.runs.tally import Tally
from engines.errors import EngineError
from generators.generate import scenario_at
from workload.errors import WorkloadError
from workload.outcomes.results import OutcomeClass, RunSummary

WAITED = 5.0
"""Seconds after the budget until a run says what it waits for: most scenarios are finished before."""

AFTER_INTERRUPT = 10.0
"""Seconds of shrinking after Ctrl-C: the user wants to stop, and `dvs shrink` can continue later."""


def run_campaign(
    options: CampaignOptions = CampaignOptions(),
    out: Path | str | None = None,
    *,
    progress: Callable[[Tally], None] = lambda tally: None,
) -> RunSummary:
    """Runs random scenarios on one tier, as `dvs fuzz` does, and returns the summary of the run.

    With `out`, that folder gets a new run: journal, reports, and a folder for each failure. `progress`
    receives the counters after every scenario. `run_verdict(summary)` says whether the run is a pass.

    Raises CampaignError: an option is wrong, the engine cannot start, or `out` cannot be written.

    Example: `run_campaign(CampaignOptions(tier="adapter:toy:Toy", profile="quick", scenarios=50))`.
    """
    if options.tier in SEVERAL:
        raise CampaignError(
            f"run_campaign runs one tier, and was given {options.tier!r}; call it once for each tier"
        )
    try:
        ((plan, spec),) = options.campaigns()
        return run_plan(
            plan,
            spec,
            None if out is None else Path(out),
            progress,
            shrinking=options.shrinking,
            ignored=options.known_failures(),
            options=options.as_json(),
        )
    except (EngineError, WorkloadError) as error:
        # The engine is unknown or does not start, or there is no such profile.
        raise CampaignError(str(error)) from error


def run_plan(
    plan: CampaignPlan,
    spec: LaneSpec,
    out: Path | None,
    progress: Callable[[Tally], None] = lambda tally: None,
    *,
    resume: bool = False,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    shrinking: ShrinkBudget = ShrinkBudget(),
    ignored: IgnoreRules = IgnoreRules(),
    report: Callable[[str], None] = lambda text: None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> RunSummary:
    """Runs a plan and returns its summary. With `out`, that folder gets journal, failure folders and reports.

    `resume` continues the run that is journalled in `out`. `shrinking` limits the work on failures;
    failures that `ignored` covers do not count. `progress` receives the counters after every scenario,
    `report` receives progress after judging. `options`: the command line, kept in the journal for `--resume`.

    An interrupt (KeyboardInterrupt) ends the run early; the scenarios judged by then are reported. Raises
    CampaignError: `out` is in use, cannot be written or holds another run, or a floor can never be met.
    """
    profile = replace(plan.profile, floors=floors_of_lifted(plan.profile.floors, spec.lifted))
    ensure_reachable_floors(profile)
    started = now().isoformat(timespec="seconds")
    with open_journal(plan, spec, out, started, resume=resume, options=options) as opened:
        judged = judge_all(plan, spec, opened, progress, report)
        tally = judged.tally
        budget = budget_for(shrinking, judged, report)
        refused = refused_by_adapter(judged, plan, spec)
        judged.failed = [each for each in judged.failed if each.index not in refused]
        failures = shrink_and_group(judged, plan, spec, out, budget, ignored)
        summary = replace(
            tally.summary(plan.seed, spec.name, profile, judged.seconds, failures.failures),
            interrupted=judged.interrupted,
            started=opened.started,
            wanted=plan.wanted,
            groups=failures.groups,
            rule_notes=failures.notes,
            refusals=refusals(refused, accepted(judged), spec.dialect),
        )
        if out is not None:
            folders.write_run(out, summary)
        return summary


@dataclass(slots=True)
class JudgedScenarios:
    """The judged scenarios of a run, journalled ones included.

    `failed`: those that did not pass. `seconds`: since the run began, earlier sessions included.
    """

    tally: Tally = field(default_factory=Tally)
    failed: list[JudgedScenario] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0

    def add(self, judged: JudgedScenario) -> None:
        """Counts one scenario."""
        self.tally.add(judged.outcome, judged.coverage)
        if judged.outcome.outcome is not OutcomeClass.PASSED:
            self.failed.append(judged)


def judge_all(
    plan: CampaignPlan,
    spec: LaneSpec,
    opened: Journal,
    progress: Callable[[Tally], None],
    report: Callable[[str], None],
) -> JudgedScenarios:
    """Judges the scenarios that are not journalled yet; returns them together with the journalled ones.

    An interrupt (KeyboardInterrupt) ends it with the scenarios that were judged by then. `report` is told
    where the time is over and a scenario still runs.
    """
    start = time.perf_counter() - opened.elapsed
    result = JudgedScenarios()
    for entry in opened.entries:
        result.add(entry.judged)
    progress(result.tally)
    try:
        remaining = remaining_plan(plan, opened)
        with closing(run(remaining, spec)) as scenarios, said_when_over(remaining.budget, report):
            for judged in scenarios:
                opened.add(judged, time.perf_counter() - start)
                result.add(judged)
                progress(result.tally)
    except KeyboardInterrupt:
        result.interrupted = True
    result.seconds = time.perf_counter() - start
    return result


@contextmanager
def said_when_over(budget: float | None, report: Callable[[str], None]) -> Iterator[None]:
    """Reports what the run waits for, where the block goes on after its budget of seconds; None: never."""
    if budget is None:
        yield
        return
    text = "the time is over; the scenarios under way are finished first (Ctrl-C ends the run now)"
    timer = Timer(budget + WAITED, report, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def open_journal(
    plan: CampaignPlan,
    spec: LaneSpec,
    out: Path | None,
    started: str,
    *,
    resume: bool,
    options: Mapping[str, Any],
) -> Iterator[Journal]:
    """Opens the journal of a run and locks its folder. Raises CampaignError.

    Without `out` it yields a journal that writes nothing.
    """
    if out is None:
        if resume:
            raise CampaignError("cannot resume: the run has no --out folder; give the folder of the run")
        yield Journal(started=started)
        return
    folders.ensure_writable(out)
    with locked(out), journal.opened(out, plan, spec, started, resume=resume, options=options) as opened:
        yield opened


def remaining_plan(plan: CampaignPlan, opened: Journal) -> CampaignPlan:
    """Returns the plan without the journalled scenarios, and with the rest of its time budget."""
    return replace(
        plan,
        done=frozenset(entry.judged.index for entry in opened.entries),
        budget=None if plan.budget is None else max(0.0, plan.budget - opened.elapsed),
    )


def refused_by_adapter(judged: JudgedScenarios, plan: CampaignPlan, spec: LaneSpec) -> Refused:
    """Returns the scenarios in which the engine of an adapter refused something, which is no failure."""
    if not spec.adapter:
        return {}
    return {
        each.index: (each.drawn or scenario_at(plan.seed, plan.profile, each.index), each.outcome)
        for each in judged.failed
        if each.outcome.outcome is OutcomeClass.UNSUPPORTED
    }


def accepted(judged: JudgedScenarios) -> Counter[str]:
    """Counts by `kind: name` what is in the scenarios that the engine took, whether they passed or not."""
    found = Counter(judged.tally.reached)
    for each in judged.failed:
        if each.outcome.outcome in (OutcomeClass.PRODUCT_FAILURE, OutcomeClass.DIVERGENCE):
            found.update(each.coverage)
    return found


def shrink_and_group(
    judged: JudgedScenarios,
    plan: CampaignPlan,
    spec: LaneSpec,
    out: Path | None,
    budget: ShrinkBudget,
    ignored: IgnoreRules,
) -> FailureReport:
    """Shrinks and groups the failures of a run; corrects the run's counters where an outcome changed."""
    start = time.perf_counter()
    tally = judged.tally
    scenarios = {
        failed.index: FailedScenario(
            failed.outcome.reproduction or failed.drawn or scenario_at(plan.seed, plan.profile, failed.index),
            failed.outcome,
        )
        for failed in sorted(judged.failed, key=lambda failed: failed.index)
    }
    failures = report_failures(scenarios, spec, plan.workers, out, budget, ignored)
    for index, outcome in failures.outcomes.items():
        tally.reclassify(scenarios[index].outcome.outcome, outcome.outcome)
    if scenarios:
        tally.times["shrink"] = time.perf_counter() - start
    return failures


def budget_for(
    shrinking: ShrinkBudget, judged: JudgedScenarios, report: Callable[[str], None]
) -> ShrinkBudget:
    """Returns the budget for shrinking, smaller after an interrupt; reports how much will be done."""
    if judged.interrupted:
        shrinking = replace(shrinking, seconds=min(shrinking.seconds, AFTER_INTERRUPT))
    failures = len(judged.failed)
    if number := min(failures, shrinking.failures):
        report(f"shrinking {number} of {failures} failures, for {shrinking.seconds:g} s at most ...")
    return shrinking
