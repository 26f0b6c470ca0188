"""Scenarios as text a person reads: tables, definitions and steps in Spark's SQL.

Total on purpose: a scenario that no engine can run (its outcome `generator_invalid`) is described too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from reports.layout import lay_out
from reports.values import values_row
from workload.dml import (
    Delete,
    Dml,
    Insert,
    Merge,
    Optimize,
    Overwrite,
    Replace,
    Restore,
    Truncate,
    Update,
)
from workload.errors import WorkloadError
from workload.query import Expr, Query
from workload.scenario import Commit, Create, Definition, DynamicTable, Read, Refresh, Scenario, Step, View
from workload.schema import Column, Table
from workload.sql import Dialect, render_expr, render_query
from workload.types import Row

Columns = tuple[Column, ...]

SECOND = 1_000_000
"""Logical microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One step of a timeline. `timestamp` is the data timestamp that a refresh asks for."""

    number: int
    at: int
    kind: str
    title: str
    statements: tuple[str, ...]
    timestamp: int | None = None


def timeline(scenario: Scenario) -> tuple[Entry, ...]:
    """Every step of a scenario, in order of time."""
    return tuple(_entry(number, step, scenario) for number, step in enumerate(scenario.steps))


def _entry(number: int, step: Step, scenario: Scenario) -> Entry:
    match step:
        case Commit(at, statements):
            columns = {table.name: table.columns for table in scenario.tables}
            touched = ", ".join(dict.fromkeys(statement.table for statement in statements)) or "nothing"
            count = "" if len(statements) == 1 else f", {len(statements)} statements in one transaction"
            return Entry(
                number=number,
                at=at,
                kind="commit",
                title=f"commit to {touched}{count}",
                statements=tuple(statement_sql(s, columns.get(s.table, ())) for s in statements),
            )
        case Create(at, name):
            return Entry(
                number=number,
                at=at,
                kind="create",
                title=f"create {name}",
                statements=(_creation(name, scenario),),
            )
        case Refresh(at, table, timestamp):
            return Entry(
                number=number,
                at=at,
                kind="refresh",
                title=f"refresh {table}",
                statements=(f"REFRESH DYNAMIC TABLE {table}",),
                timestamp=timestamp,
            )
        case Read(at, reader, tables):
            return Entry(
                number=number,
                at=at,
                kind="read",
                title=f"reader {reader} reads {', '.join(tables)}",
                statements=tuple(f"SELECT * FROM {table}" for table in tables),
            )
        case _:
            assert_never(step)


def _creation(name: str, scenario: Scenario) -> str:
    try:
        return f"{definition_head(scenario.definition(name))} AS ..."
    except KeyError:
        return f"CREATE {name} /* the scenario does not define it */"


def table_sql(table: Table, verb: str = "CREATE TABLE") -> str:
    """The table with its columns and types."""
    return f"{verb} {table.name} ({', '.join(f'{c.name} {c.type}' for c in table.columns)})"


def definition_head(definition: Definition) -> str:
    """What comes before AS: the kind of object, its mode and its target lag."""
    match definition:
        case View(name, _):
            return f"CREATE VIEW {name}"
        case DynamicTable(name, _, mode, lag):
            return f"CREATE DYNAMIC TABLE {name} TARGET_LAG = {lag_text(lag)} REFRESH_MODE = {mode.value}"
        case _:
            assert_never(definition)


def lag_text(lag: int | None) -> str:
    """A target lag, given in logical microseconds: `DOWNSTREAM`, `'96 seconds'`."""
    if lag is None:
        return "DOWNSTREAM"
    return f"'{lag // SECOND} seconds'" if lag % SECOND == 0 else f"'{lag} microseconds'"


def query_sql(query: Query, dialect: Dialect) -> str:
    """The query as the engines are given it, over several lines."""
    try:
        return lay_out(render_query(query, dialect), dialect)
    except (WorkloadError, LookupError) as error:
        return f"-- cannot be rendered: {error}"


def _condition(expr: Expr) -> str:
    try:
        return render_expr(expr, Dialect.SPARK)
    except (WorkloadError, LookupError) as error:
        return f"/* cannot be rendered: {error} */"


def statement_sql(statement: Dml, columns: Columns = ()) -> str:
    """One DML statement in Spark's SQL; `columns` are those of its table."""
    match statement:
        case Insert(table, rows):
            return f"INSERT INTO {table}{_column_list(columns)}{_values(rows)}"
        case Update(table, assignments, where):
            settings = ", ".join(f"{a.column} = {_condition(a.value)}" for a in assignments)
            return f"UPDATE {table} SET {settings}{_where(where)}"
        case Delete(table, where):
            return f"DELETE FROM {table}{_where(where)}"
        case Merge():
            return _merge(statement, columns)
        case Truncate(table):
            return f"TRUNCATE TABLE {table}"
        case Overwrite(table, rows):
            return f"INSERT OVERWRITE {table}{_column_list(columns)}{_values(rows)}"
        case Restore(table, to):
            return f"RESTORE TABLE {table} TO TIMESTAMP AS OF {to} /* logical time */"
        case Optimize(table):
            return f"OPTIMIZE {table}"
        case Replace(table, rows):
            head = table_sql(Table(table, columns), "CREATE OR REPLACE TABLE")
            return f"{head};\nINSERT INTO {table}{_column_list(columns)}{_values(rows)}" if rows else head
        case _:
            assert_never(statement)


def _merge(merge: Merge, columns: Columns) -> str:
    names = [column.name for column in columns]
    source = "source" if merge.table != "source" else "source_rows"
    lines = [
        f"MERGE INTO {merge.table}",
        f"USING ({_values(merge.rows).strip()}) AS {source}{_column_list(columns)}",
        "ON " + " AND ".join(f"{merge.table}.{key} <=> {source}.{key}" for key in merge.keys),
    ]
    if merge.delete_when is not None:
        lines.append(f"WHEN MATCHED AND {_condition(merge.delete_when)} THEN DELETE")
    settings = ", ".join(f"{name} = {source}.{name}" for name in names if name not in merge.keys)
    if settings:
        lines.append(f"WHEN MATCHED THEN UPDATE SET {settings}")
    if merge.insert_unmatched:
        values = ", ".join(f"{source}.{name}" for name in names)
        lines.append(f"WHEN NOT MATCHED THEN INSERT{_column_list(columns)} VALUES ({values})")
    return "\n".join(lines)


def _column_list(columns: Columns) -> str:
    return f" ({', '.join(column.name for column in columns)})" if columns else ""


def _where(condition: Expr | None) -> str:
    return "" if condition is None else f" WHERE {_condition(condition)}"


def _values(rows: tuple[Row, ...]) -> str:
    match rows:
        case ():
            return " VALUES /* no rows */"
        case (row,):
            return f" VALUES {values_row(row)}"
        case _:
            return " VALUES\n  " + ",\n  ".join(values_row(row) for row in rows)
