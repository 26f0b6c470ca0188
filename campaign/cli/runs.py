"""`dvs runs`: lists past runs, and how their speed changed."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from campaign.cli import options
from campaign.cli.terminal import print_json, print_table
from campaign.exit_codes import ExitCode
from campaign.runs.past_runs import PastRun, past_runs, run_object
from reports.documents import RunsDocument

COLUMNS = "when tier profile seed scenarios tables/s change failures floors folder".split()
NUMBERS = "seed scenarios tables/s change failures".split()


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path(".dvs"))
@options.as_json
def command(folder: Path, as_json: bool) -> ExitCode:
    """List the runs below FOLDER, oldest first: when, what, how many, how fast, what failed.

    The column `change` compares the speed with the run before of the same tier and profile. Exit status 0:
    every run could be read; 2: there is no such folder; 3: a run could not be read.
    """
    past = past_runs(folder)
    if as_json:
        unreadable = {str(path): reason for path, reason in past.unreadable.items()}
        content: RunsDocument = {"runs": [run_object(run) for run in past.runs], "unreadable": unreadable}
        print_json(content)
    else:
        if past.runs:
            print_table(
                f"runs below {folder}", COLUMNS, [row(run, folder) for run in past.runs], numbers=NUMBERS
            )
        else:
            click.echo(f"no run below {folder}")
        for reason in past.unreadable.values():
            click.echo(f"cannot be listed: {reason}", err=True)
    return ExitCode.UNKNOWN if past.unreadable else ExitCode.OK


def row(past: PastRun, below: Path) -> tuple[str | Text, ...]:
    """Returns the row of a run in the table, in the order of COLUMNS."""
    run = past.run
    floors = f"{run.floors_unmet} not met" if run.floors_unmet else "met"
    return (
        run.started.replace("T", " ")[:16],
        run.tier,
        run.profile,
        str(run.seed),
        str(run.scenarios),
        f"{run.rate:.1f}",
        "" if past.change is None else f"{past.change:+.0%}",
        Text(str(past.failures), "bold red" if past.failures else ""),
        "interrupted" if run.interrupted else floors,
        str(past.folder.relative_to(below)),
    )
