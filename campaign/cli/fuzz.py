"""`dvs fuzz`: runs random scenarios and judges every refresh; the main command."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from campaign.cli import options
from campaign.cli.progress import progress_of
from campaign.cli.terminal import print_json, print_table
from campaign.exit_codes import EXIT_CODES, ExitCode
from campaign.runs.campaign import run_plan
from campaign.runs.journal import JOURNAL_FILE
from campaign.runs.options import MOST_WORLDS, CampaignOptions, resumed
from campaign.runs.spread import ALL, ENGINES, SEVERAL
from engines.registry import ADAPTER
from reports.figures import cost_sentences
from reports.findings import breakage_text, group_text, replay_command
from reports.json_summary import summary_object
from workload.lift.kind import Lifting
from workload.outcomes.results import Refusal, RunSummary
from workload.outcomes.run_verdict import amplified_percent, run_verdict, worst


@click.command()
@click.option(
    "--tier",
    type=options.TierName(ALL, ENGINES),
    default="rules",
    help=f"The engine that runs the scenarios; {ALL}: one tier after the other, by the profile's shares; "
    f"{ENGINES}: each engine of others that is installed.",
)
@click.option(
    "--lift",
    type=click.Choice([lifting.value for lifting in Lifting]),
    help="Judge many refresh intervals, or many databases, in one run.  [intervals on Spark, else none]",
)
@click.option(
    "--worlds",
    type=click.IntRange(2, MOST_WORLDS),
    default=200,
    help="How many databases `--lift databases` judges in one run.",
)
@options.seed
@click.option("--scenarios", type=click.IntRange(1), help="How many scenarios to run.  [200]")
@options.budget
@click.option(
    "--least",
    type=click.IntRange(1),
    help="With --budget alone: fewer scenarios leave the run undecided.  [rules 100, spark 50, others 20]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    help="Number of worker processes; on Spark of threads.  [2; on Spark 4]",
)
@options.profile
@options.definitions
@options.floor
@options.values
@options.show_values
@options.first
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(".dvs/run"),
    help="Folder for the journal, the reports and the failures; without --resume it gets a new run.",
)
@click.option(
    "--master",
    default="",
    show_default=False,
    help="Judge on an existing Spark cluster, given as spark://host:7077.",
)
@click.option(
    "--resume", is_flag=True, help="Continue the run in --out; options not given keep their original values."
)
@options.shrink
@options.shrink_budget
@options.ignore
@options.fault
@options.validations
@options.as_json
def command(out: Path, resume: bool, as_json: bool, **values: Any) -> ExitCode:
    """Run random dynamic tables and compare every refresh with the oracle.

    Failures are shrunk and shown by cause. Exit status 0: every scenario passed (known failures aside) and
    every coverage floor was met; 1: a product failure; 2: the options or the set-up are wrong; 3: nothing
    failed, but the run is undecided: a floor was not met, engines diverged, a failure did not happen again,
    a scenario could not be judged, or too few ran before the time was over: fewer than --scenarios, or
    than --least where only --budget is given.
    """
    wanted = CampaignOptions(**values)
    if resume:
        wanted = resumed(wanted, out, options.given)
    all_tiers = wanted.tier in SEVERAL
    campaign = partial(
        run_plan,
        options=wanted.as_json(),
        shrinking=wanted.shrinking,
        ignored=wanted.known_failures(),
        report=lambda text: None if as_json else click.echo(text, err=True),
    )
    summaries = []
    for plan, spec in wanted.campaigns():
        folder = out / spec.tier.removeprefix("adapter:") if all_tiers else out
        # A run over all tiers may have ended before this tier began.
        resume_here = resume and (not all_tiers or (folder / JOURNAL_FILE).exists())
        with options.interruptible(), progress_of(plan.scenarios, plan.budget, as_json) as progress:
            summaries.append(campaign(plan, spec, folder, progress, resume=resume_here))
        if not as_json:
            print_summary(summaries[-1], folder)
        if summaries[-1].interrupted:
            break
    if as_json:
        objects = [summary_object(summary) for summary in summaries]
        print_json(objects if all_tiers else objects[0])
    return EXIT_CODES[worst(run_verdict(summary).decision for summary in summaries)]


def print_summary(summary: RunSummary, out: Path) -> None:
    """Prints the summary of a run, the failures by cause, and the path of the report in folder `out`."""
    title = f"{summary.tier}, profile {summary.profile}, seed {summary.seed}"
    print_table(title, (), _figures(summary))
    if summary.interrupted:
        click.echo("interrupted: these are the scenarios judged by then; continue with --resume")
    for name, judged in summary.definitions_judged.items():
        covered = (
            f"{judged.mode}, {judged.coverage:.0%} of {judged.goals} goals in {judged.scenarios} scenarios"
        )
        click.echo(f"{name}: {f'not judged: {judged.reason}' if judged.reason else covered}")
    for name, floor in summary.coverage.unmet.items():
        click.echo(f"floor not met: {name}: {floor.reached} of {floor.wanted}")
    for sentence in cost_sentences(summary.cost):
        click.echo(sentence)
    failures = {failure.index: failure for failure in summary.failures}
    for number, group in enumerate(summary.groups, 1):
        failure = failures[group.representative]
        click.echo(f"group {number}: {group_text(group)}")
        click.echo(f"  {failure.outcome.reason}")
        if failure.outcome.breakage is not None:
            click.echo(f"  {breakage_text(failure.outcome.breakage, given=True)}")
        click.echo(f"  {replay_command(failure.folder, failure.options)}")
    if summary.refusals:
        print_table(
            "what the engine refused", ("scenarios", "message", "limit"), map(refusal_row, summary.refusals)
        )
    for note in summary.rule_notes:
        click.echo(f"ignore rule {note}")
    click.echo(f"report: {out / 'report.html'}")


def refusal_row(refusal: Refusal) -> tuple[str, str, str]:
    """Returns a row of the table of refusals: number of scenarios, message, the limit that excludes them."""
    return str(len(refusal.indices)), refusal.message[:LONGEST_MESSAGE], refusal.limit


LONGEST_MESSAGE = 100
"""Characters of a message that the table of refusals shows."""


def _figures(summary: RunSummary) -> Iterator[tuple[str, str | Text]]:
    """Yields the rows of the summary's table: a name and its figure."""

    def per_second(count: int) -> float:
        return count / summary.seconds if summary.seconds else 0.0

    too_few = summary.scenarios < summary.wanted
    wanted = f" of {summary.wanted}, time over" if too_few else ""
    yield "scenarios", f"{summary.scenarios}{wanted}"
    yield "dynamic tables", f"{summary.definitions} ({per_second(summary.definitions):.1f} per second)"
    yield "refreshes", str(summary.refreshes)
    yield "checks", str(summary.checks)
    if summary.judgements > summary.refreshes:
        yield "judgements", f"{summary.judgements} ({per_second(summary.judgements):.0f} per second)"
    if summary.changes:
        yield "changed rows", f"{summary.changes} ({amplified_percent(summary):.0f} % without effect)"
    if summary.not_checked:
        yield "not checked", "\n".join(summary.not_checked)
    for name, count in summary.outcomes.items():
        if name == "passed":
            yield name, Text(str(count), "green")
        elif count:
            yield name.replace("_", " "), Text(str(count), "bold red")
    unmet, idle = len(summary.coverage.unmet), len(summary.coverage.too_small)
    longer = f"; {idle} apply to longer runs only" if idle else ""
    yield "floors", (f"{unmet} not met" if unmet else "met") + longer
    yield "seconds", f"{summary.seconds:.1f}"
    total = sum(summary.time_split.values())
    if total and summary.tier.startswith(ADAPTER):
        parts = sorted(summary.time_split.items(), key=lambda part: -part[1])
        yield "time", ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in parts)
