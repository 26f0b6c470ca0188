"""Writes the two programs of a failure folder: `reproduce.py` and a pytest regression test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from reports.visible import one_line
from workload.schema import Column
from workload.types import Row, Value

REQUIREMENTS = "pyspark==4.2.0 delta-spark==4.4.0 duckdb"

INDENT = "    "


@dataclass(frozen=True, slots=True)
class RestoreTo:
    """RESTORE of a table to its newest version at a logical time; the script finds the version's number."""

    table: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What `reproduce.py` shows: one dynamic table at one data timestamp.

    `tables`: by name, the columns with types for Spark and for DuckDB. `transactions`: logical time and
    statements. `rows`: the rows that the engine stored; None where no wrong rows were seen. `replay`: the
    command that replays the failure.
    """

    title: str
    summary: str
    findings: tuple[str, ...]
    table: str
    timestamp: int
    tables: Mapping[str, tuple[str, str]]
    transactions: tuple[tuple[int, tuple[str | RestoreTo, ...]], ...]
    spark_query: str
    duckdb_query: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...] | None
    replay: str


@dataclass(frozen=True, slots=True)
class Given:
    """What an adapter is given at one time. `own`: texts for the engine; `duckdb`: the same for DuckDB.

    `what`: the kind of step, such as commit; `name`: the engine's name of the table or view, if there is one.
    """

    at: int
    what: str
    name: str
    timestamp: int | None = None
    own: tuple[str, ...] = ()
    duckdb: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterReproduction:
    """What `reproduce.py` shows of a failure of an adapter.

    `adapter`: its `module:class`. `table`: what is compared in the end; "" where the run ends by an error.
    `tables`: by name, the columns and the two statements that create it. `columns`: those of `table`.
    """

    title: str
    summary: str
    findings: tuple[str, ...]
    replay: str
    adapter: str
    table: str
    tables: Mapping[str, tuple[tuple[Column, ...], str, str]]
    steps: tuple[Given, ...]
    columns: tuple[Column, ...]
    duckdb_query: str


def reproduce_script(reproduction: Reproduction | AdapterReproduction) -> str:
    """Returns the text of `reproduce.py`, in ASCII; for the built-in engine it imports nothing of ours."""
    r = reproduction
    if isinstance(r, AdapterReproduction):
        return _adapter_script(r)
    return _template("reproduce.py.j2").render(
        title=_comment(r.title),
        summary=_comment(r.summary),
        requirements=REQUIREMENTS,
        replay=_comment(r.replay),
        has_rows=r.rows is not None,
        findings=_block("[]", [ascii(finding) for finding in r.findings]),
        table=ascii(r.table),
        timestamp=r.timestamp,
        tables=_block("{}", [f"{name!a}: {columns!a}" for name, columns in r.tables.items()]),
        transactions=_block("[]", [_transaction(at, texts) for at, texts in r.transactions]),
        spark_query=_text(r.spark_query),
        duckdb_query=_text(r.duckdb_query),
        columns=ascii(r.columns),
        rows="None" if r.rows is None else _block("[]", [_row(row) for row in r.rows]),
    )


def _adapter_script(r: AdapterReproduction) -> str:
    tables = [
        f"{name!a}: ({_columns(columns)}, {_text(own)}, {_text(duckdb)})"
        for name, (columns, own, duckdb) in r.tables.items()
    ]
    return _template("reproduce_adapter.py.j2").render(
        title=_comment(r.title),
        summary=_comment(r.summary),
        replay=_comment(r.replay),
        adapter=_comment(r.adapter),
        adapter_name=ascii(r.adapter),
        findings=_block("[]", [ascii(finding) for finding in r.findings]),
        table=ascii(r.table),
        tables=_block("{}", tables),
        steps=_block("[]", [_given(step) for step in r.steps]),
        columns=_columns(r.columns),
        duckdb_query=_text(r.duckdb_query),
    )


def _given(step: Given) -> str:
    own, duckdb = (_block("()", [_text(text) for text in texts], 1) for texts in (step.own, step.duckdb))
    return f"({step.at}, {step.what!a}, {step.name!a}, {step.timestamp}, {own}, {duckdb})"


def _columns(columns: tuple[Column, ...]) -> str:
    return ascii(tuple((column.name, str(column.type)) for column in columns))


def regression_test(scenario: str, summary: str, tier: str) -> str:
    """Returns the text of a pytest test that judges the `scenario.json` beside it. `scenario`: its name."""
    return _template("regression_test.py.j2").render(
        name=identifier(scenario), summary=_comment(summary), tier=ascii(tier)
    )


def identifier(scenario: str) -> str:
    """Returns the name of a scenario as part of an identifier: `smoke_1_42`."""
    return re.sub(r"\W+", "_", scenario, flags=re.ASCII).strip("_").lower() or "scenario"


def _transaction(at: int, texts: tuple[str | RestoreTo, ...]) -> str:
    inner = [ascii((t.table, t.at)) if isinstance(t, RestoreTo) else _text(t) for t in texts]
    return f"({at}, {_block('[]', inner, 1)})"


def _block(brackets: str, items: list[str], depth: int = 0) -> str:
    if not items:
        return brackets
    pad = "\n" + INDENT * (depth + 1)
    return brackets[0] + "".join(f"{pad}{item}," for item in items) + "\n" + INDENT * depth + brackets[1]


def _text(text: str) -> str:
    """Returns a Python string literal, triple-quoted over several lines if no character needs an escape."""
    quoted = ascii(text)
    simple = '"""' not in text and not text.endswith('"') and "\\" not in text and text.isascii()
    return f'"""{text}"""' if "\n" in text and simple and text.replace("\n", "").isprintable() else quoted


def _row(row: Row) -> str:
    return "(" + "".join(f"{_value(value)}, " for value in row).rstrip() + ")"


def _value(value: Value) -> str:
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):
            return f"float({str(value)!r})"
        case Decimal():
            return f"Decimal({str(value)!r})"
        case tuple():
            return _row(value)
        case _:
            return ascii(value)


def _comment(text: str) -> str:
    """Returns text for a docstring, which it cannot end: ASCII on one line, without double quotes."""
    return ascii(one_line(text))[1:-1].replace('"', "'")


@cache
def _template(name: str) -> Template:
    # No autoescape: the templates are Python, and every value is a literal before it gets here.
    environment = Environment(
        loader=PackageLoader("reports"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)
