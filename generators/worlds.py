"""Other data for the same scenario: the worlds that lifting runs through one definition.

Rows are changed, dropped, or given other values of their column, so that the situation an intent built is
intact in some worlds and just missed in others. All values come from the same column of the scenario, and no
table gets more rows, so what the generator guarantees about sizes and digits still holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from generators.choices import Choices, SeededChoices
from workload.dml import Dml, Merge, WithRows
from workload.scenario import Commit, Scenario, Step
from workload.types import Row, Value

UNCHANGED_PERCENT = 45
"""Percent of rows that stay as they are."""

DROPPED_PERCENT = 15
"""Percent of rows that are dropped; the rest gets a new value in one column."""

EMPTIED_PERCENT = 4
"""Percent of statements that lose all their rows."""

NULL_PERCENT = 15
"""Percent of new values that are NULL."""

Pools = Mapping[str, Sequence[Sequence[Value]]]
"""Table -> for each column the values that the scenario puts there."""


def worlds_of(scenario: Scenario, count: int) -> tuple[Scenario, ...]:
    """Returns the scenario and `count - 1` others of the same steps with other rows in their statements.

    They are a function of the scenario's name and content alone.
    """
    pools = _pools(scenario)
    worlds = [scenario]
    for world in range(1, count):
        choices = SeededChoices("worlds", scenario.name, world)
        steps = tuple(_step(choices, step, scenario, pools) for step in scenario.steps)
        worlds.append(replace(scenario, steps=steps))
    return tuple(worlds)


def _pools(scenario: Scenario) -> Pools:
    """Returns the values that the statements of a scenario write to each column."""
    pools: dict[str, list[list[Value]]] = {t.name: [[] for _ in t.columns] for t in scenario.tables}
    for step in scenario.steps:
        for statement in step.statements if isinstance(step, Commit) else ():
            for row in statement.rows if isinstance(statement, WithRows) else ():
                for pool, value in zip(pools[statement.table], row, strict=True):
                    pool.append(value)
    return pools


def _step(choices: Choices, step: Step, scenario: Scenario, pools: Pools) -> Step:
    if not isinstance(step, Commit):
        return step
    return replace(step, statements=tuple(_statement(choices, s, scenario, pools) for s in step.statements))


def _statement(choices: Choices, statement: Dml, scenario: Scenario, pools: Pools) -> Dml:
    if not isinstance(statement, WithRows):
        return statement
    fixed: list[int] = []
    if isinstance(statement, Merge):
        columns = next(table for table in scenario.tables if table.name == statement.table).columns
        # Keys stay: a MERGE with two source rows of one key is an error.
        fixed = [number for number, column in enumerate(columns) if column.name in statement.keys]
    return replace(statement, rows=_other_rows(choices, statement.rows, pools[statement.table], fixed))


def _other_rows(
    choices: Choices, rows: tuple[Row, ...], pool: Sequence[Sequence[Value]], fixed: Sequence[int]
) -> tuple[Row, ...]:
    """Returns some of the rows, with other values of the pool in columns that are not `fixed`."""
    if choices.chance(EMPTIED_PERCENT):
        return ()
    changeable = [number for number in range(len(pool)) if number not in fixed]
    result: list[Row] = []
    for row in rows:
        ticket = choices.integer(0, 99)
        if ticket < UNCHANGED_PERCENT or (not changeable and ticket < 100 - DROPPED_PERCENT):
            result.append(row)
        elif ticket < 100 - DROPPED_PERCENT:
            number = choices.pick(changeable)
            value = None if choices.chance(NULL_PERCENT) else choices.pick(pool[number])
            result.append((*row[:number], value, *row[number + 1 :]))
    return tuple(result)
