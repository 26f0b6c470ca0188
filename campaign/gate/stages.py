"""The stages of the release gate: kept scenarios, campaigns, checks, planted faults, the baseline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from campaign.errors import CampaignError
from campaign.failures.folders import read_scenario
from campaign.failures.ignore import IgnoreRules
from campaign.faults import FAULTS
from campaign.gate.baseline import Baseline, regressions, slower
from campaign.gate.checks import CHECKS, checked
from campaign.gate.profiles import GateCampaign
from campaign.gate.stage import HUNT_CASES, GatePlan, Stage, hunted_faults, listed
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec, within_limits
from campaign.mutants.hunt import HuntResult, hunt_all
from campaign.mutants.verdict import HuntVerdict, hunt_text
from campaign.runs.campaign import run_plan
from campaign.runs.definitions import over_definitions, over_random_documents
from campaign.runs.journal import JOURNAL_FILE
from campaign.runs.plan import CampaignPlan
from dynamic_tables.errors import DynamicTablesError
from engines.errors import EngineError
from generators.profiles import GOAL_FLOOR, SMOKE, load_profile
from reports.figures import plural
from reports.junit import Case, CaseVerdict
from reports.run_junit import CASES, run_cases
from workload.errors import WorkloadError
from workload.lift.kind import Lifting
from workload.outcomes.decision import Decision
from workload.outcomes.results import OutcomeClass, RunSummary
from workload.outcomes.run_verdict import run_verdict, worst


def run_gate(plan: GatePlan, progress: Callable[[str], None] = lambda name: None) -> Iterator[Stage]:
    """Runs the stages of a gate and yields each when it has ended. An interrupted campaign is the last one.

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
    """Yields each stage's name and the function that runs it. `done`: the stages that have ended so far."""
    if not plan.gate.engines or plan.corpus.exists():
        yield "kept scenarios", partial(corpus, plan)
    for campaign in plan.gate.campaigns:
        yield campaign_name(campaign), partial(fuzz, plan, campaign)
    if not plan.gate.campaigns:
        yield "campaigns", no_campaign
    for check in CHECKS if plan.gate.rounds else ():
        yield check.name, partial(checked, check, plan)
    if plan.ignored.rules or plan.ignored.expired:
        yield "known failures", partial(known, plan.ignored, done)
    if not plan.gate.engines:
        yield faults_name(plan), partial(faults, plan)
    if plan.baseline is not None:
        yield "baseline", partial(baseline, plan.baseline, done, plan.slowdown)


def campaign_name(campaign: GateCampaign) -> str:
    """Returns the name of a campaign's stage: `smoke campaign`, `quick campaign on delta`."""
    tier = "" if campaign.tier == "rules" else f" on {campaign.tier}"
    if campaign.definitions:
        return f"your definitions{tier}"
    return f"{campaign.profile} campaign{tier}"


def faults_name(plan: GatePlan) -> str:
    """Returns the name of the stage that hunts planted faults."""
    return "core faults" if plan.gate.core_only else "planted faults"


def corpus(plan: GatePlan) -> Stage:
    """Replays the kept scenarios, all of which must pass, and returns the stage.

    Without a folder or a scenario nothing was replayed, which is undecided. A file that cannot be read is a
    failure: otherwise its scenario would not be judged any more, and nobody would notice.
    """
    name, look = "kept scenarios", f"{plan.corpus}: dvs replay FILE"
    if not plan.corpus.is_dir():
        message = f"there is no folder {plan.corpus}; create it, or name another one with --corpus"
        return Stage(name, Decision.UNDECIDED, message, look=look)
    files = sorted(plan.corpus.glob("**/*.json"))
    if not files:
        message = (
            f"{plan.corpus} holds no scenario, so nothing was replayed; copy a scenario.json there, or name "
            "another folder with --corpus"
        )
        return Stage(name, Decision.UNDECIDED, message, look=look)
    tiers = plan.gate.engines or ("rules",)
    lanes = {tier: LaneSpec(tier=tier, fresh_percent=100).build() for tier in tiers}
    cases = tuple(
        replay_case(lane, file, str(file.relative_to(plan.corpus)), tier)
        for tier, lane in lanes.items()
        for file in files
    )
    failed = [f"{case.name}: {case.message}" for case in cases if case.verdict is CaseVerdict.FAILED]
    undone = [f"{case.name}: {case.message}" for case in cases if case.verdict is CaseVerdict.SKIPPED]
    message = f"{len(cases)} replayed, {len(failed)} failed"
    if failed:
        message += f": {listed(failed, '; ')}"
    if undone:
        message += f"; {len(undone)} could not be judged: {listed(undone, '; ')}"
    decisions = (
        Decision.FAILED if failed else Decision.PASSED,
        Decision.UNDECIDED if undone else Decision.PASSED,
    )
    return Stage(name, worst(decisions), message, cases, look=look)


def replay_case(lane: Lane, file: Path, name: str, tier: str = "rules") -> Case:
    """Judges a kept scenario again and returns its JUnit case. `name`: the file, from the corpus on."""
    look = f"dvs replay {file}" if tier == "rules" else f"dvs replay {file} --tier {tier}"
    try:
        outcome = lane.judge(read_scenario(file))
    except (CampaignError, WorkloadError) as error:
        return Case(name, 0.0, CaseVerdict.FAILED, f"cannot be read: {error}", look)
    message = f"{outcome.outcome.value}: {outcome.reason}"
    match outcome.outcome:
        case OutcomeClass.PASSED:
            return Case(name, outcome.seconds, CaseVerdict.PASSED)
        case OutcomeClass.INFRASTRUCTURE_FAILURE | OutcomeClass.DIVERGENCE | OutcomeClass.FLAKY:
            # The scenario was not judged, so it has neither passed nor failed.
            return Case(name, outcome.seconds, CaseVerdict.SKIPPED, message, look)
        case OutcomeClass.UNSUPPORTED if tier != "rules":
            return Case(name, outcome.seconds, CaseVerdict.SKIPPED, message, look)
        case _:
            return Case(name, outcome.seconds, CaseVerdict.FAILED, message, look)


def no_campaign() -> Stage:
    """Returns the stage of a gate without a campaign, whose other stages say too little to open it."""
    message = "no campaign ran: the profile names none, so no random scenario was judged"
    return Stage("campaigns", Decision.UNDECIDED, message)


def fuzz(plan: GatePlan, campaign: GateCampaign) -> Stage:
    """Runs one campaign and returns its stage, whose verdict includes the floors.

    A tier that does not start leaves the stage undecided, so that the other stages still run.
    """
    name = campaign_name(campaign)
    profile = load_profile(campaign.profile)
    spec = LaneSpec(tier=campaign.tier, fresh_percent=profile.fresh_percent)
    what = "definitions" if campaign.definitions else campaign.profile
    folder = plan.out / f"{campaign.tier.replace(':', '-')}-{what}"
    look = str(folder / "report.html")
    try:
        profile = within_limits(profile, campaign.tier)
        if campaign.definitions:
            spec = replace(spec, lifting=Lifting.NONE)
            profile = over_definitions(profile, campaign.definitions, GOAL_FLOOR, spec, campaign.values)
        elif profile.documents:
            spec = replace(spec, lifting=Lifting.NONE)
            profile = over_random_documents(profile, plan.seed, spec)
        campaign_plan = CampaignPlan(
            seed=plan.seed,
            profile=profile,
            scenarios=campaign.scenarios,
            budget=campaign.budget,
            least=campaign.least,
            workers=plan.workers,
        )
        resume = plan.resume and (folder / JOURNAL_FILE).exists()
        summary = run_plan(
            campaign_plan, spec, folder, resume=resume, ignored=plan.ignored, shrinking=plan.shrinking
        )
    except (CampaignError, EngineError, DynamicTablesError) as error:
        command = f"dvs fuzz --tier {campaign.tier} --profile {campaign.profile} --seed {plan.seed}"
        if campaign.definitions:
            command += f" --definitions {campaign.definitions} --values {campaign.values.value}"
        return Stage(name, Decision.UNDECIDED, str(error), look=command)
    cases = tuple(
        replace(case, details="\n".join(filter(None, (case.details, look)))) for case in run_cases(summary)
    )
    decision = run_verdict(summary).decision
    return Stage(name, decision, campaign_text(summary), cases, summary=summary, look=look)


def campaign_text(summary: RunSummary) -> str:
    """Returns the result of a campaign in one line: outcomes, scenarios that are missing, floors."""
    unmet = ", ".join(
        f"{name} ({floor.reached} of {floor.wanted})" for name, floor in summary.coverage.unmet.items()
    )
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary.outcomes.items() if count)
    message = counts or "nothing ran"
    if summary.interrupted:
        message = f"interrupted: {message}"
    elif summary.scenarios < summary.wanted:
        message += f"; {summary.scenarios} of {summary.wanted} scenarios, time over"
    return f"{message}; floors {'met' if not unmet else f'not met: {unmet}'}"


def known(rules: IgnoreRules, done: Sequence[Stage]) -> Stage:
    """Returns the stage that reports how all campaigns used the ignore rules; it never shuts the gate."""
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
    """Hunts planted faults and returns the stage: all must be killed, or the gate could miss real bugs too.

    A fault has survived after `fault_scenarios` scenarios, and not before: a machine that is slow or busy
    leaves it undecided.
    """
    name, most = faults_name(plan), plan.gate.fault_scenarios
    look = f"dvs mutants --seed {plan.seed} --scenarios {most}"
    try:
        results = hunt_all(
            plan.faults,
            tier="rules",
            seed=plan.seed,
            profile=SMOKE,
            budget=plan.gate.fault_budget,
            workers=plan.workers,
            attempts=0,
            most=most,
        )
    except CampaignError as error:
        return Stage(name, Decision.UNDECIDED, str(error), look=look)
    hunted = {result.fault: result.verdict for result in results}
    by_verdict = {each: [result for result in results if result.verdict is each] for each in HuntVerdict}
    message = f"{len(by_verdict[HuntVerdict.KILLED])} of {len(results)} killed"
    if alive := by_verdict[HuntVerdict.SURVIVED]:
        names = listed([result.fault for result in alive], ", ")
        message += f"; alive after {plural(most, 'scenario')}: {names}"
    if open_ := by_verdict[HuntVerdict.UNDECIDED]:
        fewest, most_done = min(r.scenarios for r in open_), max(r.scenarios for r in open_)
        done = f"{fewest}" if fewest == most_done else f"{fewest} to {most_done}"
        message += (
            f"; {len(open_)} not decided, hunted in {done} scenarios of {most}, time over: "
            f"{listed([result.fault for result in open_], ', ')}"
        )
    cases = tuple(fault_case(plan, result) for result in results)
    return Stage(
        name, worst(verdict.decision for verdict in hunted.values()), message, cases, hunted=hunted, look=look
    )


def fault_case(plan: GatePlan, result: HuntResult) -> Case:
    """Returns the JUnit case of a fault: the result of its hunt, what it does, how to hunt it again."""
    message = hunt_text(result.verdict, result.scenarios, result.most)
    if result.kill is not None:
        message += f", by the check {result.kill.killer.value}"
        return Case(result.fault, result.seconds, CaseVerdict.PASSED, message)
    fault = FAULTS[result.fault]
    details = [
        f"the fault: {fault.wrong}",
        f"the checks that should find it: {', '.join(check.value for check in fault.caught_by)}",
        f"dvs mutants --fault {result.fault} --seed {plan.seed} --scenarios {result.most}",
    ]
    if result.note:
        details.insert(2, f"another failure: {result.note}")
    return Case(result.fault, result.seconds, HUNT_CASES[result.verdict], message, "\n".join(details))


def baseline(before: Baseline, done: Sequence[Stage], slowdown: float) -> Stage:
    """Compares the stages done so far with the baseline; undecided where nothing can be compared.

    Lost speed leaves it undecided: only the clock shows it, and another program may have used the machine.
    """
    campaigns = [stage.summary for stage in done if stage.summary is not None]
    hunted = hunted_faults(done)
    compared = sum(before.campaign_like(campaign) is not None for campaign in campaigns)
    look = str(before.path)
    if not compared and not before.killed & hunted.keys():
        message = f"{before.path} has no campaign of the same tier and profile, and no fault, of this gate"
        return Stage("baseline", Decision.UNDECIDED, message, look=look)
    worse = {
        Decision.FAILED: list(regressions(before, campaigns, hunted)),
        Decision.UNDECIDED: list(slower(before, campaigns, slowdown)),
    }
    found = [text for texts in worse.values() for text in texts]
    if not found:
        message = f"nothing got worse ({compared} of {len(campaigns)} campaigns compared)"
        return Stage("baseline", Decision.PASSED, message, look=look)
    cases = tuple(
        Case(text.partition(":")[0], 0.0, CASES[decision], text, look)
        for decision, texts in worse.items()
        for text in texts
    )
    decision = worst(decision for decision, texts in worse.items() if texts)
    return Stage("baseline", decision, listed(found, "; "), cases, look=look)
