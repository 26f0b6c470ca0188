"""`dvs gate`: one table, one JUnit file, one exit status."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from campaign.cli.options import Duration
from campaign.exit_codes import ExitCode
from campaign.folders import ensure_writable, write_text
from campaign.gate import GatePlan, run_gate, verdict_of
from campaign.mutation import core_faults, known_faults
from generators.profiles import load_profile
from reports.junit import Suite, junit_xml

WORDS = {
    ExitCode.OK: "[green]passed[/]",
    ExitCode.FAILED: "[bold red]failed[/]",
    ExitCode.UNKNOWN: "[yellow]undecided[/]",
}


@click.command()
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--profile", default="smoke", show_default=True)
@click.option("--budget", type=Duration(), default="60s", show_default=True, help="For the campaign.")
@click.option(
    "--fault-budget", type=Duration(), default="4m", show_default=True, help="For the planted faults."
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option(
    "--corpus",
    type=click.Path(path_type=Path),
    default=Path("corpus"),
    show_default=True,
    help="Folder of kept scenarios.",
)
@click.option("--fault", "names", multiple=True, help="Hunt this fault; may be repeated.  [the core faults]")
@click.option("--out", type=click.Path(path_type=Path), default=Path(".dvs/gate"), show_default=True)
def command(
    seed: int,
    profile: str,
    budget: float,
    fault_budget: float,
    workers: int,
    corpus: Path,
    names: tuple[str, ...],
    out: Path,
) -> ExitCode:
    """Replay kept scenarios, run a smoke campaign, and see that the core faults are found.

    Exit status 0: the gate is open; 1: it is shut; 3: something could not be decided.
    """
    ensure_writable(out)
    plan = GatePlan(
        seed=seed,
        profile=load_profile(profile),
        fuzz_budget=budget,
        fault_budget=fault_budget,
        workers=workers,
        corpus=corpus,
        out=out,
        faults=known_faults(names) or tuple(core_faults()),
    )
    errors = Console(stderr=True)
    stages = list(run_gate(plan, lambda text: errors.print(f"{text} ...", highlight=False)))
    junit = out / "junit.xml"
    write_text(junit, junit_xml(Suite(stage.name, stage.cases) for stage in stages))
    table = Table(title="release gate")
    for name in ("stage", "verdict", "said"):
        table.add_column(name)
    for stage in stages:
        table.add_row(stage.name, WORDS[stage.verdict], stage.said)
    console = Console()
    console.print(table)
    console.print(f"JUnit: {junit}", highlight=False, soft_wrap=True)
    return verdict_of(stages)
