"""`dvs fuzz`: the main job."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from campaign.campaigns import run_campaign
from campaign.cli.known import known_failures, known_failures_option, shrink_budget_option, shrink_option
from campaign.cli.options import Duration, TierName, exit_code, interruptible, worst
from campaign.cli.progress import progress_of
from campaign.cli.request import Request, resumed
from campaign.cli.shown import print_summary
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget
from campaign.journal import JOURNAL_FILE
from campaign.lanes import Lifting
from campaign.spread import ALL
from generators.profiles import PROFILES
from reports.json_summary import summary_object


@click.command()
@click.option(
    "--tier",
    type=TierName(ALL),
    default="rules",
    show_default=True,
    help=f"Where scenarios run; {ALL}: one tier after the other, by the profile's shares.",
)
@click.option(
    "--lift",
    type=click.Choice([lifting.value for lifting in Lifting]),
    help="Run many worlds as one: refresh intervals, or databases.  [intervals on Spark, else none]",
)
@click.option(
    "--worlds",
    type=click.IntRange(2, 5000),
    default=200,
    show_default=True,
    help="How many databases.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Which scenarios there are.")
@click.option("--scenarios", type=click.IntRange(1), help="How many to run.")
@click.option("--budget", type=Duration(), help="How long to run, such as 90s, 10m or 2h.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; on Spark threads.  [2; on Spark 4]")
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
    help="Folder for journal, report and failures; without --resume a run there begins anew.",
)
@click.option("--master", default="", help="Judge on an existing Spark cluster, spark://host:7077.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out; what is not said stays as it was.")
@shrink_option
@shrink_budget_option
@known_failures_option
@click.option("--fault", multiple=True, help="Plant a fault first (see `dvs mutants --list`).")
@click.option(
    "--validations/--no-validations", default=True, help="The engine's own validations of change sets."
)
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on stdout.")
def command(
    tier: str,
    lift: str | None,
    worlds: int,
    seed: int,
    scenarios: int | None,
    budget: float | None,
    workers: int | None,
    profile: str,
    first: int,
    out: Path,
    master: str,
    resume: bool,
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
    request = Request(
        tier=tier,
        lift=lift,
        worlds=worlds,
        seed=seed,
        scenarios=scenarios,
        budget=budget,
        workers=workers,
        profile=profile,
        first=first,
        master=master,
        fault=fault,
        validations=validations,
        shrink=shrink,
        shrink_budget=shrink_budget,
        ignore=None if ignore is None else str(ignore),
    )
    if resume:
        request = resumed(request, out, given)
    spread = request.tier == ALL
    campaign = partial(
        run_campaign,
        asked=request.words,
        shrinking=ShrinkBudget(failures=request.shrink, seconds=request.shrink_budget),
        ignored=known_failures(request.ignore),
        told=say_nothing if as_json else partial(click.echo, err=True),
    )
    summaries = []
    for plan, spec in request.campaigns():
        folder = out / spec.tier if spread else out
        goes_on = resume and (not spread or (folder / JOURNAL_FILE).exists())
        with interruptible(), progress_of(plan.scenarios, plan.budget, as_json) as progress:
            summaries.append(campaign(plan, spec, folder, progress, resume=goes_on))
        if not as_json:
            print_summary(summaries[-1], folder)
        if summaries[-1].interrupted:
            break
    if as_json:
        found = [summary_object(summary) for summary in summaries]
        click.echo(json.dumps(found if spread else found[0]))
    return worst(exit_code(summary) for summary in summaries)


def given(option: str) -> bool:
    """Whether an option was given, and is not the default."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT


def say_nothing(text: str) -> None:
    """For output that only machines read."""
