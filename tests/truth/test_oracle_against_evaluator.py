"""The oracle against the from-scratch evaluator on random scenarios; the two share no evaluation code."""

from __future__ import annotations

import pytest

from generators.generate import scenario_at
from generators.profiles import QUICK, SMOKE
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from oracle.errors import OracleQueryError
from tests.depth import examples
from tests.truth.bag_evaluator import Relation, evaluate
from tests.truth.statements import apply_statement
from tests.truth.values import EvaluationError
from workload.query import names_read
from workload.scenario import Commit, DynamicTable, Refresh, Scenario
from workload.sql import passing_time
from workload.types import Row

SCENARIOS_PER_CHUNK = 14
CHUNKS = examples(3)


def base_tables_over_time(scenario: Scenario) -> list[tuple[int, dict[str, tuple[Row, ...]]]]:
    """Pairs of a commit time and the contents of every base table from that time on, in time order."""
    tables = {table.name: table for table in scenario.tables}
    states: list[tuple[int, dict[str, tuple[Row, ...]]]] = [(-1, dict.fromkeys(tables, ()))]
    for step in scenario.steps:
        if isinstance(step, Commit):
            current = dict(states[-1][1])
            for statement in step.statements:
                name = statement.table
                restore = lambda to, name=name: at_time(states, to)[name]  # noqa: E731  # bound per statement
                current[name] = tuple(apply_statement(statement, tables[name], current[name], restore))
            states.append((step.at, current))
    return states


def at_time(
    states: list[tuple[int, dict[str, tuple[Row, ...]]]], timestamp: int
) -> dict[str, tuple[Row, ...]]:
    """The contents of every base table by the last commit at or before a time."""
    return [state for at, state in states if at <= timestamp][-1]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_oracle_agrees_with_the_evaluator(chunk: int) -> None:
    checked = 0
    for index in range(chunk * SCENARIOS_PER_CHUNK, (chunk + 1) * SCENARIOS_PER_CHUNK):
        scenario = scenario_at(11, SMOKE if chunk % 2 else QUICK, index)
        states = base_tables_over_time(scenario)
        times = sorted({step.timestamp for step in scenario.steps if isinstance(step, Refresh)})[-2:]
        with DelayedView(scenario) as truth:
            for timestamp in times:
                rows = at_time(states, timestamp)
                relations = {
                    table.name: Relation(table.columns, rows[table.name]) for table in scenario.tables
                }
                for definition in scenario.definitions:
                    if not relations.keys() >= set(names_read(definition.query)):
                        continue
                    if isinstance(definition, DynamicTable) and definition.frozen_where:
                        continue  # tests/truth/test_frozen_part.py has the law of its contents
                    query = passing_time.at_time(definition.query, timestamp)
                    try:
                        columns, expected = evaluate(query, relations)
                    except EvaluationError:
                        with pytest.raises(OracleQueryError):
                            truth.contents(definition.name, timestamp)
                        continue
                    relations[definition.name] = Relation(columns, expected)
                    actual = truth.contents(definition.name, timestamp)
                    difference = compare(columns, expected, truth.columns(definition.name), actual)
                    assert difference is None, (scenario.name, definition.name, timestamp, difference)
                    checked += 1
    assert checked > SCENARIOS_PER_CHUNK
