"""The weight of a scenario. Shrinking only ever goes down in weight, so it ends whatever the reductions do.

The figures say what is simpler than what: a dynamic table outweighs the query it may be inlined into, a
MERGE the statements it may be taken apart to, a call its arguments. Nothing else depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from campaign.shrink.values import rank
from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate, Update
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Derived,
    Expr,
    Join,
    JoinKind,
    Literal,
    Named,
    Query,
    Relation,
    Select,
    UnionAll,
    With,
)
from workload.scenario import Commit, Create, Definition, DynamicTable, Read, Refresh, Scenario, Step, View
from workload.schema import Table
from workload.types import Row

JOIN_WEIGHTS: Mapping[JoinKind, int] = {
    JoinKind.INNER: 40,
    JoinKind.CROSS: 42,
    JoinKind.LEFT: 50,
    JoinKind.RIGHT: 52,
    JoinKind.FULL: 60,
}
AGGREGATE_WEIGHTS: Mapping[AggregateFunction, int] = {
    AggregateFunction.COUNT_STAR: 6,
    AggregateFunction.MIN: 8,
    AggregateFunction.MAX: 9,
    AggregateFunction.COUNT: 10,
    AggregateFunction.SUM: 11,
    AggregateFunction.AVG: 12,
}


def weight(scenario: Scenario) -> int:
    """The weight of a scenario; linear in its size."""
    tables = {table.name: table for table in scenario.tables}
    return (
        sum(60 + 15 * len(table.columns) for table in scenario.tables)
        + sum(_definition(definition) for definition in scenario.definitions)
        + sum(_step(step, tables) for step in scenario.steps)
        + 3 * len(_values(scenario))
    )


def _values(scenario: Scenario) -> set[tuple[str, int, str]]:
    """The different values of each column: two equal values are simpler than two simple ones."""
    return {
        (statement.table, position, repr(value))
        for step in scenario.steps
        if isinstance(step, Commit)
        for statement in step.statements
        if isinstance(statement, Insert | Merge | Overwrite | Replace)
        for row in statement.rows
        for position, value in enumerate(row)
    }


def _definition(definition: Definition) -> int:
    match definition:
        case DynamicTable(_, query, _, lag):
            return 1000 + 5 * (lag is not None) + query_weight(query)
        case View(_, query):
            return 800 + query_weight(query)
        case _:
            assert_never(definition)


def _step(step: Step, tables: Mapping[str, Table]) -> int:
    match step:
        case Commit(_, statements):
            return 30 + sum(_statement(statement, tables[statement.table]) for statement in statements)
        case Create():
            return 50
        case Read(_, _, names):
            return 40 + 10 * len(names)
        case Refresh(at, _, timestamp):
            return 100 + 5 * (at != timestamp)
        case _:
            assert_never(step)


def _statement(statement: Dml, table: Table) -> int:
    match statement:
        case Insert(_, rows):
            return 20 + _rows(rows, table)
        case Delete(_, where):
            return 22 + _optional(where)
        case Update(_, assignments, where):
            return 24 + _optional(where) + sum(6 + expression_weight(a.value) for a in assignments)
        case Truncate():
            return 30
        case Optimize():
            return 32
        case Overwrite(_, rows):
            return 60 + _rows(rows, table)
        case Restore():
            return 70
        case Merge(_, keys, rows, delete_when, insert):
            return 80 + 6 * len(keys) + _rows(rows, table) + _optional(delete_when) + 3 * insert
        case Replace(_, rows):
            return 90 + _rows(rows, table)
        case _:
            assert_never(statement)


def _rows(rows: tuple[Row, ...], table: Table) -> int:
    return sum(
        20 + sum(rank(value, column.type) for value, column in zip(row, table.columns, strict=True))
        for row in rows
    )


def query_weight(query: Query) -> int:
    """The weight of a query."""
    match query:
        case Select(items, source, where, group_by, having, distinct):
            keys = 0 if group_by is None else 40 + sum(8 + expression_weight(key) for key in group_by)
            clauses = keys + (20 + _optional(where)) * (where is not None) + 30 * distinct
            clauses += (25 + _optional(having)) * (having is not None)
            return 10 + sum(6 + expression_weight(i.expr) for i in items) + _relation(source) + clauses
        case UnionAll(branches):
            return 30 + sum(query_weight(branch) for branch in branches)
        case With(ctes, body):
            return 20 + sum(20 + query_weight(cte.query) for cte in ctes) + query_weight(body)
        case _:
            assert_never(query)


def _relation(relation: Relation) -> int:
    match relation:
        case Named():
            return 10
        case Derived(query, _):
            return 15 + query_weight(query)
        case Join(kind, left, right, on):
            return JOIN_WEIGHTS[kind] + _relation(left) + _relation(right) + _optional(on)
        case _:
            assert_never(relation)


def _optional(expr: Expr | None) -> int:
    return 0 if expr is None else 5 + expression_weight(expr)


def expression_weight(expr: Expr) -> int:
    """The weight of an expression: a column weighs less than a constant, and a call more than its parts."""
    match expr:
        case ColumnRef():
            return 3
        case Literal(value, type_):
            return 4 + rank(value, type_)
        case Call(_, args, _):
            return 6 + sum(expression_weight(arg) for arg in args)
        case Aggregate(function, arg, distinct, _):
            inside = 0 if arg is None else expression_weight(arg)
            return AGGREGATE_WEIGHTS[function] + inside + 6 * distinct
        case _:
            assert_never(expr)
