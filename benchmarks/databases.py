"""What databases keep at each isolation level, by random runs: the table of docs/databases.md.

python -m benchmarks.databases                      # all of them, as a table
python -m benchmarks.databases mariadb duckdb       # some
python -m benchmarks.databases --write              # into the page
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click

from campaign.protocols.databases import KINDS, SERVERS, kind
from campaign.protocols.kept import Kept, kept, table

PAGE = Path(__file__).parents[1] / "docs" / "databases.md"
START, END = "<!-- kept -->\n", "<!-- /kept -->"


def rows(database: str) -> list[Kept]:
    """Returns what a database keeps at each of its levels. A server is started once for all of them."""
    levels = kind(database).levels
    with SERVERS[database]() if database in SERVERS else nullcontext() as server:
        address = server.address if server else database
        return [kept(address, level, shown=database) for level in levels]


@click.command()
@click.argument("databases", nargs=-1, type=click.Choice(list(KINDS)))
@click.option("--write", is_flag=True, help="Write docs/databases.md.")
def main(databases: tuple[str, ...], write: bool) -> None:
    """Show or write what DATABASES keep."""
    found = [row for database in databases or KINDS for row in rows(database)]
    text = "\n".join(table(found)) + "\n"
    if not write:
        sys.stdout.write(text)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(before + START + text + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
