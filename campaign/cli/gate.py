"""`dvs gate`: runs the release gate and writes its table, one JUnit file and one JSON file."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from campaign.cli import options
from campaign.cli.terminal import print_table
from campaign.exit_codes import EXIT_CODES, ExitCode
from campaign.failures.folders import ensure_writable
from campaign.failures.ignore import known_failures
from campaign.failures.report import ShrinkBudget
from campaign.faults import faults_on, known_faults
from campaign.files import write_text
from campaign.gate.baseline import GATE_FILE, read_baseline
from campaign.gate.document import gate_object
from campaign.gate.profiles import GATES, GateProfile, before_engines, over_definitions
from campaign.gate.stage import GatePlan, Stage
from campaign.gate.stages import run_gate
from campaign.lanes.spec import LaneSpec
from campaign.mutants.hunt import core_faults
from campaign.runs.definitions import values_from
from campaign.runs.journal import JOURNAL_FILE, read_head
from campaign.runs.lock import locked
from reports.junit import Suite, junit_xml
from reports.pages import gate_page
from workload.outcomes.decision import Decision
from workload.outcomes.run_verdict import worst

PAGE_FILE = "gate.html"

STYLES = {Decision.PASSED: "green", Decision.FAILED: "bold red", Decision.UNDECIDED: "yellow"}


@click.command()
@click.option(
    "--profile",
    type=click.Choice(list(GATES)),
    default="pr",
    help="; ".join(f"{gate.name}: {gate.meant_for}" for gate in GATES.values()) + ".",
)
@click.option(
    "--seed", type=int, help="Decides which scenarios run.  [pr: 1; others: the day, such as 20261121]"
)
@click.option("--budget", type=options.Duration(), help="Most time of all campaigns together.  [by profile]")
@click.option(
    "--fault-budget", type=options.Duration(), help="Most time to hunt the planted faults.  [by profile]"
)
@options.workers
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    default=Path("corpus"),
    help="Folder of kept scenarios, which must all pass.",
)
@options.hunted_fault
@options.definitions
@options.values
@click.option(
    "--tier",
    "tiers",
    type=options.TierName(),
    multiple=True,
    help="Stand before this engine, given as adapter:NAME, in place of the built-in one; may be repeated.",
)
@click.option(
    "--least",
    type=click.IntRange(1),
    help="With --tier: scenarios that each campaign must have judged within its time.  [by profile]",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    help="Folder of an earlier gate or run; lost coverage and surviving faults shut the gate, lost speed "
    "leaves it undecided.",
)
@click.option(
    "--slowdown",
    type=click.FloatRange(0, 1),
    default=0.3,
    help="Share of the baseline's speed (dynamic tables per second) that may be lost.",
)
@click.option(
    "--resume", is_flag=True, help="Continue the campaigns that an earlier gate of this seed began in --out."
)
@options.ignore
@options.shrink
@options.shrink_budget
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path(".dvs/gate"), help="Folder for the results."
)
def command(
    profile: str,
    seed: int | None,
    budget: float | None,
    fault_budget: float | None,
    faults: tuple[str, ...],
    definitions: str | None,
    values: str,
    tiers: tuple[str, ...],
    least: int | None,
    baseline: Path | None,
    ignore: str | None,
    shrink: int,
    shrink_budget: float,
    out: Path,
    **rest: Any,
) -> ExitCode:
    """Replay kept scenarios, run campaigns and checks, hunt planted faults, and compare with a baseline.

    --definitions adds a campaign on each tier over your own tables and dynamic tables. --tier adapter:NAME
    runs the campaigns on your own engine, without the checks and the faults of the built-in one.

    Exit status 0: the gate is open; 1: it is shut; 2: the options or the set-up are wrong; 3: nothing failed,
    but a stage was not done, or not to its end.
    """
    now = datetime.now(UTC)
    gate = GATES[profile]
    if tiers:
        gate = before_engines(gate, engines_of(tiers, faults), least)
    elif least is not None:
        raise click.UsageError("--least goes with --tier adapter:NAME")
    sampled = values_from(values, definitions)
    gate = gate if definitions is None else over_definitions(gate, definitions, sampled)
    gate = with_budgets(gate, budget, fault_budget)
    plan = GatePlan(
        gate=gate,
        seed=seed if seed is not None else usual_seed(gate, out if rest["resume"] else None, now),
        out=out,
        faults=known_faults(faults) or tuple(core_faults() if gate.core_only else faults_on("rules")),
        # Read before anything runs: this gate's result may replace the file of the baseline.
        baseline=None if baseline is None else read_baseline(baseline),
        ignored=known_failures(ignore),
        shrinking=ShrinkBudget(failures=shrink, seconds=shrink_budget),
        **rest,
    )
    ensure_writable(out)
    with locked(out):
        stages = run_interruptibly(plan)
        verdict = worst(stage.verdict for stage in stages)
        write_text(out / "junit.xml", junit_xml(Suite(stage.name, stage.junit_cases) for stage in stages))
        content = gate_object(plan, stages, verdict, now.isoformat(timespec="seconds"))
        write_text(out / GATE_FILE, json.dumps(content, indent=2) + "\n")
        write_text(out / PAGE_FILE, gate_page(content))
    rows = [(stage.name, Text(stage.verdict.value, STYLES[stage.verdict]), stage.message) for stage in stages]
    print_table(f"gate {gate.name}, seed {plan.seed}", ("stage", "verdict", "result"), rows)
    click.echo(f"page: {out / PAGE_FILE}\nJUnit: {out / 'junit.xml'}\nJSON: {out / GATE_FILE}")
    for report in sorted(out.glob("*/report.html")):
        click.echo(f"report: {report}")
    return EXIT_CODES[verdict]


def engines_of(tiers: tuple[str, ...], faults: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the tiers, each once, after checking that all are installed engines of others.

    Raises click.UsageError and EngineError.
    """
    for tier in tiers:
        spec = LaneSpec(tier=tier)
        if not spec.adapter:
            raise click.UsageError(f"--tier {tier} is the built-in engine, before which each gate stands")
        spec.ensure_startable()
    if faults:
        raise click.UsageError("--fault plants a fault in the built-in engine; leave it out, or --tier")
    return tuple(dict.fromkeys(tiers))


def usual_seed(gate: GateProfile, resumed: Path | None, now: datetime) -> int:
    """Returns the seed without --seed: that of the campaigns in a folder to resume, else the day's, or 1."""
    for path in [] if resumed is None else sorted(resumed.glob(f"*/{JOURNAL_FILE}")):
        return int(read_head(path.parent)["seed"])
    return int(f"{now:%Y%m%d}") if gate.daily else 1


def with_budgets(gate: GateProfile, budget: float | None, fault_budget: float | None) -> GateProfile:
    """Returns the profile with other budgets in seconds; the campaigns keep their shares of the time."""
    if budget is not None:
        scale = budget / gate.budget
        campaigns = tuple(replace(campaign, budget=campaign.budget * scale) for campaign in gate.campaigns)
        gate = replace(gate, campaigns=campaigns)
    return gate if fault_budget is None else replace(gate, fault_budget=fault_budget)


def run_interruptibly(plan: GatePlan) -> list[Stage]:
    """Runs a gate and returns its stages; after Ctrl-C or SIGTERM the last one is undecided."""
    stages: list[Stage] = []
    try:
        with options.interruptible():
            for stage in run_gate(plan, lambda name: click.echo(f"{name} ...", err=True)):
                stages.append(stage)  # noqa: PERF402  # one by one, so that an interrupt keeps the others
    except KeyboardInterrupt:
        message = "interrupted: the remaining stages did not run"
        stages.append(Stage("interrupted", Decision.UNDECIDED, message))
    return stages
