"""Events beside the refreshes of a scenario: writes of other processes, clocks that are wrong, kills.

None of it changes what a table must hold, so the oracle needs to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generators.choices import Choices
from workload.dml import Insert, Replace
from workload.scenario import Commit, Create, Meanwhile, Refresh, Scenario, Step

CALLS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30)
"""The calls of its storage before which a refresh is disturbed; one refresh makes about ten."""

CLOCKS = (0, -7, 7, -25, 25, -400, 400)
"""The logical microseconds by which the clock of another process is ahead; steps are 10 apart."""


def with_other_processes(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario; other processes make that percentage of its commits.

    A third as many refreshes are killed and begun again.
    """
    return replace(scenario, steps=tuple(_steps(choices, scenario.steps, percent)))


def with_restarts(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario; a process that has just begun makes that percentage of its refreshes."""
    steps = (
        replace(step, killed=0) if isinstance(step, Refresh) and choices.chance(percent) else step
        for step in scenario.steps
    )
    return replace(scenario, steps=tuple(steps))


def with_rollbacks(choices: Choices, scenario: Scenario, percent: int) -> Scenario:
    """Returns the scenario; that percentage of its transactions is rolled back first, and then runs again."""
    steps = (
        replace(step, rolled_back=True) if isinstance(step, Commit) and choices.chance(percent) else step
        for step in scenario.steps
    )
    return replace(scenario, steps=tuple(steps))


def _steps(choices: Choices, steps: tuple[Step, ...], percent: int) -> Iterator[Step]:
    """Yields the steps, with commits of other processes and killed refreshes."""
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
    """Returns how another process makes a commit; `beside`: while a creation or refresh is under way."""
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
