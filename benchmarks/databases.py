"""What databases keep at each isolation level, by random runs: the table of docs/databases.md.

python -m benchmarks.databases                      # all of them but delta-spark, as a table
python -m benchmarks.databases mariadb duckdb       # some
python -m benchmarks.databases --write              # into the page
python -m benchmarks.databases mariadb --write      # the rows of MariaDB
python -m benchmarks.databases --runs 10            # ten runs of each row; exit status 1: marks differ
"""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from itertools import chain
from pathlib import Path

import click

from campaign.protocols.databases import KINDS, SERVERS, kind
from campaign.protocols.kept import COLUMNS, Kept, runs_of, table

PAGE = Path(__file__).parents[1] / "docs" / "databases.md"
NAMED = re.compile(r"(\| )?([\w-]+), [\w-]+( \||:$)")
NOT_SLOW = tuple(name for name in KINDS if name != "delta-spark")
"""A row of delta-spark takes an hour."""

START, END = "<!-- kept -->\n", "<!-- /kept -->"


def rows(database: str, runs: int) -> list[list[Kept]]:
    """Returns for each level of a database what the runs saw. A server is started once for all of them."""
    levels = kind(database).levels
    with SERVERS[database]() if database in SERVERS else nullcontext() as server:
        address = server.address if server else database
        found = []
        for level in levels:
            found.append(runs_of(address, level, runs, shown=database))
            # So that it is seen how far a long run is.
            click.echo(list(table(found[-1:]))[2], err=True)
        return found


def merged(old: str, new: str) -> str:
    """Returns an old table with the rows of a new one in the places of those of the same databases."""
    (head, olds), (_, news) = _by_database(old), _by_database(new)
    both = {database: (olds | news)[database] for database in KINDS if database in olds | news}
    rows, violations = zip(*both.values(), strict=True)
    return "".join((*head, *chain(*rows), *chain(*violations)))


def _by_database(text: str) -> tuple[list[str], dict[str, tuple[list[str], list[str]]]]:
    """Returns the head of a table, and by database its rows and the lines on its violations."""
    lines = text.splitlines(keepends=True)
    found: dict[str, tuple[list[str], list[str]]] = {}
    database = ""
    for line in lines[2:]:
        named = NAMED.match(line)
        database = named[2] if named else database
        rows, violations = found.setdefault(database, ([], []))
        if line.startswith("|"):
            rows.append(line)
        elif line.strip():
            violations += ["\n", line, "\n"] if named else [line]
    return lines[:2], found


@click.command()
@click.argument("databases", nargs=-1, type=click.Choice(list(KINDS)))
@click.option("--write", is_flag=True, help="Write docs/databases.md.")
@click.option(
    "--runs", type=click.IntRange(1), default=1, help="Each row has so many, whose marks must agree."
)
def main(databases: tuple[str, ...], write: bool, runs: int) -> None:
    """Show or write what DATABASES keep."""
    found = [row for database in databases or NOT_SLOW for row in rows(database, runs)]
    text = "\n".join(table(found)) + "\n"
    if write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        old, _, after = rest.partition(END)
        PAGE.write_text(before + START + merged(old, text) + END + after, encoding="utf-8")
    else:
        sys.stdout.write(text)
    sys.exit(any(len({run.mark(level) for run in row}) > 1 for row in found for level in COLUMNS))


if __name__ == "__main__":
    main()
