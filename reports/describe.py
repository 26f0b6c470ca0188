"""Scenarios as text a person reads: tables, definitions and steps in Spark's SQL.

Total on purpose: a scenario that no engine can run (its outcome `generator_invalid`) is described too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from workload.dml import Dml
from workload.errors import WorkloadError
from workload.query import Expr
from workload.scenario import (
    Commit,
    Create,
    Definition,
    Drop,
    DynamicTable,
    Meanwhile,
    Read,
    Redefine,
    Refresh,
    Scenario,
    Step,
    View,
)
from workload.schema import Column, Table
from workload.sql import Dialect, create_table_text, delta_texts, dml_texts, render_expr
from workload.writing import definition_text

Columns = tuple[Column, ...]

SECOND = 1_000_000
"""Logical microseconds."""

LINE = 80
"""Statements of at most so many characters stay on one line."""

ALONE = re.compile(r"\(\n\s*([^\s()]+)\n\s*\)")
"""One value in parentheses, which sqlglot writes over three lines."""

NOT_PARSED = ("RESTORE", "OPTIMIZE", "TRUNCATE", "CREATE")
"""Statements that sqlglot does not know or has nothing to lay out in."""

DELIMITED = (exp.Where, exp.Having, exp.Join, exp.Alias, exp.Group)
"""Parts of a statement whose expressions need no parentheses around them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One step of a timeline. `timestamp` is the data timestamp that a refresh asks for."""

    number: int
    at: int
    kind: str
    title: str
    statements: tuple[str, ...]
    timestamp: int | None = None


def timeline(
    scenario: Scenario, dialect: Dialect = Dialect.SPARK, *, of_adapter: bool = False
) -> tuple[Entry, ...]:
    """Returns every step of a scenario, in order of time, with its statements in a dialect.

    `of_adapter`: the engine got queries and DML; its adapter was told the rest without SQL.
    """
    steps = enumerate(scenario.steps)
    return tuple(_entry(number, step, scenario, dialect, of_adapter) for number, step in steps)


def _entry(number: int, step: Step, scenario: Scenario, dialect: Dialect, of_adapter: bool) -> Entry:
    match step:
        case Commit(at, statements, meanwhile, rolled_back):
            columns = {table.name: table.columns for table in scenario.tables}
            touched = ", ".join(dict.fromkeys(statement.table for statement in statements)) or "nothing"
            count = "" if len(statements) == 1 else f", {len(statements)} statements in one transaction"
            texts = tuple(statement_sql(s, columns.get(s.table, ()), dialect) for s in statements)
            beside = number > 0 and isinstance(scenario.steps[number - 1], Create | Refresh)
            how = "" if meanwhile is None else f", {_by_another(meanwhile, len(statements), beside)}"
            how += ", after the same transaction was rolled back" * rolled_back
            return Entry(number, at, "commit", f"commit to {touched}{count}{how}", texts)
        case Create(at, name):
            return Entry(number, at, "create", f"create {name}", (_creation(name, scenario, of_adapter),))
        case Drop(at, name):
            texts = () if of_adapter else (_drop(name, scenario),)
            return Entry(number, at, "drop", f"drop {name}", texts)
        case Redefine(at, names):
            text = _creation(names[0], scenario, of_adapter).replace("CREATE ", "CREATE OR REPLACE ", 1)
            title = f"replace {scenario.definition(names[0]).public_name}"
            above = ", ".join(names[1:])
            return Entry(number, at, "create", f"{title}; {above} go on over it" if above else title, (text,))
        case Refresh(at, table, timestamp, killed):
            texts = () if of_adapter else (f"REFRESH DYNAMIC TABLE {_called(table, scenario)}",)
            how = "" if killed is None else f", killed before its storage call {killed} and run again"
            if killed == 0:
                how = ", after its process was killed and begun again"
            return Entry(number, at, "refresh", f"refresh {table}{how}", texts, timestamp)
        case Read(at, reader, tables):
            title = f"reader {reader} reads {', '.join(tables)}"
            reads = (f"SELECT * FROM {_called(table, scenario)}" for table in tables)
            return Entry(number, at, "read", title, () if of_adapter else tuple(reads))
        case _:
            assert_never(step)


def _by_another(meanwhile: Meanwhile, statements: int, beside: bool) -> str:
    """Returns in words how another process makes a commit. `beside`: the step before is under way."""
    words = ["by a foreign writer" if meanwhile.foreign else "by another process"]
    if beside:
        calls = f"before storage call {meanwhile.last} of the step before"
        if statements > 1 and meanwhile.first != meanwhile.last:
            calls = f"its last statement {calls}, the others before call {meanwhile.first}"
        words.append(calls)
    if meanwhile.clock:
        words.append(f"whose clock is {abs(meanwhile.clock)} {'ahead' if meanwhile.clock > 0 else 'behind'}")
    if meanwhile.abandoned:
        words.append("after a third process, killed in its transaction, inserted the same rows")
    return ", ".join(words)


def _creation(name: str, scenario: Scenario, of_adapter: bool) -> str:
    try:
        return f"{definition_head(scenario.definition(name), of_adapter=of_adapter)} AS ..."
    except KeyError:
        return f"CREATE {name} /* the scenario does not define it */"


def _drop(name: str, scenario: Scenario) -> str:
    try:
        definition = scenario.definition(name)
    except KeyError:
        return f"DROP {name} /* the scenario does not define it */"
    kind = "VIEW" if isinstance(definition, View) else "DYNAMIC TABLE"
    return f"DROP {kind} {shown_name(definition)}"


def shown_name(definition: Definition) -> str:
    """Returns the engine's name of a definition, and its name in the scenario if that is another one."""
    if definition.known_as:
        return f"{definition.known_as} /* {definition.name} */"
    return definition.name


def _called(name: str, scenario: Scenario) -> str:
    return next((shown_name(each) for each in scenario.definitions if each.name == name), name)


def table_sql(table: Table, dialect: Dialect = Dialect.SPARK, *, keyed: bool = False) -> str:
    """Returns the statement that creates a base table, or a comment that says why the dialect has none.

    `keyed`: the engine was given the primary key.
    """
    try:
        return create_table_text(table, dialect, keyed=keyed)
    except WorkloadError as error:
        return f"-- cannot be rendered: {error}"


def definition_head(definition: Definition, *, of_adapter: bool = False) -> str:
    """Returns what comes before AS: the kind of object, its mode and its target lag.

    `of_adapter`: only the query is SQL that the engine got, so that this is no statement.
    """
    name = shown_name(definition)
    if of_adapter:
        return f"{'view' if isinstance(definition, View) else 'dynamic table'} {name}"
    match definition:
        case View():
            return f"CREATE VIEW {name}"
        case DynamicTable(_, _, mode, lag, _):
            return f"CREATE DYNAMIC TABLE {name} TARGET_LAG = {lag_text(lag)} REFRESH_MODE = {mode.value}"
        case _:
            assert_never(definition)


def lag_text(lag: int | None) -> str:
    """Returns a target lag, given in logical microseconds: `DOWNSTREAM`, `'96 seconds'`."""
    if lag is None:
        return "DOWNSTREAM"
    return f"'{lag // SECOND} seconds'" if lag % SECOND == 0 else f"'{lag} microseconds'"


def definition_sql(scenario: Scenario, definition: Definition, dialect: Dialect = Dialect.SPARK) -> str:
    """Returns a definition's query as an engine is given it; a style of Spark's SQL is kept to the letter."""
    try:
        text = definition_text(scenario, definition, dialect)
        styled = definition.style and dialect is Dialect.SPARK
        return text if styled else formatted_sql(text, dialect)
    except (WorkloadError, LookupError) as error:
        return f"-- cannot be rendered: {error}"


def expression_sql(expr: Expr) -> str:
    """Returns the expression in Spark's SQL, or a comment that says why it has no text."""
    try:
        return render_expr(expr, Dialect.SPARK)
    except (WorkloadError, LookupError) as error:
        return f"/* cannot be rendered: {error} */"


def statement_sql(statement: Dml, columns: Columns = (), dialect: Dialect = Dialect.SPARK) -> str:
    """Returns the text of one DML statement in a dialect. `columns`: those of its table."""
    table = Table(statement.table, columns)
    try:
        if dialect is Dialect.SPARK:
            texts = delta_texts(statement, table, lambda _, to: f"TIMESTAMP AS OF {to} /* logical time */")
        else:
            texts = dml_texts(statement, table, dialect)
    except (WorkloadError, LookupError, ValueError) as error:
        return f"/* cannot be rendered ({error}): {statement} */"
    if not texts:
        return f"/* {type(statement).__name__.upper()} of {statement.table} without rows: no change */"
    return ";\n".join(formatted_sql(text, dialect) for text in texts)


NOT_WRITTEN = frozenset({Dialect.ANSI, Dialect.FLINK})
"""Dialects that sqlglot does not write: it would put other types and functions into the text."""


def formatted_sql(sql: str, dialect: Dialect) -> str:
    """Returns a statement over several lines, or as it is where it is short or not safe to format.

    sqlglot formats it. A text is not safe to format if the result would be read as another statement.
    """
    if len(sql) <= LINE or sql.startswith(NOT_PARSED) or dialect in NOT_WRITTEN:
        return sql
    try:
        if _has_doubled_quote(sql, dialect):
            return sql
        tree = sqlglot.parse_one(sql, read=dialect.value)
        for parentheses in list(tree.find_all(exp.Paren)):
            if isinstance(parentheses.parent, DELIMITED):
                parentheses.replace(parentheses.this)
        text = tree.sql(dialect=dialect.value, pretty=True)
        shown = (ALONE.sub(r"(\1)", text), text)
        return next((each for each in shown if sqlglot.parse_one(each, read=dialect.value) == tree), sql)
    except (SqlglotError, RecursionError):
        return sql


def _has_doubled_quote(sql: str, dialect: Dialect) -> bool:
    # Spark 4 reads '' inside a literal as a quote; sqlglot ends the literal there and starts another one.
    kinds = [token.token_type.name for token in sqlglot.tokenize(sql, read=dialect.value)]
    return any(one == two == "STRING" for one, two in pairwise(kinds))
