"""Fewer rows, and simpler values in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from campaign.shrink.reduction import Reduction, chunks
from campaign.shrink.rewrite import expressions, put_at
from campaign.shrink.values import SIMPLE, rank, simpler, simplest
from workload.dml import Insert, Merge, Overwrite, Replace
from workload.query import Literal
from workload.scenario import Commit, Scenario
from workload.types import Row, SqlType, Value, fits

Spot = tuple[int, int, int]
"""A literal row: step, statement, row."""

WithRows = Insert | Merge | Overwrite | Replace


def spots(scenario: Scenario) -> list[Spot]:
    """Where the literal rows of all statements are."""
    return [
        (step_number, number, row)
        for step_number, step in enumerate(scenario.steps)
        if isinstance(step, Commit)
        for number, statement in enumerate(step.statements)
        if isinstance(statement, WithRows)
        for row in range(len(statement.rows))
    ]


def with_rows(scenario: Scenario, change: Callable[[Spot, str, Row], Row | None]) -> Scenario:
    """The scenario with every literal row changed, or dropped where `change` gives None."""
    steps = list(scenario.steps)
    for number, step in enumerate(steps):
        if isinstance(step, Commit):
            statements = list(step.statements)
            for position, statement in enumerate(statements):
                if isinstance(statement, WithRows):
                    new = (
                        change((number, position, i), statement.table, row)
                        for i, row in enumerate(statement.rows)
                    )
                    statements[position] = replace(
                        statement, rows=tuple(row for row in new if row is not None)
                    )
            steps[number] = replace(step, statements=tuple(statements))
    return replace(scenario, steps=tuple(steps))


def drop_rows(scenario: Scenario) -> Iterator[Scenario]:
    """Without many rows, then without single ones."""
    places = spots(scenario)
    for chunk in chunks(len(places)):
        yield with_spots(scenario, dict.fromkeys(places[i] for i in chunk))


def with_spots(scenario: Scenario, new: Mapping[Spot, Row | None]) -> Scenario:
    """The scenario with other rows at some spots, or none."""
    return with_rows(scenario, lambda spot, _, row: new.get(spot, row))


def simplify_columns(scenario: Scenario) -> Iterator[Scenario]:
    """One and the same simplest value in all rows of a column."""
    for table in scenario.tables:
        for position, column in enumerate(table.columns):
            value = simplest(column.type).value

            def change(
                _: Spot, name: str, row: Row, at: int = position, of: str = table.name, v: Value = value
            ) -> Row:
                return put_at(row, at, v) if name == of else row

            yield with_rows(scenario, change)


def rename_values(scenario: Scenario) -> Iterator[Scenario]:
    """A value that is not simple becomes a simple one everywhere, in rows and in literals."""
    types = {column.type for table in scenario.tables for column in table.columns}
    for type_ in sorted(types, key=str):
        used = _values(scenario, type_)
        free = [v for v in SIMPLE[type_.kind] if repr(v) not in used and fits(v, type_)]
        for text, value in used.items():
            better = [v for v in free if rank(v, type_) < rank(value, type_)]
            if value is not None and better:
                yield _renamed(scenario, type_, text, better[0])


def _values(scenario: Scenario, type_: SqlType) -> dict[str, Value]:
    """Text -> value, of the values of a type in rows and literals."""
    found: dict[str, Value] = {}
    tables = {table.name: table for table in scenario.tables}
    for step_number, number, row in spots(scenario):
        step = scenario.steps[step_number]
        assert isinstance(step, Commit)
        statement = step.statements[number]
        assert isinstance(statement, WithRows)
        for value, column in zip(statement.rows[row], tables[statement.table].columns, strict=True):
            if column.type == type_:
                found.setdefault(repr(value), value)
    for place in expressions(scenario):
        node = place.site.node
        if isinstance(node, Literal) and node.type == type_:
            found.setdefault(repr(node.value), node.value)
    return found


def _renamed(scenario: Scenario, type_: SqlType, text: str, new: Value) -> Scenario:
    tables = {table.name: table for table in scenario.tables}

    def change(_: Spot, name: str, row: Row) -> Row:
        columns = tables[name].columns
        return tuple(
            new if column.type == type_ and repr(value) == text else value
            for value, column in zip(row, columns, strict=True)
        )

    scenario = with_rows(scenario, change)
    while True:
        for place in expressions(scenario):
            node = place.site.node
            if isinstance(node, Literal) and node.type == type_ and repr(node.value) == text:
                scenario = place.site.put(Literal(new, type_))
                break
        else:
            return scenario


def simplify_values(scenario: Scenario) -> Iterator[Scenario]:
    """A simpler value in one row, or the value of another row in the same column."""
    tables = {table.name: table for table in scenario.tables}
    columns: dict[tuple[str, int], list[Value]] = {}

    def collect(_: Spot, name: str, row: Row) -> Row:
        for position, value in enumerate(row):
            columns.setdefault((name, position), []).append(value)
        return row

    with_rows(scenario, collect)
    for spot in spots(scenario):
        step = scenario.steps[spot[0]]
        assert isinstance(step, Commit)
        statement = step.statements[spot[1]]
        assert isinstance(statement, WithRows)
        row = statement.rows[spot[2]]
        for position, column in enumerate(tables[statement.table].columns):
            others = columns[statement.table, position]
            for value in _options(row[position], column.type, others):
                new = put_at(row, position, value)
                yield with_spots(scenario, {spot: new})


def _options(value: Value, type_: SqlType, others: list[Value]) -> tuple[Value, ...]:
    """Simpler values, those that other rows have first, and no more than three."""
    known = {repr(other) for other in others}
    better = {repr(option): option for option in simpler(value, type_)}
    better.update(
        {repr(o): o for o in others if repr(o) != repr(value) and rank(o, type_) <= rank(value, type_)}
    )
    ordered = sorted(better.values(), key=lambda option: (repr(option) not in known, rank(option, type_)))
    return tuple(ordered[:3])


REDUCTIONS = (Reduction("drop rows", drop_rows),)

DETAILS = (
    Reduction("simplify a column's values", simplify_columns),
    Reduction("rename a value", rename_values),
    Reduction("simplify a value", simplify_values),
)
