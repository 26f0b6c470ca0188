"""What happens beside a scenario's refreshes: writes of other processes, clocks that are wrong, kills.

None of it changes what a table must hold, so the oracle needs to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generators.choices import Choices
from workload.dml import Insert, Replace
from workload.scenario import Commit, Create, Meanwhile, Refresh, Scenario, Step

CALLS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30)
"""Before which call of its storage a refresh is disturbed; one refresh makes about ten."""

CLOCKS = (0, -7, 7, -25, 25, -400, 400)
"""How far the clock of another process is ahead, in logical microseconds; steps are 10 apart."""


def with_other_processes(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario with that percentage of its commits made by other processes.

    A third as many refreshes are killed and begun again.
    """
    return replace(scenario, steps=tuple(_steps(choices, scenario.steps, percent)))


def with_restarts(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario with that percentage of its refreshes made by a process that has just begun."""
    steps = (
        replace(step, killed=0) if isinstance(step, Refresh) and choices.chance(percent) else step
        for step in scenario.steps
    )
    return replace(scenario, steps=tuple(steps))


def with_rollbacks(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario in which that percentage of its transactions is rolled back, and runs again."""
    steps = (
        replace(step, rolled_back=True) if isinstance(step, Commit) and choices.chance(percent) else step
        for step in scenario.steps
    )
    return replace(scenario, steps=tuple(steps))


def _steps(choices: Choices, steps: tuple[Step, ...], percent: int) -> Iterator[Step]:
    before: Step | None = None
    for step in steps:
        match step:
            case Commit() if choices.chance(percent):
                yield replace(step, meanwhile=_meanwhile(choices, step, isinstance(before, Create | Refresh)))
            case Refresh() if choices.chance(percent // 3):
                yield replace(step, killed=choices.pick((0, *CALLS)))
            case _:
                yield step
        before = step


def _meanwhile(choices: Choices, commit: Commit, beside: bool) -> Meanwhile:
    """Draws how another process makes a commit. `beside`: a creation or refresh is under way then."""
    last = choices.pick(CALLS) if beside else 1
    statements = commit.statements
    inserts = all(isinstance(statement, Insert) and statement.rows for statement in statements)
    foreign = not any(isinstance(statement, Replace) for statement in statements) and choices.chance(25)
    in_parts = beside and len(statements) > 1 and not foreign
    first = min(last, choices.pick((0, 0, *CALLS))) if in_parts else last
    return Meanwhile(
        first=first,
        last=last,
        clock=choices.pick(CLOCKS),
        foreign=foreign,
        abandoned=inserts and not foreign and choices.chance(50),
    )
