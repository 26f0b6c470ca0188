"""`dvs shrink`: the smallest scenario that fails as a given one does."""

from __future__ import annotations

from pathlib import Path

import click

from campaign.cli.options import TierName
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.folders import read_scenario, write_text
from campaign.lanes import LaneSpec
from campaign.shrink.measure import Size, size
from campaign.triage import smallest
from workload.codec import scenario_to_json
from workload.results import OutcomeClass

SHRINKABLE = (OutcomeClass.PRODUCT_FAILURE, OutcomeClass.DIVERGENCE)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--tier", type=TierName(), default="rules", show_default=True)
@click.option("--fault", multiple=True, help="Plant a fault first (see `dvs mutants --list`).")
@click.option(
    "--validations/--no-validations", default=True, help="The engine's own validations of change sets."
)
@click.option("--attempts", type=click.IntRange(1), default=400, show_default=True, help="Runs it may take.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it.  [beside PATH]")
def command(
    path: Path, tier: str, fault: tuple[str, ...], validations: bool, attempts: int, out: Path | None
) -> ExitCode:
    """Shrink the failing scenario of a file or failure folder; its failure keeps its class and check.

    Exit status 0: the result is written; 2: the scenario does not fail, or makes no sense.
    """
    scenario = read_scenario(path)
    lane = LaneSpec(tier=tier, faults=fault, validations=validations, fresh_percent=100).build()
    outcome = lane.judge(scenario)
    if outcome.outcome not in SHRINKABLE:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        raise CampaignError(f"{path}: nothing to shrink: the outcome is {outcome.outcome.value}{reason}")
    small, again = smallest(lane, scenario, outcome, attempts)
    target = out if out is not None else (path if path.is_dir() else path.parent) / "shrunk.json"
    write_text(target, scenario_to_json(small))
    click.echo(f"{again.outcome.value}: {again.reason}")
    click.echo(f"{told(size(scenario))} -> {told(size(small))}")
    click.echo(f"dvs replay {target}")
    return ExitCode.OK


def told(found: Size) -> str:
    """`3 operators, 12 rows, 9 DML`."""
    return f"{found.operators} operators, {found.rows} rows, {found.dml} DML"
