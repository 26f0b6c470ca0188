"""Scenarios in which views and dynamic tables are dropped and others are created under their names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generators.choices import SeededChoices
from generators.fitting import fit
from generators.generate import scenario_at
from generators.profiles import QUICK, SMOKE
from generators.recreations import with_recreations
from workload.limits import NO_LIMITS
from workload.query import names_read
from workload.scenario import Create, Drop, Refresh, Scenario, View
from workload.timeline import due_refreshes
from workload.wellformed import check_scenario

NEVER = replace(SMOKE, recreated_percent=0)


def recreated(index: int) -> Scenario:
    """A random scenario in which definitions are certainly dropped, if there is room for it."""
    return with_recreations(
        SeededChoices("again", index), scenario_at(9, NEVER, index), 100, may_replace=False
    )


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return [recreated(index) for index in range(80)]


def test_they_are_well_formed_and_can_be_refreshed(scenarios: list[Scenario]) -> None:
    for scenario in scenarios:
        check_scenario(scenario)
        due_refreshes(scenario)
        assert any(isinstance(step, Drop) for step in scenario.steps)


def test_each_dropped_name_is_given_again(scenarios: list[Scenario]) -> None:
    for scenario in scenarios:
        dropped = [step.name for step in scenario.steps if isinstance(step, Drop)]
        again = [each for each in scenario.definitions if each.known_as]
        assert sorted(scenario.definition(name).public_name for name in dropped) == sorted(
            each.known_as for each in again
        )


def test_what_is_new_is_refreshed_and_read_by_what_follows(scenarios: list[Scenario]) -> None:
    refreshed = readers = changed_views = 0
    for scenario in scenarios:
        again = {each.name: each for each in scenario.definitions if each.known_as}
        created = next(n for n, s in enumerate(scenario.steps) if isinstance(s, Create) and s.name in again)
        later = scenario.steps[created:]
        refreshed += any(isinstance(step, Refresh) and step.table in again for step in later)
        readers += any(source in again for d in scenario.definitions for source in names_read(d.query))
        before = {each.public_name: each.query for each in scenario.definitions if not each.known_as}
        changed_views += any(
            isinstance(each, View) and each.query != before[each.known_as] for each in again.values()
        )
    assert refreshed > 60
    assert readers > 10
    assert changed_views > 3


def test_an_engine_without_drops_keeps_the_first_ones(scenarios: list[Scenario]) -> None:
    limits = replace(NO_LIMITS, drops=False)
    for scenario in scenarios:
        kept = fit(scenario, limits)
        check_scenario(kept)
        assert kept.definitions
        assert not any(each.known_as for each in kept.definitions)
        assert not any(isinstance(step, Drop) for step in kept.steps)


def test_a_scenario_without_room_stays_as_it_is() -> None:
    scenario = scenario_at(9, NEVER, 3)
    dense = replace(scenario, steps=tuple(replace(s, at=n) for n, s in enumerate(scenario.steps[:3])))
    assert with_recreations(SeededChoices(1), dense, 100, may_replace=True) == dense


def test_what_reads_a_replaced_definition_keeps_its_condition_on_the_current_time() -> None:
    """Conditions were drawn anew for it: 1 of 1,500 scenarios was none, as number 237 here."""
    profile = replace(QUICK, recreated_percent=100, timed_percent=100)
    for index in range(240):
        check_scenario(scenario_at(1, profile, index))
