"""The stages of the release gate: kept scenarios, campaigns, known failures, planted faults, the baseline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from campaign.errors import CampaignError
from campaign.failures.folders import read_scenario
from campaign.failures.ignore import IgnoreRules
from campaign.failures.report import ShrinkBudget
from campaign.gate.baseline import Baseline, regressions
from campaign.gate.profiles import GateCampaign, GateProfile
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from campaign.mutants.hunt import hunt_all
from campaign.runs.campaign import run_campaign
from campaign.runs.journal import JOURNAL_FILE
from campaign.runs.plan import CampaignPlan
from dynamic_tables.errors import DynamicTablesError
from engines.errors import EngineError
from generators.profiles import SMOKE, load_profile
from reports.figures import plural
from reports.junit import Case, CaseVerdict
from reports.run_junit import CASES
from workload.errors import WorkloadError
from workload.results import OutcomeClass, RunSummary
from workload.run_verdict import Decision, run_verdict

MAX_LISTED = 6
"""Names that a stage's message lists; `gate.json` and `junit.xml` have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """What a gate runs. `slowdown`: the share of the baseline's speed that may be lost.

    `resume`: continue the campaigns that an earlier gate began in `out`; the other stages run again.
    """

    gate: GateProfile
    seed: int
    workers: int
    corpus: Path
    out: Path
    faults: tuple[str, ...]
    baseline: Baseline | None = None
    slowdown: float = 0.3
    resume: bool = False
    ignored: IgnoreRules = field(default_factory=IgnoreRules)
    shrinking: ShrinkBudget = field(default_factory=ShrinkBudget)


@dataclass(frozen=True, slots=True)
class Stage:
    """The result of one stage: a line of the gate's table, and the JUnit cases behind it.

    `summary`: of a campaign. `killed`: each fault that was hunted, and whether it was killed.
    """

    name: str
    verdict: Decision
    message: str
    cases: tuple[Case, ...] = ()
    seconds: float = 0.0
    summary: RunSummary | None = None
    killed: Mapping[str, bool] = field(default_factory=dict)

    @property
    def junit_cases(self) -> tuple[Case, ...]:
        """The cases of the stage; where it has none, one case with its name, verdict and message."""
        return self.cases or (Case(self.name, self.seconds, CASES[self.verdict], self.message),)


def killed_faults(stages: Sequence[Stage]) -> dict[str, bool]:
    """Each fault that some stage hunted, and whether it was killed."""
    return {fault: is_killed for stage in stages for fault, is_killed in stage.killed.items()}


def run_gate(plan: GatePlan, progress: Callable[[str], None] = lambda name: None) -> Iterator[Stage]:
    """The stages, each when it has ended. An interrupted campaign is the last stage.

    `progress` receives the name of each stage that begins.
    """
    stages: list[Stage] = []
    for name, work in stages_of(plan, stages):
        progress(name)
        start = time.perf_counter()
        stage = replace(work(), seconds=time.perf_counter() - start)
        stages.append(stage)
        yield stage
        if stage.summary is not None and stage.summary.interrupted:
            return


def stages_of(plan: GatePlan, done: list[Stage]) -> Iterator[tuple[str, Callable[[], Stage]]]:
    """The name of each stage and the function that runs it. `done`: the stages that have ended so far."""
    yield "kept scenarios", partial(corpus, plan)
    for campaign in plan.gate.campaigns:
        yield campaign_name(campaign), partial(fuzz, plan, campaign)
    if plan.ignored.rules or plan.ignored.expired:
        yield "known failures", partial(known, plan.ignored, done)
    yield faults_name(plan), partial(faults, plan)
    if plan.baseline is not None:
        yield "baseline", partial(baseline, plan.baseline, done, plan.slowdown)


def campaign_name(campaign: GateCampaign) -> str:
    """The name of a campaign's stage: `smoke campaign`, `quick campaign on delta`."""
    tier = "" if campaign.tier == "rules" else f" on {campaign.tier}"
    return f"{campaign.profile} campaign{tier}"


def faults_name(plan: GatePlan) -> str:
    """The name of the stage that hunts planted faults."""
    return "core faults" if plan.gate.core_only else "planted faults"


def corpus(plan: GatePlan) -> Stage:
    """The stage that replays the kept scenarios: all must pass.

    A folder that does not exist, and a file that cannot be read, have failed: a mistyped path is no pass.
    """
    if not plan.corpus.is_dir():
        message = f"there is no folder {plan.corpus}; create it, or name another one with --corpus"
        return Stage("kept scenarios", Decision.FAILED, message)
    lane = LaneSpec(tier="rules", fresh_percent=100).build()
    files = sorted(plan.corpus.glob("**/*.json"))
    cases = tuple(replay_case(lane, file, str(file.relative_to(plan.corpus))) for file in files)
    failed = [f"{case.name}: {case.message}" for case in cases if case.verdict is not CaseVerdict.PASSED]
    message = f"{len(cases)} replayed, {len(failed)} failed"
    if failed:
        message += f": {listed(failed, '; ')}"
    return Stage("kept scenarios", Decision.FAILED if failed else Decision.PASSED, message, cases)


def replay_case(lane: Lane, file: Path, name: str) -> Case:
    """The case of one kept scenario, which is judged again."""
    try:
        outcome = lane.judge(read_scenario(file))
    except (CampaignError, WorkloadError) as error:
        return Case(name, 0.0, CaseVerdict.FAILED, f"cannot be read: {error}")
    if outcome.outcome is OutcomeClass.PASSED:
        return Case(name, outcome.seconds, CaseVerdict.PASSED)
    return Case(name, outcome.seconds, CaseVerdict.FAILED, f"{outcome.outcome.value}: {outcome.reason}")


def fuzz(plan: GatePlan, campaign: GateCampaign) -> Stage:
    """The stage of one campaign, floors included.

    A tier that does not start leaves the stage undecided, so that the other stages still run.
    """
    name = campaign_name(campaign)
    profile = load_profile(campaign.profile)
    run_plan = CampaignPlan(seed=plan.seed, profile=profile, budget=campaign.budget, workers=plan.workers)
    spec = LaneSpec(tier=campaign.tier, fresh_percent=profile.fresh_percent)
    folder = plan.out / f"{campaign.tier}-{campaign.profile}"
    try:
        resume = plan.resume and (folder / JOURNAL_FILE).exists()
        summary = run_campaign(
            run_plan, spec, folder, resume=resume, ignored=plan.ignored, shrinking=plan.shrinking
        )
    except (CampaignError, EngineError, DynamicTablesError) as error:
        return Stage(name, Decision.UNDECIDED, str(error))
    unmet = ", ".join(
        f"{name} ({floor.reached} of {floor.wanted})" for name, floor in summary.coverage.unmet.items()
    )
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary.outcomes.items() if count)
    message = f"{counts or 'nothing ran'}; floors {'met' if not unmet else f'not met: {unmet}'}"
    if summary.interrupted:
        message = f"interrupted: {message}"
    decision = run_verdict(summary).decision
    return Stage(name, decision, message, summary=summary)


def known(rules: IgnoreRules, done: Sequence[Stage]) -> Stage:
    """The stage that reports how the ignore rules were used in all campaigns; it never shuts the gate."""
    summaries = [stage.summary for stage in done if stage.summary is not None]
    fingerprints = [
        fingerprint
        for summary in summaries
        for group in summary.groups
        for fingerprint in (group.fingerprint, *group.others)
    ]
    ignored = sum(summary.outcomes[OutcomeClass.IGNORED.value] for summary in summaries)
    message = f"{ignored} ignored, {plural(len(rules.rules), 'rule')}"
    if notes := rules.notes(fingerprints):
        message += f": {listed(notes, '; ')}"
    return Stage("known failures", Decision.PASSED, message)


def faults(plan: GatePlan) -> Stage:
    """The stage that hunts planted faults: all must be killed, or the gate could miss real bugs too."""
    start = time.perf_counter()
    try:
        results = hunt_all(
            plan.faults,
            tier="rules",
            seed=plan.seed,
            profile=SMOKE,
            budget=plan.gate.fault_budget,
            workers=plan.workers,
            attempts=0,
        )
    except CampaignError as error:
        return Stage(faults_name(plan), Decision.UNDECIDED, str(error))
    alive = [result.fault for result in results if result.kill is None]
    cases = tuple(
        Case(result.fault, result.seconds, CaseVerdict.FAILED, result.note)
        if result.kill is None
        else Case(result.fault, result.seconds, CaseVerdict.PASSED)
        for result in results
    )
    killed = len(results) - len(alive)
    message = f"{killed} of {len(results)} killed in {time.perf_counter() - start:.0f} s"
    if alive:
        message += f"; alive: {listed(alive, ', ')}"
    return Stage(
        faults_name(plan),
        Decision.FAILED if alive else Decision.PASSED,
        message,
        cases,
        killed={result.fault: result.kill is not None for result in results},
    )


def baseline(before: Baseline, done: Sequence[Stage], slowdown: float) -> Stage:
    """The stage that compares the others with the baseline; undecided where nothing can be compared."""
    campaigns = [stage.summary for stage in done if stage.summary is not None]
    killed = killed_faults(done)
    compared = sum(before.campaign_like(campaign) is not None for campaign in campaigns)
    if not compared and not before.killed & killed.keys():
        message = f"{before.path} has no campaign of the same tier and profile, and no fault, of this gate"
        return Stage("baseline", Decision.UNDECIDED, message)
    worse = list(regressions(before, campaigns, killed, slowdown))
    if not worse:
        message = f"nothing got worse ({compared} of {len(campaigns)} campaigns compared)"
        return Stage("baseline", Decision.PASSED, message)
    cases = tuple(Case(text.partition(":")[0], 0.0, CaseVerdict.FAILED, text) for text in worse)
    return Stage("baseline", Decision.FAILED, listed(worse, "; "), cases)


def listed(items: Sequence[str], separator: str) -> str:
    """The first items as one text, and how many more there are."""
    more = len(items) - MAX_LISTED
    return separator.join([*items[:MAX_LISTED], *([f"and {more} more"] if more > 0 else [])])
