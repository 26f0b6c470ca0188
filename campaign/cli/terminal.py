"""What all commands print in one form: tables, and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.text import Text

PIPE_WIDTH = 130
"""The width of tables where stdout is no terminal; rich's 80 would wrap names of faults and folders."""


def print_json(document: object) -> None:
    """Prints a result on stdout as JSON, in one line, so that a program finds it by its lines."""
    click.echo(json.dumps(document, default=_plain))


def _plain(value: object) -> object:
    """Returns the fields of a dataclass or the value of an enum, for JSON. Raises TypeError: other types."""
    match value:
        case Enum():
            return value.value
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {each.name: getattr(value, each.name) for each in fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} has no form in JSON")


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    numbers: Collection[str] = (),
    one_line: Collection[str] = (),
) -> None:
    """Prints a table on stdout; cells are printed as they are, without rich's markup.

    Without `columns` the table has no heading. `numbers`: the columns aligned right; `one_line`: those that
    are not wrapped.
    """
    # Imported here: dvs check of a small file prints no table, and loading rich takes longer than its check.
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console = console if console.is_terminal else Console(width=PIPE_WIDTH)
    table = Table(title=escape(title) or None, show_header=bool(columns))
    # Otherwise rich wraps a title that is longer than the table is wide.
    table.min_width = min(len(title), console.width)
    for name in columns:
        justify = "right" if name in numbers else "left"
        table.add_column(name, justify=justify, no_wrap=name in one_line, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    console.print(table)
