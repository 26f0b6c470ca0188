"""`dvs compare`: two configurations, one set of definitions, no value shown."""

from __future__ import annotations

import dataclasses
import json
import secrets
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from campaign.cli.options import Duration, interruptible
from campaign.comparison import Compared, Disagreement, MaskedRow, compare_runs
from campaign.configuration import configuration
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.folders import SCENARIO_FILE, read_scenario
from campaign.lanes import limits_of, within_limits
from campaign.masking import Mask
from generators.fitting import fit
from generators.generate import scenario_at
from generators.limits import NO_LIMITS, Limits
from generators.profiles import PROFILES, Profile, load_profile
from workload.errors import WorkloadError
from workload.scenario import Scenario
from workload.wellformed import check_scenario

SHOWN = 10
"""Disagreements, and rows of each, that the terminal shows; `--json` has all."""


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--seed", type=int, default=1, show_default=True, help="Which scenarios there are.")
@click.option("--scenarios", type=click.IntRange(1), help="How many to run.  [20]")
@click.option("--budget", type=Duration(), help="How long to run, such as 90s, 10m or 2h.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--profile", default="smoke", show_default=True, help=f"One of {', '.join(PROFILES)}, or a TOML file."
)
@click.option(
    "--scenario",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A scenario file, or a folder of them, instead of random ones; may be repeated.",
)
@click.option(
    "--salt",
    envvar="DVS_SALT",
    help="Of the hashes, to compare them between runs; or as DVS_SALT.  [random, never shown]",
)
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on stdout.")
def command(
    a: str,
    b: str,
    seed: int,
    scenarios: int | None,
    budget: float | None,
    first: int,
    profile: str,
    paths: tuple[Path, ...],
    salt: str | None,
    as_json: bool,
) -> ExitCode:
    """Run the same definitions and data on configurations A and B, and compare contents after every refresh.

    A configuration is TIER[+no-validations][+stock][+fault=NAME][+in=FOLDER], such as rules, delta+stock or
    adapter:NAME. In another FOLDER, a checkout or environment, another version of this program runs it.
    Values are shown only as salted hashes, for data that may not be seen.

    Exit status 0: the same contents everywhere; 1: they differ; 3: nothing differs, but something could not
    be compared.
    """
    if scenarios is not None and budget is not None:
        raise CampaignError(
            "--scenarios and --budget exclude each other: one says how many, the other how long"
        )
    left, right = configuration(a), configuration(b)
    mask = Mask(secrets.token_bytes(32) if salt is None else salt.encode())
    tiers = (left.spec.tier, right.spec.tier)
    wanted = 20 if scenarios is None and budget is None else scenarios
    chosen = (
        stored(paths, limits_of(*tiers))
        if paths
        else drawn(within_limits(load_profile(profile), *tiers), seed, first, wanted)
    )
    deadline = None if budget is None else time.monotonic() + budget
    found: list[Compared] = []
    interrupted = False
    try:
        with left.running() as run_a, right.running() as run_b, interruptible():
            for scenario in chosen:
                found.append(compare_runs(scenario, run_a, run_b, mask))  # kept if interrupted
                if deadline is not None and time.monotonic() >= deadline:
                    break
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        click.echo(json.dumps(as_object(a, b, found, interrupted)))
    else:
        show(a, b, found, interrupted)
    return verdict(found, interrupted)


def drawn(profile: Profile, seed: int, first: int, scenarios: int | None) -> Iterator[Scenario]:
    """Random scenarios."""
    for index in count(first) if scenarios is None else range(first, first + scenarios):
        yield scenario_at(seed, profile, index)


def stored(paths: tuple[Path, ...], limits: Limits) -> list[Scenario]:
    """Kept scenarios, without what is beyond the limits.

    Raises CampaignError naming a file that is none, without a word of what is in it.
    """
    files: list[Path] = []
    for path in paths:
        several = path.is_dir() and not (path / SCENARIO_FILE).is_file()
        below = sorted(path.glob("**/*.json")) if several else [path]
        if not below:
            raise CampaignError(f"no scenario below {path}")
        files.extend(below)
    found = []
    for file in files:
        try:
            scenario = read_scenario(file)
            if limits != NO_LIMITS:
                check_scenario(scenario)
                scenario = fit(scenario, limits)
            found.append(scenario)
        except WorkloadError as error:
            raise CampaignError(f"{file} is no scenario; `dvs replay` shows what is wrong in it") from error
    return found


def verdict(found: list[Compared], interrupted: bool) -> ExitCode:
    """Only what was compared and is the same is 0."""
    if any(one.disagreements for one in found):
        return ExitCode.FAILED
    if interrupted or any(one.undecided for one in found) or not any(one.refreshes for one in found):
        return ExitCode.UNKNOWN
    return ExitCode.OK


def as_object(a: str, b: str, found: list[Compared], interrupted: bool) -> dict[str, object]:
    """The comparison as one JSON object; cells are hashes."""
    return {
        "a": a,
        "b": b,
        "scenarios": len(found),
        "refreshes": sum(one.refreshes for one in found),
        "other_actions": sum(one.other_actions for one in found),
        "interrupted": interrupted,
        "undecided": {one.scenario: one.undecided for one in found if one.undecided},
        "disagreements": [dataclasses.asdict(each) for one in found for each in one.disagreements],
    }


def show(a: str, b: str, found: list[Compared], interrupted: bool) -> None:
    """The comparison for a person."""
    console = Console()
    disagreements = [each for one in found for each in one.disagreements]
    undecided = [one for one in found if one.undecided]
    table = Table(title=f"A = {escape(a)}, B = {escape(b)}", show_header=False)
    table.add_row("scenarios", str(len(found)))
    table.add_row("refreshes compared", str(sum(one.refreshes for one in found)))
    table.add_row("contents differ", str(len(disagreements)), style="bold red" if disagreements else "green")
    table.add_row("other refresh action", str(sum(one.other_actions for one in found)))
    table.add_row("not compared", str(len(undecided)))
    console.print(table)
    if interrupted:
        console.print("interrupted: this is what had been compared by then", highlight=False)
    for each in disagreements[:SHOWN]:
        show_disagreement(console, each)
    if len(disagreements) > SHOWN:
        console.print(f"and {len(disagreements) - SHOWN} more: --json has them all", highlight=False)
    for one in undecided[:SHOWN]:
        console.print(f"not compared: {one.scenario}: {one.undecided}", highlight=False, markup=False)


def show_disagreement(console: Console, each: Disagreement) -> None:
    """Where, of what kind, and the rows as hashes."""
    where = f"{each.scenario}, step {each.step}: {each.table} at {each.timestamp}"
    console.print(f"\n{where}: {each.kind}", highlight=False, markup=False, soft_wrap=True)
    if not each.columns:
        return
    console.print(
        f"  {each.rows_a} rows on A, {each.rows_b} on B; columns: {', '.join(each.columns)}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    for name, rows in (("A", each.only_a), ("B", each.only_b)):
        for row in rows[:SHOWN]:
            console.print(f"  only {name}: {line(row)}", highlight=False, markup=False, soft_wrap=True)


def line(row: MaskedRow) -> str:
    """A row's hashes."""
    return " ".join(row.cells) + (f"  x {row.times}" if row.times > 1 else "")
