"""`dvs explain`: what the engine makes of one query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import click

from campaign.exit_codes import ExitCode
from dynamic_tables.explain import Explanation, PlanTree, declare, explain
from dynamic_tables.plan.dialects import DUCKDB, SPARK, Dialect

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (SPARK, DUCKDB)}


@click.command()
@click.argument("query")
@click.option(
    "--table", "tables", multiple=True, metavar="'r(a INT, b STRING)'", help="A table; may be repeated."
)
@click.option("--view", "views", multiple=True, metavar="'v=SELECT ...'", help="A view; may be repeated.")
@click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS)),
    default=SPARK.name,
    show_default=True,
    help="Of the SQL that is printed; QUERY and views are Spark SQL.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    query: str, tables: tuple[str, ...], views: tuple[str, ...], dialect: str, as_json: bool
) -> ExitCode:
    """Show the plan, the row ids and the change query of the dynamic table that QUERY would define.

    A query that only a FULL refresh can maintain is explained too, with the reason.
    """
    explanation = explain(query, declare(tables, views), dialect=DIALECTS[dialect])
    if as_json:
        click.echo(json.dumps(as_object(explanation), indent=2))
    else:
        click.echo("\n".join(as_lines(explanation, dialect)))
    return ExitCode.OK


def as_object(explanation: Explanation) -> dict[str, object]:
    """An explanation as a JSON object."""
    return {
        "incremental": explanation.incremental,
        "reason": explanation.reason,
        "operators": list(explanation.operators),
        "columns": [{"name": name, "type": str(type_)} for name, type_ in explanation.columns],
        "plan": None if explanation.plan is None else tree_object(explanation.plan),
        "change_query": explanation.change_query,
        "row_id": explanation.row_id,
        "sources": list(explanation.sources),
    }


def tree_object(tree: PlanTree) -> dict[str, object]:
    """An operator and those below it as a JSON object."""
    return {
        "operator": tree.operator,
        "detail": tree.detail,
        "row_id": list(tree.row_id),
        "children": [tree_object(child) for child in tree.children],
    }


def as_lines(explanation: Explanation, dialect: str) -> Iterator[str]:
    """An explanation for reading."""
    yield f"incremental: {str(explanation.incremental).lower()}"
    if explanation.reason is not None:
        yield f"reason: {explanation.reason}"
    yield f"sources: {', '.join(explanation.sources)}"
    if explanation.columns:
        yield f"columns: {', '.join(f'{name} {type_}' for name, type_ in explanation.columns)}"
    if explanation.plan is not None:
        yield from ("", "plan, each operator with its row id", *tree_lines(explanation.plan, 1))
    if explanation.change_query is not None:
        yield from ("", f"change query ({dialect})", explanation.change_query)


def tree_lines(tree: PlanTree, depth: int) -> Iterator[str]:
    """An operator, its row id, and what is below it, indented."""
    indent = "  " * depth
    yield f"{indent}{tree.operator}{': ' if tree.detail else ''}{tree.detail}"
    for expression in tree.row_id:
        yield f"{indent}  id = {expression}"
    for child in tree.children:
        yield from tree_lines(child, depth + 1)
