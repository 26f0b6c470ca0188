"""Conditions on the current time in definitions that read dates or times: temporal filters.

Data timestamps of scenarios are small numbers, and the dates and times in their rows are of other years. So
the current time is moved by an interval that brings it to a value of the column just when some refresh runs:
rows then come and go between refreshes, some of them exactly on the limit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from generators.choices import Choices
from workload import query as ir
from workload.dml import WithRows
from workload.scenario import Commit, Refresh, Scenario
from workload.sql.passing_time import START, current_time
from workload.types import BOOLEAN, Kind, SqlType

TEMPORAL = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})

YEARS = range(1500, 9000)
"""The years of values to which the current time is moved: far enough from the ends of the calendar."""

Values = Mapping[tuple[str, str, SqlType], Sequence[dt.date]]
"""By table, column and its type, the dates and times that the scenario writes there."""


def with_passing_time(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario; that percentage of the definitions over dates or times reads the current time."""
    values = _values(scenario)
    times = [step.timestamp for step in scenario.steps if isinstance(step, Refresh)] or [0]
    definitions = []
    for definition in scenario.definitions:
        if choices.chance(percent):
            definition = replace(definition, query=_timed(choices, definition.query, values, times))
        definitions.append(definition)
    return replace(scenario, definitions=tuple(definitions))


def _values(scenario: Scenario) -> Values:
    """Returns the dates and times that statements write."""
    found: dict[tuple[str, str, SqlType], list[dt.date]] = {
        (table.name, column.name, column.type): []
        for table in scenario.tables
        for column in table.columns
        if column.type.kind in TEMPORAL
    }
    columns = {table.name: table.columns for table in scenario.tables}
    for step in scenario.steps:
        for statement in step.statements if isinstance(step, Commit) else ():
            for row in statement.rows if isinstance(statement, WithRows) else ():
                for column, value in zip(columns[statement.table], row, strict=True):
                    if isinstance(value, dt.date) and value.year in YEARS:
                        found[statement.table, column.name, column.type].append(value)
    return found


def _timed(choices: Choices, query: ir.Query, values: Values, times: Sequence[int]) -> ir.Query:
    """Returns a query with a condition on the current time in one of its clauses, if it can have one."""
    match query:
        case ir.With(_, body):
            return replace(query, body=_timed(choices, body, values, times))
        case ir.Limited(limited):
            return replace(query, query=_timed(choices, limited, values, times))
        case ir.Select():
            read = list(_columns(query.source, values))
            return _with_condition(choices, query, choices.pick(read), times) if read else query
        case _:
            return query


Read = tuple[ir.ColumnRef, Sequence[dt.date]]
"""A column, and the values that the scenario writes there."""


def _columns(relation: ir.Relation, values: Values) -> Iterator[Read]:
    """Yields the dates and times of base tables that a FROM clause shows."""
    match relation:
        case ir.Named(name, alias):
            for (table, column, type_), known in values.items():
                if table == name and known:
                    yield ir.ColumnRef(alias, column, type_), known
        case ir.Join(kind, left, right, _):
            yield from _columns(left, values)
            if kind not in (ir.JoinKind.SEMI, ir.JoinKind.ANTI):
                yield from _columns(right, values)
        case _:
            return


def _with_condition(choices: Choices, select: ir.Select, read: Read, times: Sequence[int]) -> ir.Select:
    """Returns a block with a condition on the current time in ON, HAVING, QUALIFY or WHERE."""
    column, _ = read
    condition = _condition(choices, column, read, times)
    source = select.source
    if isinstance(source, ir.Join) and source.on is not None and choices.chance(35):
        return replace(select, source=replace(source, on=ir.both(source.on, condition)))
    if select.group_by and choices.chance(30):
        newest = ir.Aggregate(ir.AggregateFunction.MAX, column, False, column.type)
        return replace(select, having=ir.both(select.having, _condition(choices, newest, read, times)))
    # What QUALIFY reads beside the shown columns would not be in the order of the rows (`workload.windows`).
    shown = any(item.expr == column for item in select.items)
    if select.qualify is not None and select.group_by is None and shown and choices.chance(50):
        return replace(select, qualify=ir.both(select.qualify, condition))
    return replace(select, where=ir.both(select.where, condition))


COMPARISONS = ((4, "gt"), (4, "ge"), (3, "lt"), (3, "le"), (1, "eq"), (1, "ne"), (1, "same"), (1, "differs"))
"""The functions of comparisons, with their weights."""


def _condition(choices: Choices, value: ir.Expr, read: Read, times: Sequence[int]) -> ir.Expr:
    """Returns a comparison of a value with the current time, or two of them under AND, OR or NOT."""
    column, known = read

    def now() -> ir.Expr:
        limit = choices.pick(known)
        at = limit if isinstance(limit, dt.datetime) else dt.datetime.combine(limit, dt.time())
        # Exactly at a refresh, just before it, or just after it.
        moment = choices.pick(times) + choices.weighted(((4, 0), (1, 1), (1, -1), (1, 5)))
        return current_time((at - START) // dt.timedelta(microseconds=1) - moment, column.type)

    def compared() -> ir.Expr:
        sides = (value, now())
        return ir.Call(choices.weighted(COMPARISONS), sides[::-1] if choices.chance(25) else sides, BOOLEAN)

    match choices.weighted(((6, "one"), (2, "between"), (1, "and"), (2, "or"), (1, "not"), (1, "null"))):
        case "between":
            return ir.Call("between", (value, now(), now()), BOOLEAN)
        case "and" | "or" as connective:
            return ir.Call(connective, (compared(), compared()), BOOLEAN)
        case "not":
            return ir.Call("not", (compared(),), BOOLEAN)
        case "null":
            return ir.Call("or", (ir.Call("is_null", (value,), BOOLEAN), compared()), BOOLEAN)
        case _:
            return compared()
