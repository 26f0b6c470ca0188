"""`dvs fuzz`: the main job."""

from __future__ import annotations

import datetime as dt
import json
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from campaign.campaigns import run_campaign
from campaign.cli.options import Duration, exit_code, interruptible
from campaign.cli.progress import progress_of
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget
from campaign.ignore import IgnoreRules, read_ignore_file
from campaign.lanes import TIERS, LaneSpec
from campaign.mutation import known_faults
from campaign.runner import Plan
from generators.profiles import PROFILES, load_profile
from reports.findings import group_text, replay_command
from reports.json_summary import summary_object
from workload.results import RunSummary


@click.command()
@click.option(
    "--tier", type=click.Choice(list(TIERS)), default="rules", show_default=True, help="Where scenarios run."
)
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
@click.option("--shrink", type=click.IntRange(0), default=24, show_default=True, help="Failures to shrink.")
@click.option(
    "--shrink-budget", type=Duration(), default="2m", show_default=True, help="For shrinking, after the run."
)
@click.option(
    "--ignore",
    type=click.Path(path_type=Path),
    help="TOML file of known failures, each with issue and expiry.",
)
@click.option("--fault", multiple=True, help="Plant a fault first (see `dvs mutants --list`).")
@click.option(
    "--validations/--no-validations", default=True, help="The engine's own validations of change sets."
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
    shrink: int,
    shrink_budget: float,
    ignore: Path | None,
    fault: tuple[str, ...],
    validations: bool,
    as_json: bool,
) -> ExitCode:
    """Run random dynamic tables and compare every refresh with the truth.

    Failures are shrunk and shown by cause. Exit status 0: all passed (known failures aside) and every floor
    was met; 1: a product failure; 3: nothing failed, but floors were not met, engines diverged, a failure
    did not happen again, or something could not be judged; 2: the request or set-up is wrong.
    """
    if scenarios is not None and budget is not None:
        raise CampaignError(
            "--scenarios and --budget exclude each other: one says how many, the other how long"
        )
    plan = Plan(
        seed=seed,
        profile=load_profile(profile),
        scenarios=200 if scenarios is None and budget is None else scenarios,
        budget=budget,
        workers=workers,
        first=first,
    )
    spec = LaneSpec(
        tier=tier,
        faults=known_faults(fault),
        validations=validations,
        fresh_percent=plan.profile.fresh_percent,
    )
    ignored = known_failures(ignore)
    with interruptible(), progress_of(plan.scenarios, budget, as_json) as progress:
        summary = run_campaign(
            plan,
            spec,
            out,
            progress,
            shrinking=ShrinkBudget(failures=shrink, seconds=shrink_budget),
            ignored=ignored,
            told=say_nothing if as_json else partial(click.echo, err=True),
        )
    if as_json:
        click.echo(json.dumps(summary_object(summary)))
    else:
        print_summary(summary, out)
    return exit_code(summary)


def known_failures(file: Path | None) -> IgnoreRules:
    """The ignore rules as they are today; none without a file."""
    rules = () if file is None else read_ignore_file(file)
    return IgnoreRules.on(rules, dt.datetime.now(dt.UTC).date())


def say_nothing(text: str) -> None:
    """For output that only machines read."""


def print_summary(summary: RunSummary, out: Path) -> None:
    """The summary table, the failures, and where the report is."""
    console = Console()
    table = Table(title=f"{summary.tier}, profile {summary.profile}, seed {summary.seed}", show_header=False)
    rate = summary.definitions / summary.seconds if summary.seconds else 0.0
    table.add_row("scenarios", str(summary.scenarios))
    table.add_row("dynamic tables", f"{summary.definitions} ({rate:.1f} per second)")
    table.add_row("refreshes", str(summary.refreshes))
    table.add_row("checks", str(summary.checks))
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
    print_groups(summary, console)
    console.print(f"report: {out / 'report.html'}", highlight=False, soft_wrap=True)


def print_groups(summary: RunSummary, console: Console) -> None:
    """The failures by cause, each with the command that shows one of them."""
    kept = {failure.index: failure for failure in summary.failures}

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    for number, group in enumerate(summary.groups, 1):
        failure = kept[group.representative]
        say(f"group {number}: {group_text(group)}")
        say(f"  {failure.outcome.reason}")
        say(f"  {replay_command(failure.folder, failure.options)}")
    for note in summary.rule_notes:
        say(f"ignore rule {note}")
