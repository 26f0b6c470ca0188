"""`dvs shrink`: makes a failing scenario smaller while it fails in the same way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from campaign.cli import options
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.failures.attribution import attributed_outcome
from campaign.failures.folders import read_progress, read_scenario, update_failure, write_progress
from campaign.failures.triage import Progress, Reduced, smallest
from campaign.files import write_text
from campaign.lanes.spec import LaneSpec
from reports.findings import replay_command
from shrink.measure import size
from workload.codec import scenario_to_json
from workload.scenario import Scenario


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@options.tier
@options.fault
@options.validations
@click.option("--attempts", type=click.IntRange(1), default=400, help="How many smaller scenarios may run.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the result.  [in or beside PATH]")
def command(
    path: Path, tier: str, faults: tuple[str, ...], validations: bool, attempts: int, out: Path | None
) -> ExitCode:
    """Shrink the failing scenario of a file or failure folder; the class of its failure stays the same.

    In a failure folder, the result replaces scenario.json; original.json stays. If --attempts or Ctrl-C ends
    the search early, the next `dvs shrink` continues it. For a file, the result is shrunk.json beside it.

    Exit status 0: the result is written; 2: the scenario does not fail or is invalid, or the options or the
    set-up are wrong.
    """
    scenario = read_scenario(path)
    spec = LaneSpec(tier=tier, faults=faults, validations=validations, fresh_percent=100)
    lane = spec.build()
    outcome = lane.judge(scenario)
    if not outcome.shrinkable:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        raise CampaignError(
            f"{path}: nothing to shrink: the outcome is {outcome.outcome.value}{reason}; "
            "give --tier, --fault and --no-validations as in the run that failed"
        )
    progress = read_progress(path, spec, scenario) if path.is_dir() else Progress(scenario)
    try:
        with options.interruptible():
            reduced = smallest(lane, scenario, outcome, attempts, progress=progress)
    except KeyboardInterrupt:
        reduced = Reduced(progress.scenario, lane.judge(progress.scenario), False)
    reduced = replace(reduced, outcome=attributed_outcome(reduced.scenario, reduced.outcome, spec))
    if path.is_dir() and out is None:
        target = path
        update_failure(path, reduced.scenario, reduced.outcome, spec)
        write_progress(path, spec, progress)
    else:
        target = out if out is not None else path.parent / "shrunk.json"
        write_text(target, scenario_to_json(reduced.scenario))
    click.echo(f"{reduced.outcome.outcome.value}: {reduced.outcome.reason}")
    click.echo(f"{size_text(scenario)} -> {size_text(reduced.scenario)}")
    click.echo("nothing is left to remove" if reduced.minimal else "not finished: run it again to continue")
    click.echo(replay_command(str(target), spec.options))
    return ExitCode.OK


def size_text(scenario: Scenario) -> str:
    """Returns the size of a scenario: `3 operators, 12 rows, 9 DML`."""
    figures = size(scenario)
    return f"{figures.operators} operators, {figures.rows} rows, {figures.dml} DML"
