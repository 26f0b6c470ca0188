"""`dvs doctor`: checks the set-up of this machine part by part."""

from collections.abc import Sequence
from dataclasses import dataclass

import click
from rich.console import Console
from rich.text import Text

from campaign.cli import options
from campaign.cli.setup_checks import SetupCheck, Status, examine
from campaign.cli.terminal import print_json, print_table
from campaign.exit_codes import ExitCode


@dataclass(frozen=True, slots=True)
class Doctor:
    """What `dvs doctor --json` prints. `ok`: all works, apart from parts that only some users need."""

    ok: bool
    checks: Sequence[SetupCheck]


STYLES = {Status.OK: "green", Status.ABSENT: "yellow", Status.FAILED: "bold red", Status.SKIPPED: "yellow"}


@click.command()
@options.as_json
def command(as_json: bool) -> ExitCode:
    """Check that this machine can run everything, by running a little of everything.

    Parts that only some users need may be absent. Exit status 0: all other parts work; 2: one does not.
    """
    checks: list[SetupCheck] = []
    with Console(stderr=True).status("checking") as status:
        for check in examine():
            checks.append(check)
            status.update(f"{check.name}: {check.status.value}; checking the next part")
    all_good = all(check.status in (Status.OK, Status.ABSENT) for check in checks)
    if as_json:
        print_json(Doctor(all_good, checks))
    else:
        rows = [
            (check.name, Text(check.status.value, STYLES[check.status]), check.message, check.remedy)
            for check in checks
        ]
        print_table("", ("part", "status", "result", "what to do"), rows, one_line=("part",))
    return ExitCode.OK if all_good else ExitCode.MISUSE
