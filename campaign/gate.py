"""The release gate: kept scenarios, a smoke campaign, and the core faults; one verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from campaign.campaigns import run_campaign
from campaign.cli.options import exit_code
from campaign.exit_codes import ExitCode
from campaign.folders import read_scenario
from campaign.lanes import LaneSpec
from campaign.mutation import hunt_all
from campaign.runner import Plan
from generators.profiles import Profile
from reports.junit import Case, CaseVerdict
from workload.results import OutcomeClass


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """What a gate runs; budgets in seconds."""

    seed: int
    profile: Profile
    fuzz_budget: float
    fault_budget: float
    workers: int
    corpus: Path
    out: Path
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of the gate's table."""

    name: str
    verdict: ExitCode
    said: str
    cases: tuple[Case, ...]


def run_gate(plan: GatePlan, progress: Callable[[str], None] = lambda text: None) -> Iterator[Stage]:
    """The stages as they end. A stage that could not decide does not pass."""
    progress("kept scenarios")
    yield corpus(plan)
    progress("smoke campaign")
    yield fuzz(plan)
    progress("core faults")
    yield faults(plan)


def corpus(plan: GatePlan) -> Stage:
    """Every kept scenario passes; one that no longer parses is an error, not a skip."""
    lane = LaneSpec(tier="rules", fresh_percent=100).build()
    cases = []
    for file in sorted(plan.corpus.glob("**/*.json")) if plan.corpus.is_dir() else []:
        outcome = lane.judge(read_scenario(file))
        good = outcome.outcome is OutcomeClass.PASSED
        verdict = CaseVerdict.PASSED if good else CaseVerdict.FAILED
        cases.append(Case(str(file.relative_to(plan.corpus)), outcome.seconds, verdict, outcome.reason))
    failed = sum(case.verdict is not CaseVerdict.PASSED for case in cases)
    code = ExitCode.FAILED if failed else ExitCode.OK
    return Stage("kept scenarios", code, f"{len(cases)} replayed, {failed} failed", tuple(cases))


def fuzz(plan: GatePlan) -> Stage:
    """The smoke campaign, floors included."""
    run_plan = Plan(seed=plan.seed, profile=plan.profile, budget=plan.fuzz_budget, workers=plan.workers)
    summary = run_campaign(
        run_plan, LaneSpec(tier="rules", fresh_percent=plan.profile.fresh_percent), plan.out
    )
    code = exit_code(summary)
    verdicts = {ExitCode.OK: CaseVerdict.PASSED, ExitCode.FAILED: CaseVerdict.FAILED}
    unmet = ", ".join(
        f"{name} ({reached} of {wanted})" for name, (reached, wanted) in summary.coverage.unmet.items()
    )
    counts = ", ".join(f"{count} {name}" for name, count in summary.outcomes.items() if count)
    said = f"{counts}; floors {'met' if not unmet else f'not met: {unmet}'}"
    case = Case(f"campaign {plan.profile.name}", summary.seconds, verdicts.get(code, CaseVerdict.ERROR), said)
    return Stage("smoke campaign", code, said, (case,))


def faults(plan: GatePlan) -> Stage:
    """Every core fault is killed: a gate that cannot see a planted bug proves nothing."""
    start = time.perf_counter()
    verdicts = hunt_all(
        plan.faults,
        tier="rules",
        seed=plan.seed,
        profile=plan.profile,
        budget=plan.fault_budget,
        workers=plan.workers,
        attempts=0,
    )
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
        said += f"; alive: {', '.join(alive)}"
    return Stage("core faults", ExitCode.FAILED if alive else ExitCode.OK, said, cases)


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
