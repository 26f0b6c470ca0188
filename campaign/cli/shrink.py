"""`dvs shrink`: the smallest scenario that fails as a given one does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from campaign.cli.options import TierName, interruptible
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import write_text
from campaign.folders import read_progress, read_scenario, update_failure, write_progress
from campaign.lanes import LaneSpec
from campaign.settling import asked_elsewhere, settled
from campaign.shrink.measure import Size, size
from campaign.triage import SHRINKABLE, Progress, Reduced, smallest
from reports.findings import replay_command
from workload.codec import scenario_to_json
from workload.results import OutcomeClass


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--tier", type=TierName(), default="rules", show_default=True)
@click.option("--fault", multiple=True, help="Plant a fault first (see `dvs mutants --list`).")
@click.option(
    "--validations/--no-validations", default=True, help="The engine's own validations of change sets."
)
@click.option("--attempts", type=click.IntRange(1), default=400, show_default=True, help="Runs it may take.")
@click.option("--out", type=click.Path(path_type=Path), help="A file to write it to.  [in or beside PATH]")
def command(
    path: Path, tier: str, fault: tuple[str, ...], validations: bool, attempts: int, out: Path | None
) -> ExitCode:
    """Shrink the failing scenario of a file or failure folder; its failure keeps its class.

    In a failure folder the result takes the scenario's place, beside the one it was found in, and a search
    that ended early (by --attempts, or Ctrl-C) goes on where it was. Of a file it is written to shrunk.json.

    Exit status 0: the result is written; 2: the scenario does not fail, or makes no sense.
    """
    scenario = read_scenario(path)
    spec = LaneSpec(tier=tier, faults=fault, validations=validations, fresh_percent=100)
    lane = spec.build()
    outcome = lane.judge(scenario)
    if outcome.outcome not in SHRINKABLE:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        raise CampaignError(f"{path}: nothing to shrink: the outcome is {outcome.outcome.value}{reason}")
    progress = read_progress(path, spec, scenario) if path.is_dir() else Progress(scenario)
    try:
        with interruptible():
            found = smallest(lane, scenario, outcome, attempts, progress=progress)
    except KeyboardInterrupt:
        found = Reduced(progress.scenario, lane.judge(progress.scenario), False)
    ask = asked_elsewhere(spec) if found.outcome.outcome is OutcomeClass.DIVERGENCE else None
    if ask is not None:
        found = replace(found, outcome=settled(found.outcome, ask(found.scenario, found.outcome)))
    if path.is_dir() and out is None:
        target = path
        update_failure(path, found.scenario, found.outcome, spec)
        write_progress(path, spec, progress)
    else:
        target = out if out is not None else path.parent / "shrunk.json"
        write_text(target, scenario_to_json(found.scenario))
    click.echo(f"{found.outcome.outcome.value}: {found.outcome.reason}")
    click.echo(f"{told(size(scenario))} -> {told(size(found.scenario))}")
    click.echo("nothing is left to take away" if found.minimal else "not finished: shrink it again to go on")
    click.echo(replay_command(str(target), spec.options))
    return ExitCode.OK


def told(found: Size) -> str:
    """`3 operators, 12 rows, 9 DML`."""
    return f"{found.operators} operators, {found.rows} rows, {found.dml} DML"
