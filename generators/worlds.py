"""Other data for the same scenario: worlds for lifting.

Rows are changed, dropped and exchanged for others of their column, so that most of what an intent built into
the data is left in some worlds and just missed in others. Values are those the scenario itself puts into the
column, and no table gets more rows, so whatever the generator promised of sizes and digits still holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from generators.choices import Choices, SeededChoices
from workload.dml import Dml, Insert, Merge, Overwrite, Replace
from workload.scenario import Commit, Scenario, Step
from workload.types import Row, Value

KEPT = 45
"""Rows in 100 that stay as they are."""

DROPPED = 15
"""Rows in 100 that go."""

EMPTIED = 4
"""Statements in 100 that lose all their rows."""

NULLS = 15
"""New values in 100 that are NULL."""

Pools = Mapping[str, Sequence[Sequence[Value]]]
"""Table -> for each column the values that the scenario puts there."""


def worlds_of(scenario: Scenario, count: int) -> tuple[Scenario, ...]:
    """The scenario and `count - 1` others of its shape; a function of the scenario's name and content."""
    pools = _pools(scenario)
    return (
        scenario,
        *(
            other_data(SeededChoices("worlds", scenario.name, world), scenario, pools)
            for world in range(1, count)
        ),
    )


def other_data(choices: Choices, scenario: Scenario, pools: Pools | None = None) -> Scenario:
    """The same tables, definitions and steps with other literal rows."""
    known = _pools(scenario) if pools is None else pools
    return replace(scenario, steps=tuple(_step(choices, step, scenario, known) for step in scenario.steps))


def _pools(scenario: Scenario) -> Pools:
    pools: dict[str, list[list[Value]]] = {t.name: [[] for _ in t.columns] for t in scenario.tables}
    for step in scenario.steps:
        for statement in step.statements if isinstance(step, Commit) else ():
            for row in _rows(statement):
                for pool, value in zip(pools[statement.table], row, strict=True):
                    pool.append(value)
    return pools


def _rows(statement: Dml) -> tuple[Row, ...]:
    match statement:
        case Insert() | Overwrite() | Replace() | Merge():
            return statement.rows
        case _:
            return ()


def _step(choices: Choices, step: Step, scenario: Scenario, pools: Pools) -> Step:
    if not isinstance(step, Commit):
        return step
    return replace(step, statements=tuple(_statement(choices, s, scenario, pools) for s in step.statements))


def _statement(choices: Choices, statement: Dml, scenario: Scenario, pools: Pools) -> Dml:
    match statement:
        case Insert() | Overwrite() | Replace():
            return replace(statement, rows=_other_rows(choices, statement.rows, pools[statement.table], ()))
        case Merge():
            columns = next(table for table in scenario.tables if table.name == statement.table).columns
            # Keys stay: two source rows of one key would be no MERGE.
            keys = [number for number, column in enumerate(columns) if column.name in statement.keys]
            return replace(statement, rows=_other_rows(choices, statement.rows, pools[statement.table], keys))
        case _:
            return statement


def _other_rows(
    choices: Choices, rows: tuple[Row, ...], pool: Sequence[Sequence[Value]], kept: Sequence[int]
) -> tuple[Row, ...]:
    if choices.chance(EMPTIED):
        return ()
    changeable = [number for number in range(len(pool)) if number not in kept]
    found: list[Row] = []
    for row in rows:
        ticket = choices.integer(0, 99)
        if ticket < KEPT or (not changeable and ticket < 100 - DROPPED):
            found.append(row)
        elif ticket < 100 - DROPPED:
            number = choices.pick(changeable)
            value = None if choices.chance(NULLS) else choices.pick(pool[number])
            found.append((*row[:number], value, *row[number + 1 :]))
    return tuple(found)
