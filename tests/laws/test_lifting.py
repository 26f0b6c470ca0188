"""Lifting changes nothing: every world's part of a lifted result is that world's result alone.

Both sides are judged by the oracle, for every operator and for random scenarios; and the ways in which naive
lifting is wrong are seen to be caught.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from generators.generate import scenario_at
from generators.profiles import NIGHTLY, SMOKE
from generators.worlds import worlds_of
from oracle.bag import Bag
from oracle.delayed_view import DelayedView
from tests.depth import examples
from tests.differential.test_rules_on_duckdb import CITIES, DEFINITIONS, HISTORY, ORDERS, STACKED
from workload.failing import may_fail
from workload.lift import Unliftable, interval_worlds, lift, queries, rows_of_world
from workload.query import Expr, Item, JoinKind, Limited, Query, Select, row_sources
from workload.scenario import DynamicTable, Scenario
from workload.timeline import Due, due_refreshes
from workload.types import Row
from workload.wellformed import check_scenario

pytestmark = pytest.mark.slow


def of_one_operator(query: Query) -> Scenario:
    """The history of the differential tests over one definition."""
    return Scenario("one operator", (ORDERS, CITIES), (DynamicTable("d", query),), HISTORY)


def all_due(scenario: Scenario) -> list[Due]:
    return [due for step in due_refreshes(scenario) for due in step]


def differences(worlds: Sequence[Scenario], lifted: Scenario, refreshes: Sequence[Due]) -> Iterator[str]:
    """Where a world's part of the lifted result is not the world's own."""
    check_scenario(lifted)
    with DelayedView(lifted) as together:
        for number, world in enumerate(worlds):
            with DelayedView(world) as alone:
                for table, timestamp in ((due.table, due.timestamp) for due in refreshes):
                    types = [column.type for column in alone.columns(table)]
                    own = Bag.of(alone.contents(table, timestamp), types)
                    part: Sequence[Row] = rows_of_world(together.contents(table, timestamp), number)
                    if own != Bag.of(part, types):
                        yield f"world {number}, {table} at {timestamp}"


def compared(worlds: Sequence[Scenario]) -> list[str]:
    lifted = lift(worlds)
    assert isinstance(lifted, Scenario), lifted
    return list(differences(worlds, lifted, all_due(worlds[0])))


EVERY_OPERATOR: Mapping[str, Query] = {**DEFINITIONS, **STACKED}


NOT_LIFTED = frozenset({"limit"})
"""The operators whose worlds run one by one: the first rows of each world are no query with LIMIT."""


@pytest.mark.parametrize("operator", sorted(EVERY_OPERATOR.keys() - NOT_LIFTED))
def test_every_operator_lifted_is_the_operator_one_by_one(operator: str) -> None:
    worlds = worlds_of(of_one_operator(EVERY_OPERATOR[operator]), examples(3))
    assert compared(worlds) == []


@pytest.mark.parametrize("operator", sorted(NOT_LIFTED))
def test_an_operator_that_is_not_lifted_says_so(operator: str) -> None:
    lifted = lift(worlds_of(of_one_operator(EVERY_OPERATOR[operator]), 2))
    assert isinstance(lifted, Unliftable)
    assert operator.upper() in lifted.reason


@pytest.mark.parametrize("seed", [1, 3])
def test_databases_of_random_scenarios(seed: int) -> None:
    for index in range(examples(2)):
        profile = NIGHTLY if seed == 3 else SMOKE
        scenario = scenario_at(seed, profile, index)
        # Where the query of one world fails, so does the lifted one: campaigns do not lift such scenarios.
        # The first rows of each world are no query with LIMIT.
        limited = any(
            isinstance(part, Limited) for each in scenario.definitions for part in row_sources(each.query)
        )
        if not limited and not any(may_fail(definition.query) for definition in scenario.definitions):
            assert compared(worlds_of(scenario, 5)) == []


def test_refresh_intervals_of_random_scenarios() -> None:
    lifted_ones = 0
    for index in range(examples(3)):
        scenario = scenario_at(7, SMOKE, index)
        if any(may_fail(definition.query) for definition in scenario.definitions):
            continue
        with DelayedView(scenario) as truth:
            worlds = interval_worlds(scenario, truth.source_rows)
            lifted = lift(list(worlds.values()))
            if isinstance(lifted, Unliftable):
                assert "REPLACE" in lifted.reason or "LIMIT" in lifted.reason
                continue
            lifted_ones += 1
            assert list(differences(list(worlds.values()), lifted, all_due(lifted))) == []
            # An interval's own scenario ends where the whole one was at that time.
            for interval, world in worlds.items():
                with DelayedView(world) as alone:
                    for table in scenario.dynamic_tables:
                        types = [column.type for column in truth.columns(table.name)]
                        last = all_due(world)[-1].timestamp
                        assert Bag.of(alone.contents(table.name, last), types) == Bag.of(
                            truth.contents(table.name, interval.end), types
                        )
    assert lifted_ones > 1


# ----------------------------------------------------------------------------------------------------
# Naive lifting is caught


def differs(operator: str) -> bool:
    return bool(compared(worlds_of(of_one_operator(EVERY_OPERATOR[operator]), 6)))


def test_a_full_join_by_its_left_world_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_world_of_join", lambda kind, left, right: left)
    assert differs("full join")


def test_a_left_join_by_its_right_world_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def world(kind: JoinKind, left: Expr, right: Expr) -> Expr:
        return right if kind is JoinKind.LEFT else left

    monkeypatch.setattr(queries, "_world_of_join", world)
    assert differs("left join")


def test_an_aggregate_over_all_rows_grouped_by_world_loses_empty_worlds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def naive(select: Select, world: Expr) -> Select:
        items = (*select.items, Item(world, queries.WORLD.name))
        return replace(select, items=items, group_by=(world,))

    monkeypatch.setattr(queries, "_of_all_rows", naive)
    assert differs("scalar aggregation")
