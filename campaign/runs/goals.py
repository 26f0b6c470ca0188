"""How much of given definitions a campaign has covered: the goals that scenarios reached, and the floors.

A goal is one thing that random data should bring about in a definition. Some have a probe, a query that is
TRUE where a state is reached, such as a condition that is NULL: DuckDB evaluates it over the oracle's rows at
each data timestamp. The others (`Happening`) are changes, such as an emptied group: they are read off the
table's rows at two data timestamps.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import assert_never

from campaign.judging.texts import MODE, REFRESH, VOICE, VOICES
from generators.given.model import Given, Goal, Happening
from oracle.bag import canonical_row
from oracle.delayed_view import DelayedView
from oracle.duck import shared_duckdb
from oracle.errors import OracleError, OracleTimeout
from workload.outcomes.results import IS_JUDGED, JudgedDefinition, UnmetFloor
from workload.scenario import Commit, DynamicTable, Scenario
from workload.sql import Dialect, render_query
from workload.timeline import due_refreshes

GOAL = "goal: "
"""Begins the names under which reached goals are counted: `goal: NAME / LABEL`."""

LIMIT_S = 1.0
"""Seconds that DuckDB has for the probes of a table at one time; a probe without an answer is not met."""

ENOUGH_SCENARIOS = 20
"""The coverage of a definition has a floor once so many scenarios have it."""


def goals_met(given: Given, scenario: Scenario) -> Counter[str]:
    """Counts the goals that a scenario reached, by name, and the dynamic tables that it has.

    They are read off the oracle's rows at the data timestamps of the refreshes that are due.
    """
    met: Counter[str] = Counter({f"drawn: {table.name}": 1 for table in scenario.dynamic_tables})
    timestamps: dict[str, list[int]] = {table.name: [] for table in scenario.dynamic_tables}
    for refreshes in due_refreshes(scenario):
        for due in refreshes:
            timestamps[due.table].append(due.timestamp)
    with DelayedView(scenario, shared_duckdb(), limit_s=LIMIT_S) as truth:
        for table in scenario.dynamic_tables:
            goals = given.goals.get(table.name, ())
            seen = _probed(truth, table, goals, timestamps[table.name])
            seen |= _happened(scenario, truth, table, goals, timestamps[table.name])
            met.update(f"{GOAL}{table.name} / {label}" for label in seen)
    return met


def _probed(truth: DelayedView, table: DynamicTable, goals: Sequence[Goal], times: Sequence[int]) -> set[str]:
    """Returns the labels of the goals whose probe was TRUE at some data timestamp."""
    seen: set[str] = set()
    slow: set[str] = set()
    for timestamp in times:
        wanted = [goal for goal in goals if goal.probe and goal.label not in seen | slow]
        seen.update(_true(truth, table.name, timestamp, wanted, slow))
    return seen


def _true(
    truth: DelayedView, name: str, timestamp: int, goals: Sequence[Goal], slow: set[str]
) -> Iterator[str]:
    """Yields the labels of the goals whose probes are TRUE; adds to `slow` those that take too long alone."""
    if not goals:
        return
    try:
        answers = truth.answers(name, timestamp, [goal.probe for goal in goals])
    except OracleError as error:
        # A probe that DuckDB cannot answer must not hide the others.
        if len(goals) > 1:
            for goal in goals:
                yield from _true(truth, name, timestamp, [goal], slow)
        elif isinstance(error, OracleTimeout):
            slow.add(goals[0].label)
        return
    yield from (goal.label for goal, answer in zip(goals, answers, strict=True) if answer is True)


def _happened(
    scenario: Scenario, truth: DelayedView, table: DynamicTable, goals: Sequence[Goal], times: Sequence[int]
) -> set[str]:
    """Returns the labels of the goals that happened between two refreshes in a row."""
    seen: set[str] = set()
    types = [column.type for column in truth.columns(table.name)]
    gone: set[tuple[object, ...]] = set()
    for before, after in pairwise(times):
        try:
            old, new = (
                [canonical_row(row, types) for row in truth.contents(table.name, at)]
                for at in (before, after)
            )
        except OracleError:
            continue
        kinds = _statements(scenario, truth, before, after)
        keys = next((goal.columns for goal in goals if goal.happening in GROUPS), ())
        groups = [_by_key(rows, keys) for rows in (old, new)]
        for goal in goals:
            if _happens(goal, old, new, groups, gone, kinds):
                seen.add(goal.label)
        gone |= groups[0].keys() - groups[1].keys()
    return seen


GROUPS = frozenset(
    {Happening.GROUP_ADDED, Happening.GROUP_CHANGED, Happening.GROUP_EMPTIED, Happening.GROUP_REFILLED}
)

Groups = Mapping[tuple[object, ...], Counter[tuple[object, ...]]]
"""The rows of each group, by the values of its key."""


def _by_key(rows: Sequence[tuple[object, ...]], keys: Sequence[int]) -> Groups:
    """Returns the rows by group. `keys`: the positions of the grouping columns."""
    groups: dict[tuple[object, ...], Counter[tuple[object, ...]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[n] for n in keys), Counter())[row] += 1
    return groups


def _happens(
    goal: Goal,
    old: Sequence[tuple[object, ...]],
    new: Sequence[tuple[object, ...]],
    groups: Sequence[Groups],
    gone: set[tuple[object, ...]],
    statements: set[tuple[str, str]],
) -> bool:
    """Tells whether a goal happened where the rows of a table went from `old` to `new`.

    `groups`: both by group. `gone`: keys of groups that were emptied before. `statements`: the tables whose
    rows have changed, with the kinds of statements on them.
    """
    before, after = groups
    match goal.happening:
        case None:
            return False
        case Happening.COLUMN_CHANGED:
            (n,) = goal.columns
            return Counter(row[n] for row in old) != Counter(row[n] for row in new)
        case Happening.ROW_ADDED:
            return bool(Counter(new) - Counter(old))
        case Happening.ROW_REMOVED:
            return bool(Counter(old) - Counter(new))
        case Happening.GROUP_ADDED:
            return bool(after.keys() - before.keys())
        case Happening.GROUP_EMPTIED:
            return bool(before.keys() - after.keys())
        case Happening.GROUP_REFILLED:
            return bool(after.keys() & gone - before.keys())
        case Happening.GROUP_CHANGED:
            return any(after[key] != rows for key, rows in before.items() if key in after)
        case Happening.STATEMENT:
            return (goal.table, goal.statement) in statements
        case _:
            assert_never(goal.happening)


def _statements(scenario: Scenario, truth: DelayedView, after: int, until: int) -> set[tuple[str, str]]:
    """Returns the base tables whose rows changed in an interval, each with each kind of statement on it."""
    kinds: dict[str, set[str]] = {}
    for step in scenario.steps:
        if isinstance(step, Commit) and after < step.at <= until:
            for statement in step.statements:
                kinds.setdefault(statement.table, set()).add(type(statement).__name__.lower())
    changed = {
        name
        for name in kinds
        if Counter(map(repr, truth.source_rows(name, after)))
        != Counter(map(repr, truth.source_rows(name, until)))
    }
    return {(name, kind) for name in changed for kind in kinds[name]}


def definitions_judged(
    given: Given, reached: Mapping[str, int], floor: int
) -> tuple[dict[str, JudgedDefinition], dict[str, UnmetFloor]]:
    """Returns the coverage of each dynamic table, and the floors that are not met.

    `reached`: counts of goals, modes, refreshes and voices by name. `floor`: the percentage of its goals that
    each table with `ENOUGH_SCENARIOS` must have reached. Every table must have been judged at least once.
    """
    judged: dict[str, JudgedDefinition] = {}
    unmet: dict[str, UnmetFloor] = {}
    for table in given.dynamic_tables:
        goals = given.goals[table.name]
        missing = {
            goal.unmet: goal.line for goal in goals if not reached.get(f"{GOAL}{table.name} / {goal.label}")
        }
        file, line = given.places[table.name]
        modes = [mode for mode in ("INCREMENTAL", "FULL") if reached.get(f"{MODE}{table.name} / {mode}")]
        voices = [voice for voice in VOICES if reached.get(f"{VOICE}{table.name} / {voice}")]
        scenarios = reached.get(f"drawn: {table.name}", 0)
        share = 1 - len(missing) / len(goals)
        judged[table.name] = JudgedDefinition(
            file=file,
            line=line,
            text=render_query(table.query, Dialect.SPARK),
            mode="/".join(modes),
            refreshes={
                key.removeprefix(begin): count
                for key, count in sorted(reached.items())
                if key.startswith(begin := f"{REFRESH}{table.name} / ")
            },
            coverage=round(share, 3),
            voices=tuple(voices),
            scenarios=scenarios,
            goals=len(goals),
            missing=missing,
        )
        wanted = math.ceil(len(goals) * floor / 100)
        if not (scenarios and voices):
            unmet[f"{IS_JUDGED}{table.name}"] = UnmetFloor(0, 1)
        if scenarios >= ENOUGH_SCENARIOS and len(goals) - len(missing) < wanted:
            unmet[f"goals: {table.name}"] = UnmetFloor(len(goals) - len(missing), wanted)
    for name, reason in given.refused.items():
        judged[name] = JudgedDefinition(reason=reason)
        unmet[f"{IS_JUDGED}{name}"] = UnmetFloor(0, 1)
    return judged, unmet
