"""Typical failures, stood in for by a condition on the scenario, shrink to what the condition asks for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shrink import Size, shrink, size
from tests.unit.shrink.samples import SAMPLES, random_scenario, refreshes_of, statements_of
from tests.unit.workload.shop import SHOP
from workload.dml import Insert, Merge, Overwrite, Restore, Update
from workload.operators import OPERATORS, Operator, written_operators
from workload.query import (
    Aggregate,
    AggregateFunction,
    Select,
    UnionAll,
    blocks,
    expressions_of,
    subexpressions,
    walk,
)
from workload.scenario import Commit, Create, Definition, Refresh, Scenario, View

RANDOM = tuple(random_scenario(index) for index in range(120))


def tables_with(scenario: Scenario, operator: Operator) -> frozenset[str]:
    """The dynamic tables in whose queries an operator stands."""
    return frozenset(
        table.name for table in scenario.dynamic_tables if operator in written_operators(table.query)
    )


def first_with(condition: Callable[[Scenario], bool]) -> Scenario:
    """The largest random scenario of which a condition holds."""
    return max((s for s in RANDOM if condition(s)), key=lambda s: len(repr(s)))


def refreshed_after(scenario: Scenario, kind: type, names: frozenset[str] | None = None) -> bool:
    """Whether a refresh (of one of some tables) follows a statement of a kind."""
    seen = False
    for step in scenario.steps:
        if isinstance(step, Commit):
            seen = seen or any(isinstance(s, kind) for s in step.statements)
        elif isinstance(step, Refresh) and seen and (names is None or step.table in names):
            return True
    return False


def has_qualify(definition: Definition) -> bool:
    return any(isinstance(node, Select) and node.qualify is not None for node in walk(definition.query))


@pytest.mark.parametrize(
    "operator",
    sorted(OPERATORS - {Operator.RIGHT_JOIN, Operator.PROJECTION, Operator.SCALAR_AGGREGATION}),
)
def test_one_operator_and_an_update(operator: Operator) -> None:
    def fails(scenario: Scenario) -> bool:
        return refreshed_after(scenario, Update, tables_with(scenario, operator))

    # QUALIFY is a filter too, whose least form has a window; of a replaced definition both forms stay.
    def is_plain(scenario: Scenario) -> bool:
        return not any(map(has_qualify, scenario.definitions)) and not any(
            each.known_as for each in scenario.definitions
        )

    start = first_with(lambda scenario: fails(scenario) and is_plain(scenario))
    shrunk = shrink(start, fails, attempts=600)
    assert size(shrunk.scenario) == Size(operators=1, rows=0, dml=1)
    assert len(shrunk.scenario.dynamic_tables) == 1
    assert len(shrunk.scenario.definitions) == 1
    assert len(refreshes_of(shrunk.scenario)) == 1
    assert shrunk.complete


def test_a_null_key() -> None:
    def fails(scenario: Scenario) -> bool:
        return any(
            row[0] is None
            for s in statements_of(scenario)
            if isinstance(s, Insert | Overwrite | Merge)
            for row in s.rows
        )

    shrunk = shrink(first_with(fails), fails, attempts=600)
    (statement,) = statements_of(shrunk.scenario)
    assert isinstance(statement, Insert)
    assert statement.rows == ((None,),)
    assert shrunk.scenario.definitions == ()


def test_a_restore_keeps_the_commit_it_goes_back_to() -> None:
    def fails(scenario: Scenario) -> bool:
        return any(isinstance(s, Restore) for s in statements_of(scenario))

    shrunk = shrink(SHOP, fails, attempts=600)
    first, restore = statements_of(shrunk.scenario)
    assert isinstance(restore, Restore)
    assert first.table == restore.table
    assert restore.to == shrunk.scenario.steps[0].at


def test_the_second_of_two_refreshes_after_a_merge() -> None:
    def fails(scenario: Scenario) -> bool:
        kinds = [type(step) for step in scenario.steps]
        return kinds.count(Refresh) >= 2 and refreshed_after(scenario, Merge)

    shrunk = shrink(first_with(fails), fails, attempts=600)
    assert len(refreshes_of(shrunk.scenario)) == 2
    assert len(statements_of(shrunk.scenario)) == 1
    assert size(shrunk.scenario).rows == 1


def test_a_dynamic_table_over_another_stays_where_it_is_needed() -> None:
    def fails(scenario: Scenario) -> bool:
        names = {table.name for table in scenario.dynamic_tables}
        return any(names & set(repr(table.query).split("'")) for table in scenario.dynamic_tables)

    shrunk = shrink(first_with(fails), fails, attempts=600)
    assert len(shrunk.scenario.dynamic_tables) == 2
    assert size(shrunk.scenario).operators == 0


def test_a_view_is_taken_into_its_reader() -> None:
    view = next(s for s in RANDOM if any(isinstance(d, View) for d in s.definitions))
    shrunk = shrink(view, lambda scenario: bool(scenario.dynamic_tables), attempts=600)
    assert not any(isinstance(d, View) for d in shrunk.scenario.definitions)


def test_an_aggregate_deep_inside_comes_to_the_top() -> None:
    def fails(scenario: Scenario) -> bool:
        return any(
            isinstance(part, Aggregate) and part.function is AggregateFunction.SUM and part.distinct
            for table in scenario.dynamic_tables
            for block in blocks(table.query)
            for top in expressions_of(block)
            for part in subexpressions(top)
        )

    shrunk = shrink(first_with(fails), fails, attempts=600)
    (table,) = shrunk.scenario.dynamic_tables
    (block,) = blocks(table.query)
    assert not isinstance(table.query, UnionAll)
    assert len(block.items) == 1
    assert size(shrunk.scenario) == Size(operators=1, rows=0, dml=0)


def test_tables_created_later_take_the_commits_before_them_along() -> None:
    """What matters is a change after the last refresh but one: all else is history before the creation."""

    def fails(scenario: Scenario) -> bool:
        created = next((n for n, step in enumerate(scenario.steps) if isinstance(step, Create)), 0)
        before = [s for step in scenario.steps[:created] if isinstance(step, Commit) for s in step.statements]
        return len(before) >= 2 and bool(refreshes_of(scenario))

    scenario = max(SAMPLES[1:], key=lambda s: len(refreshes_of(s)))
    several = [s for s in (scenario, *RANDOM) if fails(s)]
    shrunk = shrink(several[0], fails, attempts=600)
    assert len(refreshes_of(shrunk.scenario)) == 1
    assert len(shrunk.scenario.dynamic_tables) == 1
