"""Reductions of base tables: fewer tables and columns, in the schema, in rows and in statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from shrink.admit import admissible, tidied
from shrink.reduction import Reduction
from shrink.rewrite import put_at, with_statements
from shrink.substitute import Change, by_column, changed_block, substituted
from workload.dml import Dml, Merge, Update, WithRows, statement_expressions, with_expressions
from workload.query import (
    ColumnRef,
    Derived,
    Named,
    Node,
    Select,
    changed,
    names_read,
    relations_of,
    with_sources,
)
from workload.scenario import Read, Scenario, Step
from workload.schema import Table


def drop_tables(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without the tables that no definition reads: all of them, then single ones."""
    read = {name for definition in scenario.definitions for name in names_read(definition.query)}
    unread = [table.name for table in scenario.tables if table.name not in read]
    if unread:
        yield without_tables(scenario, frozenset(unread))
        yield from (without_tables(scenario, frozenset({name})) for name in unread)


def without_tables(scenario: Scenario, names: frozenset[str]) -> Scenario:
    """Returns the scenario without some tables and the statements on them."""
    smaller = with_statements(scenario, lambda _n, _p, s: () if s.table in names else (s,))
    return replace(smaller, tables=tuple(table for table in scenario.tables if table.name not in names))


def drop_columns(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without all columns that nothing reads, then without single ones."""
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
    """Returns the scenario without a column; statements that read it read the column `instead`, if given."""
    position = table.position(column)
    reference = ColumnRef(table.name, instead, table.columns[position].type)
    change = by_column({(table.name, column): reference} if instead else {})

    def smaller(_number: int, _position: int, statement: Dml) -> tuple[Dml, ...]:
        if statement.table != table.name:
            return (statement,)
        return (_without_value(statement, position, column, change),)

    number = scenario.tables.index(table)
    narrow = replace(table, columns=put_at(table.columns, position))
    return replace(with_statements(scenario, smaller), tables=put_at(scenario.tables, number, narrow))


def _without_value(statement: Dml, position: int, column: str, change: Change) -> Dml:
    exprs = [substituted(expr, change) for expr in statement_expressions(statement)]
    statement = with_expressions(statement, exprs)
    if isinstance(statement, WithRows):
        statement = replace(statement, rows=tuple(put_at(row, position) for row in statement.rows))
    match statement:
        case Merge(_, keys):
            return replace(statement, keys=tuple(key for key in keys if key != column))
        case Update(_, assignments, _):
            return replace(statement, assignments=tuple(a for a in assignments if a.column != column))
        case _:
            return statement


def merge_columns(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without a column; queries and statements read an earlier one of the type instead."""
    for table in scenario.tables:
        for position, column in reversed(list(enumerate(table.columns))):
            twin = next((c.name for c in table.columns[:position] if c.type == column.type), None)
            if twin is not None:
                renamed = reading(scenario, table.name, {column.name: twin})
                yield without_column(renamed, table, column.name, instead=twin)


def reading(scenario: Scenario, name: str, columns: Mapping[str, str]) -> Scenario:
    """Returns the scenario whose queries read other columns of a relation; `columns`: old name -> new name.

    The relation need not have the new columns yet.
    """

    def other_block(node: Node) -> Node | None:
        if not isinstance(node, Select):
            return None
        aliases = {r.alias for r in relations_of(node.source) if isinstance(r, Named) and r.name == name}

        def other_column(part: Node) -> Node | None:
            if isinstance(part, ColumnRef) and part.relation in aliases and part.name in columns:
                return replace(part, name=columns[part.name])
            return None

        block = changed_block(node, other_column)
        return replace(block, source=changed(block.source, other_derived))

    def other_derived(node: Node) -> Node | None:
        return replace(node, query=changed(node.query, other_block)) if isinstance(node, Derived) else None

    definitions = (replace(each, query=changed(each.query, other_block)) for each in scenario.definitions)
    return replace(scenario, definitions=tuple(definitions))


def merge_tables(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a table instead of another of the same types: two inputs may become one."""
    for old in reversed(scenario.tables):
        for new in scenario.tables:
            if new != old and [c.type for c in new.columns] == [c.type for c in old.columns]:
                yield _merged(scenario, old, new)


def _merged(scenario: Scenario, old: Table, new: Table) -> Scenario:
    columns = {a.name: b.name for a, b in zip(old.columns, new.columns, strict=True)}

    def moved(_number: int, _position: int, statement: Dml) -> tuple[Dml, ...]:
        return (_moved(statement, new.name, columns) if statement.table == old.name else statement,)

    merged = with_statements(reading(scenario, old.name, columns), moved)
    return replace(
        merged,
        tables=tuple(table for table in scenario.tables if table != old),
        definitions=tuple(
            replace(d, query=with_sources(d.query, {old.name: new.name})) for d in merged.definitions
        ),
        steps=tuple(_step(step, old.name, new.name) for step in merged.steps),
    )


def _step(step: Step, old: str, new: str) -> Step:
    """Returns a read of the new table instead of the old one; other steps as they are."""
    if not isinstance(step, Read):
        return step
    return replace(step, tables=tuple(dict.fromkeys(new if table == old else table for table in step.tables)))


def _moved(statement: Dml, table: str, columns: Mapping[str, str]) -> Dml:
    """Returns the statement on another table whose columns have other names, old name -> new name."""

    def renamed(node: Node) -> Node | None:
        if isinstance(node, ColumnRef) and node.relation == statement.table:
            return replace(node, relation=table, name=columns[node.name])
        return None

    moved = with_expressions(statement, [changed(expr, renamed) for expr in statement_expressions(statement)])
    match moved:
        case Merge(keys=keys):
            return replace(moved, table=table, keys=tuple(columns[key] for key in keys))
        case Update(_, assignments, _):
            assigned = tuple(replace(a, column=columns[a.column]) for a in assignments)
            return replace(moved, table=table, assignments=assigned)
        case _:
            return replace(moved, table=table)


REDUCTIONS = (
    Reduction("drop unread tables", drop_tables, cheap=True),
    Reduction("drop unread columns", drop_columns, cheap=True),
)

DETAILS = (Reduction("merge columns of one type", merge_columns),)

MERGES = (Reduction("merge tables", merge_tables),)
"""Tried later than the other reductions of tables (`shrink.registry`)."""
