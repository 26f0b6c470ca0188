"""`dvs replay`: one stored scenario, run and judged again."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from campaign.cli.options import TierName
from campaign.exit_codes import ExitCode
from campaign.folders import read_scenario
from campaign.lanes import LaneSpec
from campaign.settling import asked_elsewhere, settled
from reports.difference import diff_block
from reports.findings import by_diagnosis, summary_text
from workload.results import Outcome, OutcomeClass

CODES = {
    OutcomeClass.PASSED: ExitCode.OK,
    OutcomeClass.PRODUCT_FAILURE: ExitCode.FAILED,
    OutcomeClass.GENERATOR_INVALID: ExitCode.MISUSE,
}


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--tier", type=TierName(), default="rules", show_default=True)
@click.option("--fault", multiple=True, help="Plant a fault first (see `dvs mutants --list`).")
@click.option(
    "--validations/--no-validations", default=True, help="The engine's own validations of change sets."
)
@click.option("--json", "as_json", is_flag=True)
def command(path: Path, tier: str, fault: tuple[str, ...], validations: bool, as_json: bool) -> ExitCode:
    """Run the scenario of a file or failure folder again.

    Exit status 0: it passes; 1: a product failure; 2: the file makes no sense; 3: it could not be judged.
    """
    scenario = read_scenario(path)
    spec = LaneSpec(tier=tier, faults=fault, validations=validations, fresh_percent=100)
    outcome = spec.build().judge(scenario)
    ask = asked_elsewhere(spec) if outcome.outcome is OutcomeClass.DIVERGENCE else None
    if ask is not None:
        outcome = settled(outcome, ask(scenario, outcome))
    if as_json:
        click.echo(json.dumps(as_object(outcome)))
    else:
        show(outcome)
    return CODES.get(outcome.outcome, ExitCode.UNKNOWN)


def as_object(outcome: Outcome) -> dict[str, object]:
    """The outcome as one JSON object."""
    return {
        "scenario": outcome.scenario,
        "outcome": outcome.outcome.value,
        "reason": outcome.reason,
        "killer": None if outcome.killer is None else outcome.killer.value,
        "refreshes": outcome.refreshes,
        "checks": outcome.checks,
        "findings": [
            {
                "check": f.check.value,
                "table": f.table,
                "step": f.step,
                "timestamp": f.timestamp,
                "message": f.message,
                "votes": dict(f.votes),
            }
            for f in by_diagnosis(outcome)
        ],
    }


def show(outcome: Outcome) -> None:
    """The outcome for a person: what failed, and the rows that differ."""
    console = Console()
    console.print(summary_text(outcome), highlight=False, markup=False, soft_wrap=True)
    for finding in by_diagnosis(outcome):
        console.print(
            f"\n{finding.check.value}: {finding.table} at {finding.timestamp}: {finding.message}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        if finding.difference is not None:
            console.print(diff_block(finding.difference), highlight=False, markup=False, soft_wrap=True)
