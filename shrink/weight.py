"""The weight of a scenario. Shrinking accepts lighter scenarios only, so it ends whatever the reductions do.

The figures order what is simpler than what: a dynamic table is heavier than the sub-select that may replace
it, a MERGE than the statements that may replace it, a call than its arguments. Nothing else depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from shrink.reductions.values import rank
from workload import dml, query as ir
from workload.aggregates import FORMS
from workload.query import children
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
from workload.schema import Table

JOIN_WEIGHTS: Mapping[ir.JoinKind, int] = {
    ir.JoinKind.INNER: 40,
    ir.JoinKind.CROSS: 42,
    ir.JoinKind.LEFT: 50,
    ir.JoinKind.RIGHT: 52,
    ir.JoinKind.FULL: 60,
    ir.JoinKind.SEMI: 45,
    ir.JoinKind.ANTI: 48,
}
AGGREGATE_WEIGHTS: Mapping[ir.AggregateFunction, int] = {
    ir.AggregateFunction.COUNT_STAR: 6,
    ir.AggregateFunction.MIN: 8,
    ir.AggregateFunction.MAX: 9,
    ir.AggregateFunction.COUNT: 10,
    ir.AggregateFunction.SUM: 11,
    ir.AggregateFunction.AVG: 12,
    **{function: 14 + number for number, function in enumerate(sorted(FORMS, key=lambda f: f.value))},
}
STATEMENT_WEIGHTS: Mapping[type[dml.Dml], int] = {
    dml.Insert: 20,
    dml.Delete: 22,
    dml.Update: 24,
    dml.Truncate: 30,
    dml.Optimize: 32,
    dml.Overwrite: 60,
    dml.Restore: 70,
    dml.Merge: 80,
    dml.Replace: 90,
}


def weight(scenario: Scenario) -> int:
    """Returns the weight of a scenario; linear in its size."""
    tables = {table.name: table for table in scenario.tables}
    return (
        sum(60 + 15 * len(table.columns) for table in scenario.tables)
        + sum(_definition(definition) for definition in scenario.definitions)
        + sum(_step(step, tables) for step in scenario.steps)
        + 3 * len(_values(scenario))
    )


def _values(scenario: Scenario) -> set[tuple[str, int, str]]:
    """Returns the different values of each column: fewer of them make a scenario simpler."""
    return {
        (statement.table, position, repr(value))
        for step in scenario.steps
        if isinstance(step, Commit)
        for statement in step.statements
        if isinstance(statement, dml.WithRows)
        for row in statement.rows
        for position, value in enumerate(row)
    }


def _definition(definition: Definition) -> int:
    match definition:
        case DynamicTable(_, query, _, lag, style, known_as):
            return 1000 + 5 * (lag is not None) + node_weight(query) + _style(style) + 20 * bool(known_as)
        case View(_, query, style, known_as):
            return 800 + node_weight(query) + _style(style) + 20 * bool(known_as)
        case _:
            assert_never(definition)


def _style(style: int) -> int:
    """Returns the weight of a style: small numbers are lighter, all large ones weigh the same."""
    return min(10, style) + (style > 10)


def _step(step: Step, tables: Mapping[str, Table]) -> int:
    match step:
        case Commit(_, statements, meanwhile, rolled_back):
            written = sum(_statement(statement, tables[statement.table]) for statement in statements)
            return 30 + written + _meanwhile(meanwhile) + 10 * rolled_back
        case Create() | Drop():
            return 50
        case Redefine(_, names):
            return 50 + 10 * len(names)
        case Read(_, _, names):
            return 40 + 10 * len(names)
        case Refresh(at, _, timestamp, killed):
            return 100 + 5 * (at != timestamp) + (0 if killed is None else 40 + killed)
        case _:
            assert_never(step)


def _meanwhile(meanwhile: Meanwhile | None) -> int:
    if meanwhile is None:
        return 0
    calls = meanwhile.last + abs(meanwhile.last - meanwhile.first)
    return 20 + calls + 5 * (meanwhile.clock != 0) + 8 * meanwhile.foreign + 10 * meanwhile.abandoned


def _statement(statement: dml.Dml, table: Table) -> int:
    weight = sum(5 + node_weight(expr) for expr in dml.statement_expressions(statement))
    weight += STATEMENT_WEIGHTS[type(statement)]
    if isinstance(statement, dml.WithRows):
        types = [column.type for column in table.columns]
        weight += sum(20 + sum(map(rank, row, types)) for row in statement.rows)
    match statement:
        case dml.Update(_, assignments, _):
            return weight + len(assignments)
        case dml.Merge(_, keys, _, _, insert_unmatched):
            return weight + 6 * len(keys) + 3 * insert_unmatched
        case _:
            return weight


def node_weight(node: ir.Node) -> int:
    """Returns the weight of a query or of a part of one: a column weighs less than a constant."""
    return _own_weight(node) + sum(node_weight(part) for part in children(node))


def _own_weight(node: ir.Node) -> int:
    """Returns the weight of a node without that of its parts."""
    match node:
        case ir.ColumnRef() | ir.Literal() | ir.Call() | ir.Aggregate() | ir.Grouping() | ir.Window():
            return _of_expression(node)
        case ir.Item():
            return 6
        case ir.Named() | ir.Derived() | ir.Join() | ir.Exploded():
            return _relation(node)
        case ir.Select():
            return _block(node)
        case ir.SetOperation():
            return 30
        case ir.With() | ir.Cte():
            return 20
        case ir.Verbatim(text):
            return len("".join(text.split()))
        case ir.Limited(_, order, count, offset):
            return 30 + 2 * len(order) + count + (5 + offset) * (offset > 0)
        case _:
            assert_never(node)


def _of_expression(expr: ir.Expr) -> int:
    match expr:
        case ir.ColumnRef():
            return 3
        case ir.Literal(value, type_):
            return 4 + rank(value, type_)
        case ir.Call():
            return 6
        case ir.Grouping():
            return 9
        case ir.Aggregate(function, _, distinct, _):
            return AGGREGATE_WEIGHTS[function] + 6 * distinct
        case ir.Window(function, _, _, order, frame, _, ignores_nulls):
            ranked = 14 if function is ir.WindowFunction.RANK else 16
            shape = 4 * len(order) + 6 * (frame is not None) + 3 * sum(key.descending for key in order)
            return ranked + shape + 5 * ignores_nulls + _distances(frame)
        case _:
            assert_never(expr)


def _block(select: ir.Select) -> int:
    keys = 0 if select.group_by is None else 40 + 8 * len(select.group_by)
    sets = 0 if select.sets is None else 20 + sum(5 + len(places) for places in select.sets)
    conditions = 25 * (select.where is not None) + 30 * (select.having is not None)
    return 10 + keys + sets + conditions + 30 * (select.qualify is not None) + 30 * select.distinct


def _distances(frame: ir.Frame | None) -> int:
    return 0 if frame is None else sum(abs(end or 0) for end in (frame.start, frame.end))


def _relation(node: ir.Relation) -> int:
    match node:
        case ir.Named():
            return 10
        case ir.Derived():
            return 15
        case ir.Join(kind, _, _, on):
            return JOIN_WEIGHTS[kind] + 5 * (on is not None)
        case ir.Exploded(_, _, _, outer, position):
            return 35 + 6 * outer + 5 * position
        case _:
            assert_never(node)
