"""`dvs doctor`: the set-up of this machine, checked part by part."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from campaign.doctor import Check, Status, examine
from campaign.exit_codes import ExitCode

STYLES = {Status.OK: "green", Status.ABSENT: "yellow", Status.FAILED: "bold red", Status.SKIPPED: "yellow"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as one JSON object.")
def command(as_json: bool) -> ExitCode:
    """Check that this machine can run everything, by running a little of everything.

    What only some need may be absent. Exit status 0 if all else is well, 2 if the set-up is wrong.
    """
    progress = Console(stderr=True)
    checks: list[Check] = []
    with progress.status("checking") as status:
        for check in examine():
            checks.append(check)
            status.update(f"{check.name}: {check.status.value}; checking on")
    well = all(check.status in (Status.OK, Status.ABSENT) for check in checks)
    if as_json:
        click.echo(json.dumps({"ok": well, "checks": [as_object(check) for check in checks]}, indent=2))
    else:
        Console().print(as_table(checks))
    return ExitCode.OK if well else ExitCode.MISUSE


def as_object(check: Check) -> dict[str, str]:
    """A check as a JSON object."""
    return {**asdict(check), "status": check.status.value}


def as_table(checks: Sequence[Check]) -> Table:
    """The checks as a table, with a column of remedies only if one is needed."""
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("part", no_wrap=True)
    table.add_column("")
    table.add_column("found", overflow="fold")
    remedies = any(check.remedy for check in checks)
    if remedies:
        table.add_column("what to do", overflow="fold")
    for check in checks:
        style = STYLES[check.status]
        cells = [Text(check.name), Text(check.status.value, style=style), Text(check.found)]
        table.add_row(*cells, *([Text(check.remedy)] if remedies else []))
    return table
