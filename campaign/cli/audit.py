"""`dvs audit`: compares every dynamic table of a deployed account with its defining query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.progress import steps_of
from campaign.cli.terminal import print_json, print_table
from campaign.exit_codes import ExitCode
from campaign.files import write_text
from dynamic_tables.moment import moment
from reports.documents import AuditDocument

if TYPE_CHECKING:
    from campaign.audit.audit import Audit, AuditedTable

CELL = 60
"""Characters of a value that are shown."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--table", "only", multiple=True, help="Only this dynamic table; may be repeated.")
@click.option("--sample", type=click.IntRange(1), help="So many dynamic tables, chosen by --seed.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--html", type=click.Path(path_type=Path), help="Write a page.")
@options.as_json
def command(
    folder: Path, only: tuple[str, ...], sample: int | None, seed: int, html: Path | None, as_json: bool
) -> ExitCode:
    """Compare every dynamic table of an account with its query at its data timestamp.

    Reads FOLDER with delta-rs and evaluates the queries with DuckDB; writes nothing, starts no Spark. Exit
    status 0: every table is its query; 1: one is not, or its row ids or its frontier are wrong; 3: of one
    nothing can be said, or there is nothing to compare; 2: FOLDER is no account.
    """
    from campaign.audit.audit import AuditVerdict, audit

    with steps_of("auditing", quiet=as_json) as progress:
        found = audit(
            folder, only=tuple(name.lower() for name in only), sample=sample, seed=seed, progress=progress
        )
    if html is not None:
        from reports.pages import audit_page

        write_text(html, audit_page(_document(found)))
    if as_json:
        print_json(_document(found))
    else:
        _print(found)
    codes = {AuditVerdict.VIOLATED: ExitCode.FAILED, AuditVerdict.UNKNOWN: ExitCode.UNKNOWN}
    return codes.get(found.verdict, ExitCode.OK)


def _print(found: Audit) -> None:
    """Prints the verdicts as a table, then the facts and the rows that differ."""
    rows = [(each.name, each.verdict.value, _time(each.timestamp), f"{each.rows:,}") for each in found.tables]
    print_table("", ["dynamic table", "verdict", "data timestamp", "rows"], rows)
    for each in found.tables:
        for fact in each.facts:
            click.echo(f"{each.name}: {fact}")
        for what, some, count in (
            ("missing", each.missing, each.missing_count),
            ("too many", each.extra, each.extra_count),
        ):
            for row in some:
                click.echo(f"  {what}: {_row(each, row)}")
            if count > len(some):
                click.echo(f"  {what}: {count - len(some):,} more")
    if found.nothing:
        click.echo(found.nothing)
    if found.skipped:
        click.echo(f"{found.skipped} dynamic tables were left out")


def _row(table: AuditedTable, row: tuple[object, ...]) -> str:
    """Returns a row as text: `a = 1, b = NULL`."""
    return ", ".join(f"{name} = {_cell(value)}" for name, value in zip(table.columns, row, strict=True))


def _cell(value: object) -> str:
    """Returns a value as text of at most `CELL` characters."""
    text = "NULL" if value is None else str(value)
    return text if len(text) <= CELL else text[: CELL - 3] + "..."


def _time(timestamp: int | None) -> str:
    return "-" if timestamp is None else moment(timestamp)


def _document(found: Audit) -> AuditDocument:
    """Returns the audit as JSON data, for `--json` and for the page."""
    return {
        "folder": found.folder,
        "verdict": found.verdict.value,
        "nothing": found.nothing or None,
        "skipped": found.skipped,
        "tables": [
            {
                "name": each.name,
                "verdict": each.verdict.value,
                "timestamp": each.timestamp,
                "time": _time(each.timestamp),
                "rows": each.rows,
                "facts": each.facts,
                "columns": each.columns,
                "missing": [[_cell(value) for value in row] for row in each.missing],
                "extra": [[_cell(value) for value in row] for row in each.extra],
                "missing_count": each.missing_count,
                "extra_count": each.extra_count,
            }
            for each in found.tables
        ],
    }
