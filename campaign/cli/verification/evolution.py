"""`dvs verify evolution`: changes rows, columns, tables and views that dynamic tables on Delta read."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.terminal import print_json
from campaign.exit_codes import EXIT_CODES, ExitCode
from reports.documents import EvolutionDocument

if TYPE_CHECKING:
    from campaign.verify.evolution import Evolved


@click.command()
@click.option(
    "--stories", type=click.IntRange(1), default=12, show_default=True, help="Accounts, one by one."
)
@click.option("--steps", type=click.IntRange(1), default=14, show_default=True, help="Changes in each.")
@options.seed
@options.as_json
def evolution(stories: int, steps: int, seed: int, as_json: bool) -> ExitCode:
    """Columns that come, go, move, or get other names or types; tables and views that are replaced.

    After each change thirteen dynamic tables on Delta are refreshed. Each must be what Spark gives for its
    query over the tables as they are now, or fail, keep its contents, and have a query that Spark refuses.
    Exit status 0: so it is; 1: something is wrong, and the story is shown; 3: a kind of change was not met.
    """
    # Imported here, so that `dvs verify --help` starts no Spark.
    from campaign.verify.evolution import evolve
    from dynamic_tables.session import Settings, open_session

    def progress(done: int) -> None:
        if not as_json:
            click.echo(f"{done} of {stories} stories", err=True)

    start = time.perf_counter()
    spark = open_session(app_name="dvs-evolution", settings=Settings.TUNED)
    with tempfile.TemporaryDirectory(prefix="dvs-evolution-") as folder:
        seeds = range(seed, seed + stories)
        result = evolve(spark, Path(folder), seeds=seeds, steps=steps, progress=progress)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(document(result, seconds))
    else:
        click.echo(text(result, seconds))
    return EXIT_CODES[result.decision]


def document(result: Evolved, seconds: float) -> EvolutionDocument:
    """Returns the result as JSON data."""
    return {
        "seconds": round(seconds, 1),
        "stories": result.stories,
        "met": dict(sorted(result.met.items())),
        "unmet": list(result.unmet),
        "wrong": [
            {"seed": each.seed, "message": each.message, "story": list(each.told)} for each in result.wrong
        ],
    }


def text(result: Evolved, seconds: float) -> str:
    """Returns the result for a terminal."""
    met = ", ".join(f"{count} {name}" for name, count in sorted(result.met.items()))
    lines = [f"{result.stories} stories, {seconds:.0f} s", f"  {met}"]
    for each in result.wrong:
        lines += [f"  WRONG at seed {each.seed}: {each.message}", *(f"    {line}" for line in each.told)]
    if not result.wrong:
        lacking = ", ".join(result.unmet) if result.steps else "a change"
        lines.append(f"  not shown: {lacking}" if lacking else "  nothing wrong")
    return "\n".join(lines)
