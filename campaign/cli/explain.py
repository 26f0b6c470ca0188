"""`dvs explain`: shows the plan, the change query and the row ids that the engine gives one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import cast

import click

from campaign.cli import options
from campaign.cli.terminal import print_json
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from campaign.runs.definitions import explanations
from dynamic_tables.errors import SessionError
from dynamic_tables.explain import Explanation, PlanTree, declare, explain
from dynamic_tables.plan.dialects import DUCKDB, SPARK, Dialect
from dynamic_tables.plan.types import Columns, Type
from dynamic_tables.reading.values.refusals import NOT_REGISTERED
from reports.documents import ExplanationDocument

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (SPARK, DUCKDB)}


@click.command()
@click.argument("query", default="")
@click.option(
    "--table", "tables", multiple=True, metavar="'r(a INT, b STRING)'", help="A table; may be repeated."
)
@click.option("--view", "views", multiple=True, metavar="'v=SELECT ...'", help="A view; may be repeated.")
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default=SPARK.name,
    help="Dialect of the printed SQL. QUERY and views are always Spark SQL.",
)
@click.option(
    "--frozen-where", default="", metavar="'day < current_date() - 30'", help="Rows that no refresh changes."
)
@options.definitions
@click.option(
    "--spark/--no-spark",
    "by_spark",
    default=True,
    help="With --definitions: ask Spark for the types that the engine does not know, as an account does.",
)
@options.as_json
def command(
    query: str,
    tables: tuple[str, ...],
    views: tuple[str, ...],
    dialect: str,
    frozen_where: str,
    definitions: str | None,
    by_spark: bool,
    as_json: bool,
) -> ExitCode:
    """Show the plan, the row ids and the change query of the dynamic table that QUERY would define.

    For a query that only a FULL refresh can maintain, the reason is shown. With --definitions, in place of
    QUERY, a line for each dynamic table: how it is maintained, and by which operators.
    """
    if (definitions is None) == (not query):
        raise CampaignError("give a QUERY or --definitions PATH, one of them")
    if definitions is not None:
        return show_definitions(definitions, by_spark, as_json)
    explanation = explain(query, declare(tables, views), dialect=DIALECTS[dialect], frozen_where=frozen_where)
    if as_json:
        print_json(as_object(explanation))
    else:
        click.echo("\n".join(as_lines(explanation, dialect)))
    return ExitCode.OK


def show_definitions(path: str, by_spark: bool, as_json: bool) -> ExitCode:
    """Prints how each dynamic table of some scripts is maintained."""
    # Why Spark could not be asked, once it was to be.
    problems = [] if by_spark else ["--no-spark was given"]
    explained, wrong = explanations(path, partial(_type_by_spark, problems) if by_spark else None)
    if problems and not all(each.incremental for each in explained.values()):
        note = "Spark was not asked, which may know types that the engine does not know"
        click.echo(f"note: {note}: {problems[0]}", err=True)
    for name, reason in wrong.items():
        click.echo(f"not explained: {name}: {reason}", err=True)
    done = ExitCode.MISUSE if wrong else ExitCode.OK
    if as_json:
        print_json({name: as_object(each) for name, each in explained.items()})
        return done
    for name, each in explained.items():
        mode = "INCREMENTAL" if each.incremental else f"FULL, {each.reason}"
        click.echo(f"{name}: {mode}; changes cost as {cost(each)}")
        if each.operators:
            click.echo(f"  {', '.join(each.operators)}")
    return done


def _type_by_spark(problems: list[str], expression: str, columns: Columns) -> Type | None:
    """Returns the type of an expression by Spark, which is started when it is first asked.

    None where Spark is not installed or does not start. The reason is added to `problems`, and Spark is not
    asked again.
    """
    if problems:
        return None
    try:
        # Imported here: most definitions need no Spark.
        from dynamic_tables.session import open_session
        from dynamic_tables.store.names.texts import type_of

        session = open_session()
    except (SessionError, ModuleNotFoundError) as error:
        problems.append(str(error))
        return None
    return type_of(session, expression, columns)


WHOLE = frozenset({"window", "limit"})
GROUPED = frozenset(
    {"grouped aggregation", "distinct", "semi join", "anti join", "left join", "right join", "full join"}
)
"""A change below an operator of `WHOLE` costs a whole partition, below one of `GROUPED` a group or key."""


def cost(explanation: Explanation) -> str:
    """Returns in words what the work of a refresh grows with, by the costliest operator."""
    used = {*explanation.operators}
    if not explanation.incremental:
        return "all rows"
    if used & WHOLE:
        return "the partitions that change"
    return "the groups and keys that change" if used & GROUPED else "the rows that change"


def as_object(explanation: Explanation) -> ExplanationDocument:
    """Returns the explanation as JSON data."""
    columns = [{"name": name, "type": str(type_)} for name, type_ in explanation.columns]
    document = {**asdict(explanation), "columns": columns, "operators": explanation.operators}
    return cast("ExplanationDocument", document)


def as_lines(explanation: Explanation, dialect: str) -> Iterator[str]:
    """Yields the explanation as lines of text."""
    yield f"incremental: {str(explanation.incremental).lower()}"
    if explanation.reason is not None:
        yield f"reason: {explanation.reason}"
        if NOT_REGISTERED in explanation.reason:
            yield "note: dvs explain asks no Spark; an account passes such a function to Spark as written,"
            yield "      and the table is INCREMENTAL unless it is an aggregate or reads more than its row"
    yield f"sources: {', '.join(explanation.sources)}"
    if explanation.columns:
        yield f"columns: {', '.join(f'{name} {type_}' for name, type_ in explanation.columns)}"
    if explanation.hidden:
        yield f"maintained from hidden columns: {', '.join(explanation.hidden)}"
    if explanation.frozen_where:
        yield f"frozen: rows with {explanation.frozen_where}"
    if explanation.plan is not None:
        yield from ("", "plan, each operator with its row id", *tree_lines(explanation.plan, 1))
    if explanation.change_query is not None:
        same = ", which gives the same changes" if explanation.hidden else ""
        yield from ("", f"change query{same} ({dialect})", explanation.change_query)


def tree_lines(tree: PlanTree, depth: int) -> Iterator[str]:
    """Yields lines for an operator, its row ids, and the operators below it, indented by depth."""
    indent = "  " * depth
    yield f"{indent}{tree.operator}{': ' if tree.detail else ''}{tree.detail}"
    for expression in tree.row_id:
        yield f"{indent}  id = {expression}"
    for child in tree.children:
        yield from tree_lines(child, depth + 1)
