"""Fewer base tables and columns, in the schema, in rows and in statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from campaign.shrink.admit import admissible, tidied
from campaign.shrink.reduction import Reduction
from campaign.shrink.rewrite import blocks, put_at
from campaign.shrink.substitute import Change, by_column, changed, changed_block
from workload.dml import Delete, Dml, Insert, Merge, Overwrite, Replace, Update
from workload.query import ColumnRef, Expr, Named, names_read, relations_of
from workload.scenario import Commit, Scenario
from workload.schema import Table


def drop_tables(scenario: Scenario) -> Iterator[Scenario]:
    """Without the tables that no definition reads: all of them, then single ones."""
    read = {name for definition in scenario.definitions for name in names_read(definition.query)}
    unread = [table.name for table in scenario.tables if table.name not in read]
    if unread:
        yield without_tables(scenario, frozenset(unread))
        yield from (without_tables(scenario, frozenset({name})) for name in unread)


def without_tables(scenario: Scenario, names: frozenset[str]) -> Scenario:
    """The scenario without some tables and the statements on them."""
    steps = tuple(
        replace(step, statements=tuple(s for s in step.statements if s.table not in names))
        if isinstance(step, Commit)
        else step
        for step in scenario.steps
    )
    tables = tuple(table for table in scenario.tables if table.name not in names)
    return replace(scenario, tables=tables, steps=steps)


def drop_columns(scenario: Scenario) -> Iterator[Scenario]:
    """Without all columns that nothing reads, then without single ones."""
    unread = [
        (table.name, column.name)
        for table in scenario.tables
        for column in reversed(table.columns)
        if admissible(tidied(without_column(scenario, table, column.name)))
    ]
    everything = scenario
    for table_name, column in unread:
        table = next(table for table in everything.tables if table.name == table_name)
        if len(table.columns) > 1:
            everything = without_column(everything, table, column)
    yield everything
    for table in scenario.tables:
        for column in [name for owner, name in unread if owner == table.name]:
            yield without_column(scenario, table, column)


def without_column(scenario: Scenario, table: Table, column: str, instead: str = "") -> Scenario:
    """The scenario without a column; statements that read it read `instead`."""
    at = table.position(column)
    kind = table.columns[at].type
    change = (
        by_column({(table.name, column): ColumnRef(table.name, instead, kind)}) if instead else by_column({})
    )
    smaller = replace(table, columns=put_at(table.columns, at))
    position = scenario.tables.index(table)
    scenario = replace(scenario, tables=put_at(scenario.tables, position, smaller))
    for number, step in enumerate(scenario.steps):
        if isinstance(step, Commit):
            kept = tuple(
                _without_value(s, at, column, change) if s.table == table.name else s for s in step.statements
            )
            scenario = replace(scenario, steps=put_at(scenario.steps, number, replace(step, statements=kept)))
    return scenario


def _without_value(statement: Dml, at: int, column: str, change: Change) -> Dml:
    def optional(expr: Expr | None) -> Expr | None:
        return None if expr is None else changed(expr, change)

    match statement:
        case Insert() | Overwrite() | Replace():
            return replace(statement, rows=tuple(put_at(row, at) for row in statement.rows))
        case Merge(_, keys, rows, delete_when, _):
            return replace(
                statement,
                keys=tuple(key for key in keys if key != column),
                rows=tuple(put_at(row, at) for row in rows),
                delete_when=optional(delete_when),
            )
        case Update(_, assignments, where):
            left = tuple(
                replace(a, value=changed(a.value, change)) for a in assignments if a.column != column
            )
            return replace(statement, assignments=left, where=optional(where))
        case Delete(_, where):
            return replace(statement, where=optional(where))
        case _:
            return statement


def merge_columns(scenario: Scenario) -> Iterator[Scenario]:
    """Without a column, what reads it reading an earlier column of the same type."""
    for table in scenario.tables:
        for position, column in reversed(list(enumerate(table.columns))):
            twin = next((c.name for c in table.columns[:position] if c.type == column.type), None)
            if twin is not None:
                renamed = reading(scenario, table.name, {column.name: twin})
                yield without_column(renamed, table, column.name, instead=twin)


def reading(scenario: Scenario, name: str, columns: Mapping[str, str]) -> Scenario:
    """The scenario with every query reading other columns of a relation, old name -> new name."""
    count = sum(1 for _ in blocks(scenario))
    for number in range(count):
        site, select = list(blocks(scenario))[number]
        aliases = {r.alias for r in relations_of(select.source) if isinstance(r, Named) and r.name == name}

        def change(expr: Expr, aliases: set[str] = aliases) -> Expr | None:
            if isinstance(expr, ColumnRef) and expr.relation in aliases and expr.name in columns:
                return replace(expr, name=columns[expr.name])
            return None

        scenario = site.put(changed_block(select, change))
    return scenario


REDUCTIONS = (
    Reduction("drop unread tables", drop_tables, cheap=True),
    Reduction("drop unread columns", drop_columns, cheap=True),
)

DETAILS = (Reduction("merge columns of one type", merge_columns),)
