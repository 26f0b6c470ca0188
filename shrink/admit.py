"""Prepares and checks the candidates of `shrink.search`.

Removes parts that became useless, and refuses scenarios that no engine could run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workload.dml import Dml, Insert, Merge, Replace, Restore, Update
from workload.errors import WorkloadError
from workload.scenario import Commit, Create, Drop, Read, Redefine, Refresh, Scenario, Step
from workload.timeline import due_refreshes
from workload.wellformed import check_scenario


def tidied(scenario: Scenario) -> Scenario:
    """Returns the scenario without what a reduction made useless.

    Statements that change nothing and empty transactions are dropped; so are definitions that nothing
    creates, with their refreshes. A RESTORE to a commit that was dropped goes to the newest commit before
    that one, or is dropped too.
    """
    created = {step.name for step in scenario.steps if isinstance(step, Create)}
    created.update(n for step in scenario.steps if isinstance(step, Redefine) for n in step.names)
    definitions = tuple(d for d in scenario.definitions if d.name in created)
    names = {definition.name for definition in definitions}
    steps: list[Step] = []
    written: dict[str, list[int]] = {table.name: [] for table in scenario.tables}
    for step in scenario.steps:
        match step:
            case Commit(at, statements):
                useful = tuple(_useful(statements, at, written))
                if useful:
                    steps.append(replace(step, statements=useful))
            case Create(_, name) | Drop(_, name) | Refresh(_, name):
                if name in names:
                    steps.append(step)
            case Redefine(_, news):
                steps.extend([step] if names.issuperset(news) else [])
            case Read(tables=tables):
                existing = tuple(table for table in tables if table in names or table in written)
                if existing:
                    steps.append(replace(step, tables=existing))
    return replace(scenario, definitions=definitions, steps=tuple(steps))


def _useful(statements: tuple[Dml, ...], at: int, written: dict[str, list[int]]) -> Iterator[Dml]:
    """Yields the statements that can change something.

    Adds the commit to `written`: for each table, the times that a RESTORE may go to.
    """
    times: list[tuple[str, int | None]] = []
    for statement in statements:
        match statement:
            case Insert(_, ()) | Merge(rows=()) | Update(_, (), _):
                continue
            case Restore(table, to):
                earlier = [time for time in written.get(table, ()) if time <= to]
                if not earlier:
                    continue
                yield replace(statement, to=earlier[-1])
            case _:
                yield statement
        times.append((statement.table, None if isinstance(statement, Replace) else at))
    for table, time in times:
        # REPLACE makes another table under the old name: no RESTORE goes back to before it.
        if time is None:
            written.setdefault(table, []).clear()
        elif time not in written.setdefault(table, []):
            written[table].append(time)


def admissible(scenario: Scenario) -> bool:
    """Tells whether a tier can run the scenario: it is well-formed and every refresh is possible."""
    try:
        check_scenario(scenario)
        due_refreshes(scenario)
    except WorkloadError:
        return False
    return True
