"""The current numbers of the project: measured again, and written into the documents.

    python -m benchmarks.all                             # the rows, by area
    python -m benchmarks.all --measure "Transaction"     # runs the commands of the rows with that word again
    python -m benchmarks.all --write                     # docs/results.md and the README from the rows

The rows lie in benchmarks/results.toml. The value of `dvs fuzz` and `dvs mutants` comes from their JSON; any
other command says its result in the last line that it prints.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
ROWS = Path(__file__).with_name("results.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number. `commit`: the newest one when it was measured; `front`: whether the README shows it."""

    area: str
    what: str
    value: str
    command: str
    date: dt.date
    commit: str
    front: bool = False


def read_rows() -> list[Row]:
    """Returns the rows of benchmarks/results.toml."""
    return [Row(**row) for row in tomllib.loads(ROWS.read_text(encoding="utf-8"))["row"]]


def rows_text(rows: Sequence[Row]) -> str:
    """Returns the text of benchmarks/results.toml with these rows; what stands before them is kept."""
    head = ROWS.read_text(encoding="utf-8").partition("\n[[row]]")[0]
    return head + "".join(f"\n[[row]]\n{''.join(_fields(row))}" for row in rows)


def _fields(row: Row) -> Iterator[str]:
    for name, value in asdict(row).items():
        match value:
            case bool():
                if value:
                    yield f"{name} = true\n"
            case str():
                yield f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
            case _:
                yield f"{name} = {value}\n"


def areas_table(rows: Sequence[Row]) -> str:
    """Returns the table of docs/results.md, one part for each area."""
    parts = []
    for area, group in groupby(rows, lambda row: row.area):
        lines = [
            f"| {row.what} | {row.value} | `{row.command}` | {row.date} | {row.commit} |" for row in group
        ]
        head = ["| what | value | command | date | commit |", "|---|---|---|---|---|"]
        parts.append("\n".join([f"## {area}", "", *head, *lines]))
    return "\n\n".join(parts)


def front_table(rows: Sequence[Row]) -> str:
    """Returns the rows of the README's table."""
    return "\n".join(f"| {row.what} | {row.value} | `{row.command}` |" for row in rows if row.front)


PAGES: Mapping[str, Callable[[Sequence[Row]], str]] = {
    "README.md": front_table,
    "docs/results.md": areas_table,
}
"""By page what stands between its marks `<!-- results -->` and `<!-- /results -->`."""


def page_text(page: str, rows: Sequence[Row]) -> str:
    """Returns a page with the table of the rows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- results -->\n")
    after = rest.partition("<!-- /results -->")[2]
    return f"{before}<!-- results -->\n{PAGES[page](rows)}\n<!-- /results -->{after}"


def measured(row: Row) -> Row:
    """Runs the command of a row; returns the row with its value. Raises SystemExit where it fails."""
    variables = dict(re.findall(r"(\w+)=(\S+) ", row.command))
    words = shlex.split(re.sub(r"^(\w+=\S+ )+", "", row.command))
    program = {"python": [sys.executable], "pytest": [sys.executable, "-m", "pytest", "-q"]}
    command = [*program.get(words[0], [sys.executable, "-m", words[0]]), *words[1:]]
    as_json = words[:2] in (["dvs", "fuzz"], ["dvs", "mutants"])
    done = subprocess.run(
        [*command, *(["--json"] if as_json else [])],
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if not lines or done.returncode not in (0, 1, 3):
        raise SystemExit(f"error: {row.command} ended with {done.returncode}, and its result is not known")
    value = value_of(json.loads(lines[-1])) if as_json else lines[-1]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    return replace(row, value=value, date=dt.datetime.now(dt.UTC).date(), commit=commit)


def value_of(result: Mapping[str, Any]) -> str:
    """Returns the figures of a campaign, or of a hunt for planted faults, in one line."""
    match result:
        case {"faults": [*faults]}:
            killed = sum(fault["verdict"] == "killed" for fault in faults)
            return f"{killed} of {len(faults)} killed"
        case {"definitions": int(tables), "refreshes": int(refreshes), "checks": int(checks)}:
            outcomes = result["outcomes"].items()
            others = ", ".join(f"{n} {name}" for name, n in outcomes if n and name != "passed")
            figures = f"{tables:,} dynamic tables, {refreshes:,} refreshes, {checks:,} checks"
            return f"{figures}; {others or 'no failure'}"
        case _:
            raise SystemExit(f"error: no figures known in {result.keys()}")


@click.command()
@click.option("--measure", default="", help="Run the commands of the rows with this text again.")
@click.option("--write", is_flag=True, help="Write docs/results.md and the README.")
def main(measure: str, write: bool) -> None:
    """Show, measure or write the current numbers."""
    rows = read_rows()
    if measure and not any(measure in f"{row.area}: {row.what}" for row in rows):
        raise click.UsageError(f"no row has the text {measure!r}; without --measure all are shown")
    if measure:
        rows = [measured(row) if measure in f"{row.area}: {row.what}" else row for row in rows]
        ROWS.write_text(rows_text(rows), encoding="utf-8")
    for page in PAGES if write else ():
        (ROOT / page).write_text(page_text(page, rows), encoding="utf-8")
    for row in rows:
        if not measure or measure in f"{row.area}: {row.what}":
            click.echo(f"{row.area}: {row.what}: {row.value}")


if __name__ == "__main__":
    main()
