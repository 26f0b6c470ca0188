"""`dvs operators`: what can be maintained incrementally, how, and what cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import click
from rich.console import Console
from rich.table import Table

from campaign.exit_codes import ExitCode
from dynamic_tables.differentiate.registry import NOT_YET, OPERATORS
from dynamic_tables.plan.bind_expression import AGGREGATES
from dynamic_tables.plan.functions import CASE, CASTS, FULL_ONLY, FUNCTIONS, IN


@dataclass(frozen=True, slots=True)
class Support:
    """One row of the matrix. `reason`: why it is not incremental; empty where it is."""

    operator: str
    incremental: bool
    row_id: str = ""
    change_set: str = ""
    source: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Everything a defining query may or may not hold, as the engine's registries have it."""

    operators: tuple[Support, ...]
    functions: tuple[str, ...]
    casts: tuple[str, ...]
    aggregates: tuple[str, ...]
    full_only: tuple[str, ...]


def matrix() -> Matrix:
    """The matrix, read off the registries."""
    known = (Support(r.operator, True, r.row_id, r.algebra, r.source) for r in OPERATORS.values())
    unknown = (Support(name, False, reason=reason) for name, reason in NOT_YET.items())
    return Matrix(
        operators=(*known, *unknown),
        functions=(*FUNCTIONS, CASE, IN),
        casts=tuple(
            f"{of.value} to {', '.join(sorted(kind.value for kind in to))}" for of, to in CASTS.items()
        ),
        aggregates=tuple(AGGREGATES.values()),
        full_only=tuple(sorted(FULL_ONLY)),
    )


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, as in the README.")
def command(as_json: bool, as_markdown: bool) -> ExitCode:
    """List the operators with their row ids and change sets, and the functions and aggregates."""
    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown: choose one")
    if as_json:
        click.echo(json.dumps(asdict(matrix()), indent=2))
    elif as_markdown:
        click.echo("\n".join(markdown(matrix())))
    else:
        show(matrix(), Console())
    return ExitCode.OK


HEADINGS = ("operator", "incremental", "row id", "change set", "source")


def cells(support: Support) -> Sequence[str]:
    """A row of the matrix as text."""
    if not support.incremental:
        return (support.operator, f"no: {support.reason}", "", "", "")
    return (support.operator, "yes", support.row_id, support.change_set, support.source)


def lists(of: Matrix) -> Iterator[tuple[str, str]]:
    """What is not a table: heading and text."""
    yield "Scalar functions", ", ".join(of.functions)
    yield "Casts", "; ".join(of.casts)
    yield "Aggregates", f"{', '.join(of.aggregates)}, each also with DISTINCT"
    yield "Functions of FULL tables only", ", ".join(of.full_only)


def markdown(of: Matrix) -> Iterator[str]:
    """The matrix for the README."""
    yield f"| {' | '.join(HEADINGS)} |"
    yield f"|{'---|' * len(HEADINGS)}"
    for support in of.operators:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells(support))} |"
    for heading, text in lists(of):
        yield ""
        # As code, so that `*` and `<` stay what they are.
        yield f"**{heading}**: `{text}`"


def show(of: Matrix, console: Console) -> None:
    """The matrix on a terminal."""
    table = Table("operator", "row id", "change set", "source", show_edge=False, pad_edge=False)
    for support in of.operators:
        if support.incremental:
            table.add_row(support.operator, support.row_id, support.change_set, support.source)
    console.print(table, markup=False)
    console.print("\nNot incremental")
    for support in of.operators:
        if not support.incremental:
            console.print(f"  {support.operator}: {support.reason}", markup=False, highlight=False)
    for heading, text in lists(of):
        console.print(f"\n{heading}: {text}", markup=False, highlight=False)
