"""Each operator has a page, and the worked example of each page is what the engine computes."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp, parse_one

from dynamic_tables.differentiate.differentiation import CONTENTS, At, leaf_name
from dynamic_tables.differentiate.registry import OPERATORS, PAGES, RULES, change_plan, initial_plan
from dynamic_tables.explain import declare
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.nodes import ACTION, ROW_ID
from dynamic_tables.plan.time import at_times
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.relations import Relations, StoredRelation

FOLDER = Path(__file__).parents[3] / "docs" / "operators"
NAMES = sorted(path.name for path in FOLDER.glob("*.md"))
ID = f'"{ROW_ID}"'


def example_of(page: str) -> list[str]:
    """The lines of the worked example."""
    (block,) = re.findall(r"```example\n(.*?)```", (FOLDER / page).read_text(), re.DOTALL)
    return [line for line in block.splitlines() if line]


def after(lines: list[str], word: str) -> list[str]:
    return [line.removeprefix(word).strip() for line in lines if line.startswith(word)]


def in_duckdb(sql: str) -> exp.Expr:
    return parse_one(parse_one(sql, read="spark").sql("duckdb"), read="duckdb")


def run(lines: list[str]) -> list[tuple[str, ...]]:
    """The change set of an example, a row each: `-` or `+`, then the values as texts."""
    tables = after(lines, "table ")
    relations = declare(tables)
    with duckdb.connect() as connection:
        connection.execute("CREATE SEQUENCE ids")
        for relation in relations.values():
            assert isinstance(relation, StoredRelation)
            columns = ", ".join(f"{name} {DUCKDB.type_name(type_)}" for name, type_ in relation.columns)
            row_id = f"{ID} VARCHAR DEFAULT CAST(nextval('ids') AS VARCHAR)"
            connection.execute(f"CREATE TABLE {relation.name} ({columns}, {row_id})")
        for line in after(lines, "rows "):
            name, rows = line.split(":", 1)
            insert(connection, relations, f"INSERT INTO {name} VALUES {rows}")
        for name in relations:
            connection.execute(f'CREATE TABLE "{leaf_name(name, At.T0)}" AS SELECT * FROM {name}')
        for statement in after(lines, "change:"):
            insert(connection, relations, statement)
        for name in relations:
            connection.execute(f'CREATE TABLE "{leaf_name(name, At.T1)}" AS SELECT * FROM {name}')
        (query,) = after(lines, "query:")
        times = [int(dt.datetime.fromisoformat(f"{each}Z").timestamp()) for each in after(lines, "time:")]
        return changes(connection, relations, query, times or [0, 0])


def insert(connection: duckdb.DuckDBPyConnection, relations: Relations, statement: str) -> None:
    """Runs a statement; an INSERT names its columns, because the row id is given by itself."""
    tree = in_duckdb(statement.replace("[", "ARRAY(").replace("]", ")"))
    text = tree.sql("duckdb")
    if isinstance(tree, exp.Insert):
        relation = relations[tree.this.name]
        assert isinstance(relation, StoredRelation)
        columns = ", ".join(name for name, _ in relation.columns)
        text = text.replace(f"INTO {tree.this.name} ", f"INTO {tree.this.name} ({columns}) ", 1)
    connection.execute(text)


def changes(
    connection: duckdb.DuckDBPyConnection, relations: Relations, query: str, times: list[int]
) -> list[tuple[str, ...]]:
    """The change set. `times`: the data timestamps before and after the refresh, in seconds."""
    before, now = (1_000_000 * each for each in times)
    bound = bind_query(query, relations)
    for name in bound.sources:
        relation = relations[name]
        assert isinstance(relation, StoredRelation)
        captured = render(RULES.capture(name, relation.columns), DUCKDB).text()
        connection.execute(f'CREATE TABLE "{leaf_name(name, None)}" AS {captured}')
    at_t0 = {leaf_name(name, At.T1): leaf_name(name, At.T0) for name in bound.sources}
    stored = render(at_times(initial_plan(bound, RULES, ids=True), None, before), DUCKDB, at_t0).text()
    connection.execute(f'CREATE TABLE "{CONTENTS}" AS {stored}')
    text = render(at_times(change_plan(bound, RULES), before, now), DUCKDB).text()
    names = ", ".join(f'"{name}"' for name, _ in bound.schema)
    rows = connection.execute(f'SELECT "{ACTION}", {names} FROM ({text})').fetchall()
    return [("-" if action == "DELETE" else "+", *map(shown, values)) for action, *values in rows]


def shown(value: object) -> str:
    return {"None": "NULL", "True": "true", "False": "false"}.get(str(value), str(value))


@pytest.mark.parametrize("page", NAMES)
def test_the_example_of_a_page_is_what_the_engine_computes(page: str) -> None:
    lines = example_of(page)
    expected = [tuple(part.strip() for part in line.split("|")) for line in lines if line[0] in "+-"]
    assert Counter(run(lines)) == Counter(expected)


def test_a_wrong_example_is_noticed() -> None:
    lines = example_of("joins.md")
    assert Counter(run(lines[:-1])) == Counter(run(lines))
    changed = [line.replace("k = 7", "k = 9") for line in lines]
    assert Counter(run(changed)) != Counter(run(lines))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_a_page(operator: str) -> None:
    title = (FOLDER / PAGES[operator]).read_text().splitlines()[0].lower()
    assert operator.split()[0] in title


def test_every_page_has_the_same_parts() -> None:
    for page in NAMES:
        text = (FOLDER / page).read_text()
        for part in ("## The algebra", "## Cost", "## What makes a table FULL"):
            assert part in text, (page, part)
