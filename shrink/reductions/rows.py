"""Reductions of literal rows: fewer of them, and simpler values in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from shrink.reduction import Reduction, chunks
from shrink.reductions.values import SIMPLE, rank, simpler, simplest
from shrink.rewrite import expressions, put_at, with_statements
from workload.dml import Dml, WithRows
from workload.query import Literal
from workload.scenario import Commit, Scenario
from workload.schema import Table
from workload.types import Row, SqlType, Value, fits

Spot = tuple[int, int, int]
"""The place of a literal row: the number of the step, of the statement in it, and of the row in that."""


@dataclass(frozen=True, slots=True)
class LiteralRow:
    """A literal row of a statement on a table."""

    spot: Spot
    table: Table
    row: Row


def literal_rows(scenario: Scenario) -> list[LiteralRow]:
    """Returns the literal rows of all statements, in order."""
    tables = {table.name: table for table in scenario.tables}
    return [
        LiteralRow((number, position, i), tables[statement.table], row)
        for number, step in enumerate(scenario.steps)
        if isinstance(step, Commit)
        for position, statement in enumerate(step.statements)
        if isinstance(statement, WithRows)
        for i, row in enumerate(statement.rows)
    ]


def with_rows(scenario: Scenario, new: Mapping[Spot, Row | None]) -> Scenario:
    """Returns the scenario with other rows at some spots; None drops a row."""

    def changed(number: int, position: int, statement: Dml) -> tuple[Dml, ...]:
        if not isinstance(statement, WithRows):
            return (statement,)
        rows = (new.get((number, position, i), row) for i, row in enumerate(statement.rows))
        return (replace(statement, rows=tuple(row for row in rows if row is not None)),)

    return with_statements(scenario, changed)


def drop_rows(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates without many rows, then without single ones."""
    for spots in chunks([literal_row.spot for literal_row in literal_rows(scenario)]):
        yield with_rows(scenario, dict.fromkeys(spots))


def simplify_columns(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with one and the same simplest value in all rows of a column."""
    rows = literal_rows(scenario)
    for table in scenario.tables:
        for position, column in enumerate(table.columns):
            value = simplest(column.type).value
            changed = {r.spot: put_at(r.row, position, value) for r in rows if r.table == table}
            yield with_rows(scenario, changed)


def rename_values(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a simple value in place of another one everywhere, in rows and in literals."""
    types = {column.type for table in scenario.tables for column in table.columns}
    for type_ in sorted(types, key=str):
        used = _values(scenario, type_)
        free = [v for v in SIMPLE[type_.kind] if repr(v) not in used and fits(v, type_)]
        for text, value in used.items():
            better = [v for v in free if rank(v, type_) < rank(value, type_)]
            if value is not None and better:
                yield _renamed(scenario, type_, text, better[0])


def _values(scenario: Scenario, type_: SqlType) -> dict[str, Value]:
    """Returns the values of a type in rows and literals, by their text."""
    values: dict[str, Value] = {}
    for literal_row in literal_rows(scenario):
        for value, column in zip(literal_row.row, literal_row.table.columns, strict=True):
            if column.type == type_:
                values.setdefault(repr(value), value)
    for place in expressions(scenario):
        node = place.site.node
        if isinstance(node, Literal) and node.type == type_:
            values.setdefault(repr(node.value), node.value)
    return values


def _renamed(scenario: Scenario, type_: SqlType, text: str, new: Value) -> Scenario:
    """Returns the scenario with a new value in place of the one with that text, in rows and in literals."""
    changed = {
        r.spot: tuple(
            new if column.type == type_ and repr(value) == text else value
            for value, column in zip(r.row, r.table.columns, strict=True)
        )
        for r in literal_rows(scenario)
    }
    scenario = with_rows(scenario, changed)
    while True:
        for place in expressions(scenario):
            node = place.site.node
            if isinstance(node, Literal) and node.type == type_ and repr(node.value) == text:
                scenario = place.site.put(Literal(new, type_))
                break
        else:
            return scenario


def simplify_values(scenario: Scenario) -> Iterator[Scenario]:
    """Yields candidates with a simpler value in one row, or the value of another row in the same column."""
    rows = literal_rows(scenario)
    for r in rows:
        for position, column in enumerate(r.table.columns):
            others = [other.row[position] for other in rows if other.table is r.table]
            for value in _options(r.row[position], column.type, others):
                yield with_rows(scenario, {r.spot: put_at(r.row, position, value)})


def _options(value: Value, type_: SqlType, others: list[Value]) -> tuple[Value, ...]:
    """Returns at most three simpler values, those that other rows have first."""
    in_other_rows = {repr(other) for other in others}
    better = {repr(option): option for option in simpler(value, type_)}
    better.update(
        {repr(o): o for o in others if repr(o) != repr(value) and rank(o, type_) <= rank(value, type_)}
    )
    ordered = sorted(
        better.values(), key=lambda option: (repr(option) not in in_other_rows, rank(option, type_))
    )
    return tuple(ordered[:3])


REDUCTIONS = (Reduction("drop rows", drop_rows),)

DETAILS = (
    Reduction("simplify a column's values", simplify_columns),
    Reduction("rename a value", rename_values),
    Reduction("simplify a value", simplify_values),
)
