"""`dvs fuzz`: the main job."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from campaign.campaigns import run_campaign
from campaign.cli.options import Duration, TierName, exit_code, interruptible
from campaign.cli.progress import progress_of
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.lanes import LaneSpec, profile_for
from campaign.runner import Plan
from generators.profiles import PROFILES, load_profile
from reports.findings import replay_command
from reports.json_summary import summary_object
from workload.results import RunSummary


@click.command()
@click.option("--tier", type=TierName(), default="rules", show_default=True, help="Where scenarios run.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which scenarios there are.")
@click.option("--scenarios", type=click.IntRange(1), help="How many to run.")
@click.option("--budget", type=Duration(), help="How long to run, such as 90s, 10m or 2h.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option(
    "--profile", default="smoke", show_default=True, help=f"One of {', '.join(PROFILES)}, or a TOML file."
)
@click.option(
    "--first", type=click.IntRange(0), default=0, show_default=True, help="Index of the first scenario."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(".dvs/run"),
    show_default=True,
    help="Folder for report and failures.",
)
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on stdout.")
def command(
    tier: str,
    seed: int,
    scenarios: int | None,
    budget: float | None,
    workers: int,
    profile: str,
    first: int,
    out: Path,
    as_json: bool,
) -> ExitCode:
    """Run random dynamic tables and compare every refresh with the truth.

    Exit status 0: all passed and every floor was met; 1: a product failure; 3: nothing failed, but floors
    were not met, engines diverged, or something could not be judged; 2: the request or set-up is wrong.
    """
    if scenarios is not None and budget is not None:
        raise CampaignError(
            "--scenarios and --budget exclude each other: one says how many, the other how long"
        )
    plan = Plan(
        seed=seed,
        profile=profile_for(tier, load_profile(profile)),
        scenarios=200 if scenarios is None and budget is None else scenarios,
        budget=budget,
        workers=workers,
        first=first,
    )
    spec = LaneSpec(tier=tier, fresh_percent=plan.profile.fresh_percent)
    with interruptible(), progress_of(plan.scenarios, budget, as_json) as progress:
        summary = run_campaign(plan, spec, out, progress)
    if as_json:
        click.echo(json.dumps(summary_object(summary)))
    else:
        print_summary(summary, out)
    return exit_code(summary)


def print_summary(summary: RunSummary, out: Path) -> None:
    """The summary table, the failures, and where the report is."""
    console = Console()
    table = Table(title=f"{summary.tier}, profile {summary.profile}, seed {summary.seed}", show_header=False)
    rate = summary.definitions / summary.seconds if summary.seconds else 0.0
    table.add_row("scenarios", str(summary.scenarios))
    table.add_row("dynamic tables", f"{summary.definitions} ({rate:.1f} per second)")
    table.add_row("refreshes", str(summary.refreshes))
    table.add_row("checks", str(summary.checks))
    if summary.left_out:
        table.add_row("not checked", "\n".join(summary.left_out))
    for name, count in summary.outcomes.items():
        if count or name == "passed":
            table.add_row(
                name.replace("_", " "), str(count), style="green" if name == "passed" else "bold red"
            )
    table.add_row(
        "floors", "met" if summary.coverage.floors_met else f"{len(summary.coverage.unmet)} not met"
    )
    table.add_row("seconds", f"{summary.seconds:.1f}")
    console.print(table)
    if summary.interrupted:
        console.print("interrupted: this is what had been judged by then", highlight=False)
    for name, (reached, wanted) in summary.coverage.unmet.items():
        console.print(f"floor not met: {name}: {reached} of {wanted}", highlight=False)
    for failure in summary.failures:
        console.print(
            f"{failure.outcome.outcome.value}: {failure.outcome.reason}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        again = replay_command(failure.folder, summary.tier)
        console.print(f"  {again}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"report: {out / 'report.html'}", highlight=False, soft_wrap=True)
