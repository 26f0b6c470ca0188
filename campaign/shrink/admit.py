"""Which candidates may be offered: tidied up, well-formed, with every refresh possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workload.dml import Dml, Insert, Merge, Replace, Restore, Update
from workload.errors import WorkloadError
from workload.scenario import Commit, Create, Read, Refresh, Scenario, Step
from workload.timeline import due_refreshes
from workload.types import Row
from workload.wellformed import check_scenario


def tidied(scenario: Scenario) -> Scenario:
    """The scenario without what a reduction left dangling.

    Statements that do nothing and empty transactions go; so do definitions that nothing creates, with their
    refreshes. A RESTORE whose commit is gone goes back to the newest commit before it, or goes.
    """
    created = {step.name for step in scenario.steps if isinstance(step, Create)}
    definitions = tuple(d for d in scenario.definitions if d.name in created)
    names = {definition.name for definition in definitions}
    steps: list[Step] = []
    written: dict[str, list[int]] = {table.name: [] for table in scenario.tables}
    for step in scenario.steps:
        match step:
            case Commit(at, statements):
                kept = tuple(_kept(statements, at, written))
                if kept:
                    steps.append(replace(step, statements=kept))
            case Create(_, name) | Refresh(_, name, _):
                if name in names:
                    steps.append(step)
            case Read(tables=tables):
                left = tuple(table for table in tables if table in names or table in written)
                if left:
                    steps.append(replace(step, tables=left))
    return replace(scenario, definitions=definitions, steps=tuple(steps))


def _kept(statements: tuple[Dml, ...], at: int, written: dict[str, list[int]]) -> Iterator[Dml]:
    """The statements worth running; `written`: per table the commits a RESTORE may go back to, kept here."""
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
        # Before a REPLACE lies another table: nothing goes back across it.
        if time is None:
            written.setdefault(table, []).clear()
        elif time not in written.setdefault(table, []):
            written[table].append(time)


def admissible(scenario: Scenario) -> bool:
    """Whether a tier can run the scenario: well-formed, every refresh possible, MERGE keys distinct."""
    try:
        check_scenario(scenario)
        due_refreshes(scenario)
    except WorkloadError:
        return False
    return all(_distinct_keys(scenario, merge) for merge in _merges(scenario))


def _merges(scenario: Scenario) -> Iterator[Merge]:
    for step in scenario.steps:
        if isinstance(step, Commit):
            yield from (statement for statement in step.statements if isinstance(statement, Merge))


def _distinct_keys(scenario: Scenario, merge: Merge) -> bool:
    table = next(table for table in scenario.tables if table.name == merge.table)
    positions = [table.position(key) for key in merge.keys]
    keys = [_key(row, positions) for row in merge.rows]
    return len(set(keys)) == len(keys)


def _key(row: Row, positions: list[int]) -> tuple[str, ...]:
    # Matching takes -0.0 for 0.0 (and one NaN for another, which their texts already do).
    return tuple(repr(0.0 if row[p] == 0 and isinstance(row[p], float) else row[p]) for p in positions)
