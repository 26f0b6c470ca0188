"""`dvs mutants`: are planted faults found?"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import click
from rich.console import Console
from rich.table import Table

from campaign.cli.model_mutants import MODEL, ModelOptions, hunt_model, list_model
from campaign.cli.options import Duration
from campaign.exit_codes import ExitCode
from campaign.faults import FAULTS
from campaign.faults.missing import MISSING
from campaign.files import write_text
from campaign.folders import SCENARIO_FILE
from campaign.lanes import TIERS
from campaign.mutation import Verdict, hunt_all, known_faults
from generators.profiles import load_profile
from workload.codec import scenario_to_json

TABLE_WIDTH = 130
"""Columns that the longest fault, its killer and all figures need."""


@click.command()
@click.option("--fault", "names", multiple=True, help="Only this fault; may be repeated.")
@click.option(
    "--tier",
    type=click.Choice([*TIERS, MODEL]),
    default="rules",
    show_default=True,
    help="`model`: faults of the analysis of histories, against the definitions.",
)
@click.option("--budget", type=Duration(), default="10m", show_default=True, help="In total.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option("--profile", default="smoke", show_default=True)
@click.option(
    "--attempts",
    type=click.IntRange(0),
    default=300,
    show_default=True,
    help="Runs that shrinking one kill may take.",
)
@click.option(
    "--validations/--no-validations",
    default=False,
    show_default=True,
    help="The engine's own validations; off proves ours.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the shrunk reproductions.")
@click.option("--list", "listing", is_flag=True, help="List the planted faults and stop.")
@click.option("--json", "as_json", is_flag=True)
def command(
    names: tuple[str, ...],
    tier: str,
    budget: float,
    seed: int,
    workers: int,
    profile: str,
    attempts: int,
    validations: bool,
    out: Path | None,
    listing: bool,
    as_json: bool,
) -> ExitCode:
    """Run the campaign against engines with one planted fault each.

    Exit status 0: every fault was killed; 1: one survived.
    """
    if tier == MODEL:
        options = ModelOptions(seed=seed, budget=budget, attempts=attempts, out=out, as_json=as_json)
        return list_model() if listing else hunt_model(names, options)
    if listing:
        for fault in FAULTS.values():
            click.echo(f"{fault.name}: {fault.wrong}")
        for name, reason in MISSING.items():
            click.echo(f"not planted: {name}: {reason}")
        return ExitCode.OK
    console = Console(stderr=True)
    verdicts = hunt_all(
        known_faults(names) or tuple(FAULTS),
        tier=tier,
        seed=seed,
        profile=load_profile(profile),
        budget=budget,
        workers=workers,
        attempts=attempts,
        validations=validations,
        progress=lambda verdict: console.print(line(verdict), highlight=False, markup=False, soft_wrap=True),
    )
    for verdict in verdicts:
        if out is not None and verdict.kill is not None:
            write_text(out / verdict.fault / SCENARIO_FILE, scenario_to_json(verdict.kill.reproduction))
    if as_json:
        faults = [as_object(verdict) for verdict in verdicts]
        click.echo(json.dumps({"faults": faults, "missing": {} if names else dict(MISSING)}))
    else:
        # A name cut short to fit a pipe's 80 columns helps nobody.
        console = Console(width=max(Console().width, TABLE_WIDTH))
        console.print(as_table(verdicts))
        console.print(by_area(verdicts))
        if not names:
            console.print(f"not planted: {len(MISSING)} (`dvs mutants --list` says why)", highlight=False)
    return ExitCode.OK if all(verdict.kill is not None for verdict in verdicts) else ExitCode.FAILED


def line(verdict: Verdict) -> str:
    """One line of progress."""
    work = f"({verdict.scenarios} scenarios, {verdict.seconds:.1f} s)"
    if verdict.kill is None:
        return f"survived {verdict.fault} {work} {verdict.note}"
    return f"killed   {verdict.fault} by {verdict.kill.killer.value} {work}"


def as_object(verdict: Verdict) -> dict[str, object]:
    """A verdict as a JSON object."""
    kill = verdict.kill
    size = (
        None
        if kill is None
        else {"operators": kill.size.operators, "rows": kill.size.rows, "dml": kill.size.dml}
    )
    return {
        "fault": verdict.fault,
        "area": FAULTS[verdict.fault].area,
        "verdict": "survived" if kill is None else "killed",
        "seconds": round(verdict.seconds, 2),
        "scenarios": verdict.scenarios,
        "killer": None if kill is None else kill.killer.value,
        "expected": [check.value for check in FAULTS[verdict.fault].caught_by],
        "reproduction": size,
        "note": verdict.note,
    }


def by_area(verdicts: list[Verdict]) -> Table:
    """The score of each area, with what a kill took in the median."""
    areas: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        areas.setdefault(FAULTS[verdict.fault].area, []).append(verdict)
    table = Table(title="score by area")
    for name in ("area", "killed", "planted", "median scenarios", "median seconds"):
        table.add_column(name, justify="left" if name == "area" else "right")
    for area, found in areas.items():
        kills = [verdict for verdict in found if verdict.kill is not None]
        medians = (
            ("", "")
            if not kills
            else (f"{median(v.scenarios for v in kills):g}", f"{median(v.seconds for v in kills):.1f}")
        )
        table.add_row(area, str(len(kills)), str(len(found)), *medians)
    return table


def as_table(verdicts: list[Verdict]) -> Table:
    """All verdicts with the score."""
    killed = sum(verdict.kill is not None for verdict in verdicts)
    table = Table(title=f"{killed} of {len(verdicts)} planted faults killed")
    for name in ("fault", "verdict", "killer", "scenarios", "seconds", "operators", "rows", "DML"):
        named = name in ("fault", "verdict", "killer")
        table.add_column(name, justify="left" if named else "right", no_wrap=named)
    for verdict in verdicts:
        kill = verdict.kill
        if kill is None:
            table.add_row(
                verdict.fault,
                "[bold red]survived[/]",
                verdict.note,
                str(verdict.scenarios),
                f"{verdict.seconds:.1f}",
            )
            continue
        sizes = (str(kill.size.operators), str(kill.size.rows), str(kill.size.dml))
        table.add_row(
            verdict.fault,
            "killed",
            kill.killer.value,
            str(verdict.scenarios),
            f"{verdict.seconds:.1f}",
            *sizes,
        )
    return table
