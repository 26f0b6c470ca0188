"""The release gate: kept scenarios, campaigns, planted faults, the baseline; one verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from campaign.baseline import Baseline, compared, regressions
from campaign.campaigns import run_campaign
from campaign.cli.options import exit_code
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget
from campaign.folders import read_scenario
from campaign.gate_profiles import GateCampaign, GateProfile
from campaign.ignore import IgnoreRules
from campaign.journal import JOURNAL_FILE
from campaign.lanes import Lane, LaneSpec
from campaign.mutation import hunt_all
from campaign.runner import Plan
from dynamic_tables.errors import DynamicTablesError
from generators.profiles import SMOKE, load_profile
from reports.junit import Case, CaseVerdict
from workload.errors import WorkloadError
from workload.results import OutcomeClass, RunSummary

LISTED = 6
"""Names that a line of the table gives; the files have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """What a gate runs. `slowdown`: the share of the baseline's speed that may be lost.

    `resume`: campaigns that an earlier gate began in `out` go on; the other stages run again.
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
    """One line of the gate's table, with what it leaves for `gate.json` and a later baseline.

    `killed`: each fault that was hunted, and whether it was killed.
    """

    name: str
    verdict: ExitCode
    said: str
    cases: tuple[Case, ...]
    seconds: float = 0.0
    summary: RunSummary | None = None
    killed: Mapping[str, bool] = field(default_factory=dict)


def run_gate(plan: GatePlan, progress: Callable[[str], None] = lambda text: None) -> Iterator[Stage]:
    """The stages as they end. A stage that could not decide does not pass; an interrupted one is the last."""
    stages: list[Stage] = []
    for name, work in work_of(plan, stages):
        progress(name)
        start = time.perf_counter()
        stage = replace(work(), seconds=time.perf_counter() - start)
        stages.append(stage)
        yield stage
        if stage.summary is not None and stage.summary.interrupted:
            return


def work_of(plan: GatePlan, stages: list[Stage]) -> Iterator[tuple[str, Callable[[], Stage]]]:
    """The stages by name; the last one looks at what the others found."""
    yield "kept scenarios", partial(corpus, plan)
    for campaign in plan.gate.campaigns:
        yield campaign_name(campaign), partial(fuzz, plan, campaign)
    if plan.ignored.rules or plan.ignored.expired:
        yield "known failures", partial(known, plan.ignored, stages)
    yield faults_name(plan), partial(faults, plan)
    if plan.baseline is not None:
        yield "baseline", partial(baseline, plan.baseline, stages, plan.slowdown)


def campaign_name(campaign: GateCampaign) -> str:
    """`smoke campaign`, `quick campaign on delta`."""
    place = "" if campaign.tier == "rules" else f" on {campaign.tier}"
    return f"{campaign.profile} campaign{place}"


def faults_name(plan: GatePlan) -> str:
    """What the faults' stage is called."""
    return "core faults" if plan.gate.core_only else "planted faults"


def corpus(plan: GatePlan) -> Stage:
    """Every kept scenario passes; one that no longer parses has failed, and is no reason to stop."""
    lane = LaneSpec(tier="rules", fresh_percent=100).build()
    files = sorted(plan.corpus.glob("**/*.json")) if plan.corpus.is_dir() else []
    cases = tuple(kept(lane, file, str(file.relative_to(plan.corpus))) for file in files)
    failed = [case for case in cases if case.verdict is not CaseVerdict.PASSED]
    said = f"{len(cases)} replayed, {len(failed)} failed"
    if failed:
        said += ": " + listed([f"{case.name}: {case.message}" for case in failed], "; ")
    return Stage("kept scenarios", ExitCode.FAILED if failed else ExitCode.OK, said, cases)


def kept(lane: Lane, file: Path, name: str) -> Case:
    """One kept scenario."""
    try:
        outcome = lane.judge(read_scenario(file))
    except (CampaignError, WorkloadError) as error:
        return Case(name, 0.0, CaseVerdict.FAILED, f"cannot be read: {error}")
    good = outcome.outcome is OutcomeClass.PASSED
    said = "" if good else f"{outcome.outcome.value}: {outcome.reason}"
    return Case(name, outcome.seconds, CaseVerdict.PASSED if good else CaseVerdict.FAILED, said)


def fuzz(plan: GatePlan, campaign: GateCampaign) -> Stage:
    """One campaign, floors included. A tier that does not start is undecided, so that the rest still runs."""
    name = campaign_name(campaign)
    profile = load_profile(campaign.profile)
    run_plan = Plan(seed=plan.seed, profile=profile, budget=campaign.budget, workers=plan.workers)
    spec = LaneSpec(tier=campaign.tier, fresh_percent=profile.fresh_percent)
    folder = plan.out / f"{campaign.tier}-{campaign.profile}"
    try:
        begun = plan.resume and (folder / JOURNAL_FILE).exists()
        summary = run_campaign(
            run_plan, spec, folder, resume=begun, ignored=plan.ignored, shrinking=plan.shrinking
        )
    except (CampaignError, DynamicTablesError) as error:
        case = Case(name, 0.0, CaseVerdict.ERROR, str(error))
        return Stage(name, ExitCode.UNKNOWN, str(error), (case,))
    code = exit_code(summary)
    verdicts = {ExitCode.OK: CaseVerdict.PASSED, ExitCode.FAILED: CaseVerdict.FAILED}
    unmet = ", ".join(
        f"{name} ({reached} of {wanted})" for name, (reached, wanted) in summary.coverage.unmet.items()
    )
    counts = ", ".join(f"{count} {name}" for name, count in summary.outcomes.items() if count)
    said = f"{counts or 'nothing ran'}; floors {'met' if not unmet else f'not met: {unmet}'}"
    if summary.interrupted:
        said = f"interrupted: {said}"
    case = Case(name, summary.seconds, verdicts.get(code, CaseVerdict.ERROR), said)
    return Stage(name, code, said, (case,), summary=summary)


def known(rules: IgnoreRules, stages: list[Stage]) -> Stage:
    """What is to be said of the ignore rules after all campaigns; no reason to shut the gate."""
    summaries = [stage.summary for stage in stages if stage.summary is not None]
    found = [one for s in summaries for group in s.groups for one in (group.fingerprint, *group.others)]
    notes = rules.notes(found)
    ignored = sum(summary.outcomes[OutcomeClass.IGNORED.value] for summary in summaries)
    said = f"{ignored} ignored, {len(rules.rules)} rules"
    if notes:
        said += ": " + listed(notes, "; ")
    return Stage("known failures", ExitCode.OK, said, (Case("ignore rules", 0.0, CaseVerdict.PASSED, said),))


def faults(plan: GatePlan) -> Stage:
    """Every fault is killed: a gate that cannot see a planted bug proves nothing."""
    start = time.perf_counter()
    try:
        verdicts = hunt_all(
            plan.faults,
            tier="rules",
            seed=plan.seed,
            profile=SMOKE,
            budget=plan.gate.fault_budget,
            workers=plan.workers,
            attempts=0,
        )
    except CampaignError as error:
        case = Case(faults_name(plan), time.perf_counter() - start, CaseVerdict.ERROR, str(error))
        return Stage(faults_name(plan), ExitCode.UNKNOWN, str(error), (case,))
    cases = tuple(
        Case(
            v.fault,
            v.seconds,
            CaseVerdict.PASSED if v.kill else CaseVerdict.FAILED,
            v.note if v.kill is None else "",
        )
        for v in verdicts
    )
    alive = [v.fault for v in verdicts if v.kill is None]
    said = f"{len(verdicts) - len(alive)} of {len(verdicts)} killed in {time.perf_counter() - start:.0f} s"
    if alive:
        said += f"; alive: {listed(alive, ', ')}"
    killed = {v.fault: v.kill is not None for v in verdicts}
    return Stage(faults_name(plan), ExitCode.FAILED if alive else ExitCode.OK, said, cases, killed=killed)


def baseline(against: Baseline, stages: list[Stage], slowdown: float) -> Stage:
    """What got worse. Undecided where the baseline has nothing that could be compared."""
    campaigns = [stage.summary for stage in stages if stage.summary is not None]
    killed = {fault: dead for stage in stages for fault, dead in stage.killed.items()}
    number = compared(against, campaigns)
    if not number and not against.killed & killed.keys():
        said = f"{against.path} has no campaign of the same tier and profile, and no fault, of this gate"
        return Stage("baseline", ExitCode.UNKNOWN, said, (Case("baseline", 0.0, CaseVerdict.ERROR, said),))
    worse = list(regressions(against, campaigns, killed, slowdown))
    cases = tuple(Case(text.partition(":")[0], 0.0, CaseVerdict.FAILED, text) for text in worse)
    if not worse:
        cases = (Case("nothing got worse", 0.0, CaseVerdict.PASSED),)
    said = listed(worse, "; ") or f"nothing got worse ({number} of {len(campaigns)} campaigns compared)"
    return Stage("baseline", ExitCode.FAILED if worse else ExitCode.OK, said, cases)


def listed(items: Sequence[str], mark: str) -> str:
    """The first few; the cases of the stage have them all."""
    more = len(items) - LISTED
    return mark.join([*items[:LISTED], *([f"and {more} more"] if more > 0 else [])])


def verdict_of(stages: list[Stage]) -> ExitCode:
    """The worst: a failure before a doubt before a pass."""
    codes = {stage.verdict for stage in stages}
    return (
        ExitCode.FAILED
        if ExitCode.FAILED in codes
        else ExitCode.UNKNOWN
        if ExitCode.UNKNOWN in codes
        else ExitCode.OK
    )
