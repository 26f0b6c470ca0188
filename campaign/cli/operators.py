"""`dvs operators`: lists what the engine maintains incrementally and how, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from campaign.cli import options
from campaign.cli.terminal import print_json, print_table
from campaign.exit_codes import ExitCode
from dynamic_tables.differentiate.registry import NOT_YET, OPERATORS, PAGES
from dynamic_tables.plan.functions import CASE, CASTS, FUNCTIONS, IN
from dynamic_tables.reading.values.aggregate_forms import NAMES
from dynamic_tables.reading.values.aggregates import AGGREGATES

HEADINGS = ("operator", "incremental", "row id", "change set", "source", "page")


PASSED = "every other function, operator and cast of Spark whose result depends on its arguments alone"
FULL_ONLY = "functions that yield rows but for explode and its like, other aggregates"


@dataclass(frozen=True, slots=True)
class Support:
    """One operator. `reason`: why it is not maintained incrementally; empty where it is.

    `page`: its page in docs/operators.
    """

    operator: str
    incremental: bool
    row_id: str = ""
    change_set: str = ""
    source: str = ""
    page: str = ""
    reason: str = ""

    def cells(self) -> Sequence[str]:
        """Returns the operator as a row of the Markdown table."""
        incremental = "yes" if self.incremental else f"no: {self.reason}"
        link = f"[{self.page.removesuffix('.md')}](operators/{self.page})" if self.page else ""
        return (self.operator, incremental, self.row_id, self.change_set, self.source, link)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Everything that a defining query may contain."""

    operators: tuple[Support, ...]
    functions: tuple[str, ...]
    casts: tuple[str, ...]
    aggregates: tuple[str, ...]

    def lists(self) -> Iterator[tuple[str, str]]:
        """Yields the heading and the text of each list below the table of operators."""
        yield "Scalar functions", ", ".join(self.functions)
        yield "Casts", "; ".join(self.casts)
        forms = "each also with DISTINCT (where Spark has it) and FILTER; COUNT_IF"
        yield "Aggregates", f"{', '.join(self.aggregates)}, {forms}"
        yield "Passed to Spark as they are written", PASSED
        yield "In FULL tables only", FULL_ONLY


def matrix() -> Matrix:
    """Returns the matrix, read from the registries of the engine."""
    rules = OPERATORS.values()
    supported = (Support(r.operator, True, r.row_id, r.algebra, r.source, PAGES[r.operator]) for r in rules)
    unsupported = (Support(name, False, reason=reason) for name, reason in NOT_YET.items())
    return Matrix(
        operators=(*supported, *unsupported),
        functions=(*FUNCTIONS, CASE, IN),
        casts=tuple(
            f"{of.value} to {', '.join(sorted(kind.value for kind in to))}" for of, to in CASTS.items()
        ),
        aggregates=(*AGGREGATES.values(), *NAMES),
    )


@click.command()
@options.as_json
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown instead of text.")
def command(as_json: bool, as_markdown: bool) -> ExitCode:
    """List the operators with their row ids and change sets, and the functions and aggregates."""
    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown exclude each other: give one of them")
    if as_json:
        print_json(matrix())
    elif as_markdown:
        click.echo("\n".join(markdown(matrix())))
    else:
        show(matrix())
    return ExitCode.OK


def markdown(support: Matrix) -> Iterator[str]:
    """Yields the lines of the matrix in Markdown."""
    yield f"| {' | '.join(HEADINGS)} |"
    yield f"|{'---|' * len(HEADINGS)}"
    for operator in support.operators:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in operator.cells())} |"
    for heading, text in support.lists():
        # As code, so that Markdown does not read `*` and `<` as markup.
        yield f"\n**{heading}**: `{text}`"


def show(support: Matrix) -> None:
    """Prints the matrix on the terminal."""
    rows = [(o.operator, o.row_id, o.change_set, o.source) for o in support.operators if o.incremental]
    print_table("", ("operator", "row id", "change set", "source"), rows)
    click.echo("\nNot incremental")
    for operator in support.operators:
        if not operator.incremental:
            click.echo(f"  {operator.operator}: {operator.reason}")
    for heading, text in support.lists():
        click.echo(f"\n{heading}: {text}")
    click.echo("\nEach operator has a page with its algebra and an example: docs/operators")
