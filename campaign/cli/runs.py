"""`dvs runs`: what ran before, and where it is heading."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from campaign.exit_codes import ExitCode
from campaign.past_runs import PastRun, past_runs, run_object

TABLE_WIDTH = 130
"""Columns that a run with a folder of usual length needs, where there is no terminal."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path(".dvs"))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(folder: Path, as_json: bool) -> ExitCode:
    """List the runs below FOLDER, oldest first: when, what, how many, how fast, what failed.

    The speed is compared with the run before of the same tier and profile. Exit status 0: all could be
    read; 3: some could not.
    """
    runs, unreadable = past_runs(folder)
    if as_json:
        content = {
            "runs": [run_object(run) for run in runs],
            "unreadable": {str(one.folder): one.reason for one in unreadable},
        }
        click.echo(json.dumps(content, indent=2))
        return ExitCode.UNKNOWN if unreadable else ExitCode.OK
    if runs:
        console = Console()
        (console if console.is_terminal else Console(width=TABLE_WIDTH)).print(as_table(runs, folder))
    else:
        click.echo(f"no run below {folder}")
    for one in unreadable:
        click.echo(f"cannot be listed: {one.reason}", err=True)
    return ExitCode.UNKNOWN if unreadable else ExitCode.OK


COLUMNS = "when tier profile seed scenarios tables/s change failures floors folder".split()
WORDS = "when tier profile floors folder".split()


def as_table(runs: list[PastRun], below: Path) -> Table:
    """A line a run."""
    table = Table(title=f"runs below {escape(str(below))}")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in WORDS else "right")
    for run in runs:
        floors = "interrupted" if run.interrupted else "met" if not run.unmet else f"{run.unmet} not met"
        table.add_row(
            run.started.replace("T", " ")[:16],
            escape(run.tier),
            escape(run.profile),
            str(run.seed),
            str(run.scenarios),
            f"{run.rate:.1f}",
            "" if run.change is None else f"{run.change:+.0%}",
            f"[bold red]{run.failures}[/]" if run.failures else "0",
            floors,
            escape(str(run.folder.relative_to(below))),
        )
    return table
