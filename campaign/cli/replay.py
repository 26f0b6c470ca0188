"""`dvs replay`: runs one stored scenario again and judges it."""

from __future__ import annotations

from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.terminal import print_json
from campaign.exit_codes import ExitCode
from campaign.failures.attribution import attributed_outcome
from campaign.failures.folders import read_scenario
from campaign.lanes.spec import LaneSpec
from reports.difference import diff_block
from reports.documents import OutcomeDocument
from reports.findings import breakage_text, by_diagnosis, summary_text
from reports.json_summary import finding_object
from workload.outcomes.results import Outcome, OutcomeClass

CODES = {
    OutcomeClass.PASSED: ExitCode.OK,
    OutcomeClass.PRODUCT_FAILURE: ExitCode.FAILED,
    OutcomeClass.GENERATOR_INVALID: ExitCode.MISUSE,
}


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@options.tier
@options.fault
@options.validations
@options.as_json
def command(path: Path, tier: str, faults: tuple[str, ...], validations: bool, as_json: bool) -> ExitCode:
    """Run the scenario of a file or failure folder again, and show what fails.

    Exit status 0: it passes; 1: a product failure; 2: the scenario is invalid, or the options or the set-up
    are wrong; 3: it could not be judged, or PATH is an empty folder.
    """
    if path.is_dir() and not any(path.iterdir()):
        reason = f"{path} is empty, so nothing was replayed; give a scenario file or a failure folder"
        nothing: OutcomeDocument = {"outcome": "undecided", "reason": reason}
        if as_json:
            print_json(nothing)
        else:
            click.echo(reason)
        return ExitCode.UNKNOWN
    scenario = read_scenario(path)
    spec = LaneSpec(tier=tier, faults=faults, validations=validations, fresh_percent=100)
    outcome = attributed_outcome(scenario, spec.build().judge(scenario), spec)
    if as_json:
        print_json(as_object(outcome))
    else:
        show(outcome)
    return CODES.get(outcome.outcome, ExitCode.UNKNOWN)


def as_object(outcome: Outcome) -> OutcomeDocument:
    """Returns the outcome as JSON data; campaign.failures.attribution reads it too."""
    return {
        "scenario": outcome.scenario,
        "outcome": outcome.outcome.value,
        "reason": outcome.reason,
        "killer": None if outcome.killer is None else outcome.killer.value,
        "refreshes": outcome.refreshes,
        "checks": outcome.checks,
        "findings": [finding_object(finding) for finding in by_diagnosis(outcome)],
    }


def show(outcome: Outcome) -> None:
    """Prints the outcome: each failed check, and the rows that differ."""
    click.echo(summary_text(outcome))
    for finding in by_diagnosis(outcome):
        click.echo(f"\n{finding.check.value}: {finding.table} at {finding.timestamp}: {finding.message}")
        if finding.difference is not None:
            click.echo(diff_block(finding.difference))
    if outcome.breakage is not None:
        texts = "".join(f"  {statement}\n" for statement in outcome.breakage.statements)
        click.echo(f"\n{breakage_text(outcome.breakage)}\n{texts}{outcome.breakage.traceback}")
