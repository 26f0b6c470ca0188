"""`dvs fuzz`: the main job."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from campaign.campaigns import run_campaign
from campaign.cli.options import Duration, TierName, exit_code, interruptible, worst
from campaign.cli.progress import progress_of
from campaign.cli.shown import print_summary
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.failures import ShrinkBudget
from campaign.ignore import IgnoreRules, read_ignore_file
from campaign.journal import JOURNAL_FILE, read_head
from campaign.lanes import LaneSpec, Lifting, profile_for
from campaign.mutation import known_faults
from campaign.runner import Plan
from campaign.spread import ALL, parts
from generators.profiles import PROFILES, load_profile
from reports.json_summary import summary_object

ON_CLUSTER = 16
"""Chunks that are under way on a cluster at once, unless `--workers` says otherwise."""


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
    if scenarios is not None and budget is not None:
        raise CampaignError(
            "--scenarios and --budget exclude each other: one says how many, the other how long"
        )
    if resume and tier != ALL:
        head = head_to_resume(out)
        tier, seed, first, profile = (of_run(head, name) for name in ("tier", "seed", "first", "profile"))
        lift, worlds = of_run(head, "lift"), of_run(head, "worlds")
        if scenarios is None and budget is None:
            scenarios, budget = head["scenarios"], head["budget"]
    plan = Plan(
        seed=seed,
        profile=profile_for(tier, load_profile(profile)),
        scenarios=200 if scenarios is None and budget is None else scenarios,
        budget=budget,
        first=first,
        master=master,
    )
    campaign = partial(
        run_campaign,
        shrinking=ShrinkBudget(failures=shrink, seconds=shrink_budget),
        ignored=known_failures(ignore),
        told=say_nothing if as_json else partial(click.echo, err=True),
    )
    summaries = []
    for name, part in parts(plan) if tier == ALL else [(tier, plan)]:
        spec = replace(
            lane_spec(name, lift, worlds, plan.profile.fresh_percent),
            faults=known_faults(fault),
            validations=validations,
        )
        part = replace(part, workers=workers or (ON_CLUSTER if master else spec.kind.workers))
        folder = out / name if tier == ALL else out
        goes_on = resume and (tier != ALL or (folder / JOURNAL_FILE).exists())
        with interruptible(), progress_of(part.scenarios, part.budget, as_json) as progress:
            summaries.append(campaign(part, spec, folder, progress, resume=goes_on))
        if not as_json:
            print_summary(summaries[-1], folder)
        if summaries[-1].interrupted:
            break
    if as_json:
        found = [summary_object(summary) for summary in summaries]
        click.echo(json.dumps(found if tier == ALL else found[0]))
    return worst(exit_code(summary) for summary in summaries)


def head_to_resume(out: Path) -> Mapping[str, Any]:
    """How the run in a folder was asked for. Raises CampaignError: it cannot be asked for like that again."""
    head = read_head(out)
    profile = of_run(head, "profile")
    if profile == head["profile"] and profile not in PROFILES:
        raise CampaignError(
            f"{out} holds a run of profile {profile}, which was a file: give it again with --profile FILE"
        )
    return head


def of_run(head: Mapping[str, Any], name: str) -> Any:
    """An option of a run that goes on: as given now, else as it was."""
    context = click.get_current_context()
    if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
        return context.params[name]
    lane = head["lane"]
    of_lane = {"tier": lane["tier"], "lift": lane["lifting"], "worlds": lane["worlds"]}
    return of_lane[name] if name in of_lane else head[name]


def lane_spec(tier: str, lift: str | None, worlds: int, fresh_percent: int) -> LaneSpec:
    """The lane that the options ask for."""
    lifting = None if lift is None else Lifting(lift)
    return LaneSpec(
        tier=tier,
        lifting=lifting,
        worlds=worlds if lifting is Lifting.DATABASES else 1,
        fresh_percent=fresh_percent,
    )


def known_failures(file: Path | None) -> IgnoreRules:
    """The ignore rules as they are today; none without a file."""
    rules = () if file is None else read_ignore_file(file)
    return IgnoreRules.on(rules, dt.datetime.now(dt.UTC).date())


def say_nothing(text: str) -> None:
    """For output that only machines read."""
