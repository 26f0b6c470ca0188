"""Fewer base tables: one table in the place of another, wherever that one was read or written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from shrink.reduction import Reduction
from shrink.reductions.tables import reading
from shrink.rewrite import with_statements
from workload.dml import Dml, Merge, Update, statement_expressions, with_expressions
from workload.query import ColumnRef, Node, changed, with_sources
from workload.scenario import Read, Scenario, Step
from workload.schema import Table


def merge_tables(scenario: Scenario) -> Iterator[Scenario]:
    """A table of the same types instead of another: what has two inputs may be left with one."""
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
    if not isinstance(step, Read):
        return step
    return replace(step, tables=tuple(dict.fromkeys(new if table == old else table for table in step.tables)))


def _moved(statement: Dml, table: str, columns: Mapping[str, str]) -> Dml:
    """The statement on another table whose columns have other names, old name -> new name."""

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


REDUCTIONS = (Reduction("merge tables", merge_tables),)
