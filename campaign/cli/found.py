"""`dvs found`: the bugs that were found in engines that others wrote, and whether they are still there."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.files import write_text
from campaign.found import Standing, check_found, matrix, page, read_found


@click.command()
@click.argument("engines", nargs=-1)
@click.option("--folder", default="found", type=click.Path(), help="Where they lie (default: found).")
@click.option("--check", "checked", is_flag=True, help="Run their programs against the installed engines.")
@click.option("--python", default=sys.executable, help="The Python that has the engines, for --check.")
@click.option("--write", type=click.Path(), help="Write them as a page in Markdown.")
@click.option("--engines", "of_engines", type=click.Path(), help="Write the engines as a page in Markdown.")
def command(
    engines: tuple[str, ...],
    folder: str,
    checked: bool,
    python: str,
    write: str | None,
    of_engines: str | None,
) -> ExitCode:
    """List the bugs that were found in ENGINES, or in all; with --check, whether they are still there.

    The exit status of --check is 0 where each program gave an answer, whatever it is, and 3 otherwise.
    """
    found = read_found(Path(folder))
    known = {engine.key: engine for engine in found}
    if strangers := sorted(set(engines) - known.keys()):
        raise CampaignError(f"no bugs of {strangers[0]!r}; there are those of: {', '.join(known)}")
    chosen = [engine for engine in found if not engines or engine.key in engines]
    if write is not None:
        write_text(Path(write), page(found))
    if of_engines is not None:
        write_text(Path(of_engines), matrix(found))
    if write is not None or of_engines is not None:
        return ExitCode.OK
    unknown = False
    for engine in chosen:
        click.echo(f"{engine.name}, {engine.what}")
        if not checked:
            for bug in engine.bugs:
                click.echo(f"  {bug.name} ({bug.version}): {bug.what}")
            continue
        for run in check_found(engine.bugs, python):
            unknown = unknown or run.standing is Standing.UNKNOWN
            click.echo(f"  {run.bug.name}: {run.standing.value}: {run.told}")
    return ExitCode.UNKNOWN if unknown else ExitCode.OK
