"""The refresh intervals of one scenario as worlds: each has the rows of its start and runs its commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from workload.dml import Dml, Insert, Overwrite, Restore
from workload.scenario import Commit, Create, Refresh, Scenario, Step
from workload.timeline import due_refreshes
from workload.types import Row

RowsAt = Callable[[str, int], tuple[Row, ...]]
"""(base table, logical time) -> its rows by the latest commit at or before that time."""


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A refresh of some table, as the data timestamps before and after it."""

    start: int
    end: int


def intervals(scenario: Scenario) -> tuple[Interval, ...]:
    """Returns every interval over which a dynamic table is refreshed, each once, in time order.

    A table that is initialized and never refreshed has an interval that ends where it starts.
    """
    timestamps: dict[str, list[int]] = {}
    for step in due_refreshes(scenario):
        for due in step:
            timestamps.setdefault(due.table, []).append(due.timestamp)
    distinct: set[Interval] = set()
    for times in timestamps.values():
        later = pairwise(times)
        distinct |= {Interval(*pair) for pair in later} or {Interval(times[0], times[0])}
    return tuple(sorted(distinct))


def single_interval(
    scenario: Scenario, interval: Interval, rows_at: RowsAt, commits: int | None = None
) -> Scenario:
    """Returns a scenario that creates every table at the interval's start and refreshes it once, to its end.

    `commits`: the number of transactions after the first one; missing ones are added empty at the end, so
    that all intervals have the same number of steps. RESTORE becomes an overwrite: the rows are the same,
    their identities are new.
    """
    inside = [s for s in scenario.steps if isinstance(s, Commit) and interval.start < s.at <= interval.end]
    initial_inserts = tuple(
        Insert(table.name, rows) for table in scenario.tables if (rows := rows_at(table.name, interval.start))
    )
    steps: list[Step] = [Commit(1, initial_inserts)]
    steps.extend(Create(2 + number, d.name) for number, d in enumerate(scenario.definitions))
    for number in range(len(inside) if commits is None else commits):
        statements = inside[number].statements if number < len(inside) else ()
        steps.append(Commit(steps[-1].at + 1, tuple(_without_restore(s, rows_at) for s in statements)))
    end = steps[-1].at
    steps.extend(
        Refresh(end + 1 + number, table.name, end) for number, table in enumerate(scenario.dynamic_tables)
    )
    name = f"{scenario.name}/{interval.start}-{interval.end}"
    # Here all definitions exist at once, so each needs a name of its own.
    definitions = tuple(replace(definition, known_as="") for definition in scenario.definitions)
    return Scenario(name, scenario.tables, definitions, tuple(steps), scenario.intents)


def interval_worlds(scenario: Scenario, rows_at: RowsAt) -> Mapping[Interval, Scenario]:
    """Returns one scenario for each interval, all of one shape."""
    all_intervals = intervals(scenario)
    times = [step.at for step in scenario.steps if isinstance(step, Commit)]
    longest = max((sum(i.start < at <= i.end for at in times) for i in all_intervals), default=0)
    return {i: single_interval(scenario, i, rows_at, max(1, longest)) for i in all_intervals}


def _without_restore(statement: Dml, rows_at: RowsAt) -> Dml:
    if isinstance(statement, Restore):
        return Overwrite(statement.table, rows_at(statement.table, statement.to))
    return statement
