"""`dvs gate`: one table, one JUnit file, one JSON file, one exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from campaign.baseline import GATE_FILE, read_baseline
from campaign.cli.known import known_failures, known_failures_option, shrink_budget_option, shrink_option
from campaign.cli.options import Duration, interruptible
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget
from campaign.faults import FAULTS
from campaign.files import write_text
from campaign.folders import ensure_writable
from campaign.gate import GatePlan, Stage, run_gate, verdict_of
from campaign.gate_object import gate_object
from campaign.gate_profiles import GATES, GateProfile
from campaign.journal import JOURNAL_FILE, read_head
from campaign.lock import locked
from campaign.mutation import core_faults, known_faults
from reports.junit import Case, CaseVerdict, Suite, junit_xml

WORDS = {
    ExitCode.OK: "[green]passed[/]",
    ExitCode.FAILED: "[bold red]failed[/]",
    ExitCode.UNKNOWN: "[yellow]undecided[/]",
}


@click.command()
@click.option(
    "--profile",
    type=click.Choice(list(GATES)),
    default="pr",
    show_default=True,
    help="; ".join(f"{gate.name}: {gate.meant_for}" for gate in GATES.values()) + ".",
)
@click.option("--seed", type=int, help="Which scenarios there are.  [pr: 1; others: the day, as 20261121]")
@click.option("--budget", type=Duration(), help="For all campaigns, shared as the profile shares it.")
@click.option("--fault-budget", type=Duration(), help="For the planted faults.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    default=Path("corpus"),
    show_default=True,
    help="Folder of kept scenarios.",
)
@click.option("--fault", "names", multiple=True, help="Hunt this fault; may be repeated.  [the core faults]")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    help="An earlier gate or run: coverage lost, speed lost and faults alive again shut the gate.",
)
@click.option(
    "--slowdown",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="The share of the baseline's dynamic tables per second that may be lost.",
)
@click.option(
    "--resume", is_flag=True, help="Go on with the campaigns that a gate of this seed began in --out."
)
@known_failures_option
@shrink_option
@shrink_budget_option
@click.option("--out", type=click.Path(path_type=Path), default=Path(".dvs/gate"), show_default=True)
def command(
    profile: str,
    seed: int | None,
    budget: float | None,
    fault_budget: float | None,
    workers: int,
    corpus: Path,
    names: tuple[str, ...],
    baseline: Path | None,
    slowdown: float,
    resume: bool,
    ignore: Path | None,
    shrink: int,
    shrink_budget: float,
    out: Path,
) -> ExitCode:
    """Replay kept scenarios, run campaigns, see that planted faults are found, compare with a baseline.

    Exit status 0: the gate is open; 1: it is shut; 3: something could not be decided.
    """
    now = datetime.now(UTC)
    gate = with_budgets(GATES[profile], budget, fault_budget)
    plan = GatePlan(
        gate=gate,
        seed=seed if seed is not None else usual_seed(gate, out if resume else None, now),
        workers=workers,
        corpus=corpus,
        out=out,
        faults=known_faults(names) or tuple(core_faults() if gate.core_only else FAULTS),
        # Read before anything runs, and before this gate's result may take its place.
        baseline=None if baseline is None else read_baseline(baseline),
        slowdown=slowdown,
        resume=resume,
        ignored=known_failures(ignore),
        shrinking=ShrinkBudget(failures=shrink, seconds=shrink_budget),
    )
    ensure_writable(out)
    with locked(out):
        stages = stages_of(plan)
        verdict = verdict_of(stages)
        write_text(out / "junit.xml", junit_xml(Suite(stage.name, stage.cases) for stage in stages))
        content = gate_object(plan, stages, verdict, now.isoformat(timespec="seconds"))
        write_text(out / GATE_FILE, json.dumps(content, indent=2) + "\n")
    show(plan, stages)
    return verdict


def usual_seed(gate: GateProfile, begun: Path | None, now: datetime) -> int:
    """The seed of the campaigns that go on in `begun`; else the day's, or 1."""
    for path in [] if begun is None else sorted(begun.glob(f"*/{JOURNAL_FILE}")):
        return int(read_head(path.parent)["seed"])
    return int(f"{now:%Y%m%d}") if gate.daily else 1


def with_budgets(gate: GateProfile, budget: float | None, fault_budget: float | None) -> GateProfile:
    """The profile with other budgets; the campaigns keep their shares."""
    if budget is not None:
        scale = budget / gate.budget
        campaigns = tuple(replace(one, budget=one.budget * scale) for one in gate.campaigns)
        gate = replace(gate, campaigns=campaigns)
    return gate if fault_budget is None else replace(gate, fault_budget=fault_budget)


def stages_of(plan: GatePlan) -> list[Stage]:
    """Runs the gate; Ctrl-C and SIGTERM leave it undecided."""
    errors = Console(stderr=True)
    stages: list[Stage] = []
    try:
        with interruptible():
            for stage in run_gate(plan, lambda text: errors.print(f"{text} ...", highlight=False)):
                stages.append(stage)  # noqa: PERF402  # kept one by one: an interruption leaves the others
    except KeyboardInterrupt:
        said = "interrupted: what follows did not run"
        case = Case("interrupted", 0.0, CaseVerdict.ERROR, said)
        stages.append(Stage("interrupted", ExitCode.UNKNOWN, said, (case,)))
    return stages


def show(plan: GatePlan, stages: list[Stage]) -> None:
    """The table, and where the files are."""
    table = Table(title=f"gate {plan.gate.name}, seed {plan.seed}")
    for name in ("stage", "verdict", "said"):
        table.add_column(name)
    for stage in stages:
        table.add_row(stage.name, WORDS[stage.verdict], escape(stage.said))
    console = Console()
    console.print(table)
    for label, path in (("JUnit", plan.out / "junit.xml"), ("JSON", plan.out / GATE_FILE)):
        console.print(f"{label}: {path}", highlight=False, soft_wrap=True)
    for report in sorted(plan.out.glob("*/report.html")):
        console.print(f"report: {report}", highlight=False, soft_wrap=True)
