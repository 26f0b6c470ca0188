"""Views and dynamic tables are replaced while others read them: what each table means from then on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from generators.choices import SeededChoices
from generators.fitting import fit
from generators.generate import scenario_at
from generators.profiles import SMOKE
from generators.recreations import with_recreations
from shrink.reductions.definitions import never_replaced
from tests.in_memory import in_memory
from tests.ir import agg, call, columns, join, named, select, table
from workload.codec import scenario_from_json, scenario_to_json
from workload.dml import Insert, Replace
from workload.limits import NO_LIMITS
from workload.outcomes.results import Check, OutcomeClass
from workload.outcomes.trace import Action
from workload.query import JoinKind, Query
from workload.scenario import Commit, Create, DynamicTable, Read, Redefine, Refresh, Scenario, View
from workload.timeline import due_refreshes
from workload.types import INT
from workload.wellformed import check_scenario

R = table("r", k=INT, v=INT)
K, V = columns(R)["k"], columns(R)["v"]


def total_of(name: str) -> Query:
    source = columns(table("s", k=INT, v=INT))
    return select({"k": source["k"], "n": agg("SUM", source["v"])}, named(name, "s"), group_by=[source["k"]])


def top_of(name: str) -> Query:
    return select({"k": columns(table("s", k=INT, n=INT))["k"]}, named(name, "s"))


ALL = select({"k": K, "v": V}, named("r"))
SOME = select({"k": K, "v": V}, named("r"), where=call("gt", V, 1))

STORY = Scenario(
    "replaced",
    (R,),
    (
        View("v", ALL),
        DynamicTable("d", total_of("v")),
        DynamicTable("e", top_of("d")),
        View("v_2", SOME, known_as="v"),
        DynamicTable("d_2", total_of("v_2"), known_as="d"),
        DynamicTable("e_2", top_of("d_2"), known_as="e"),
    ),
    (
        Commit(1, (Insert("r", ((1, 1), (1, 2), (2, 1))),)),
        Create(2, "v"),
        Create(3, "d"),
        Create(4, "e"),
        Redefine(5, ("v_2", "d_2", "e_2")),
        # Before its next refresh a table holds what its old definition meant: no reader is judged by it.
        Read(6, 0, ("d_2",)),
        Refresh(7, "e_2", 7),
        Commit(8, (Insert("r", ((2, 5),)),)),
        Refresh(9, "e_2", 9),
    ),
)


def test_a_table_over_a_replaced_view_is_written_anew_and_those_above_it_follow() -> None:
    trace = in_memory().run(STORY)
    done = [
        (each.table, each.action, Counter(stored.row for stored in each.contents)) for each in trace.refreshes
    ]
    assert done == [
        ("d", Action.INITIALIZE, {(1, 3): 1, (2, 1): 1}),
        ("e", Action.INITIALIZE, {(1,): 1, (2,): 1}),
        ("d_2", Action.REINITIALIZE, {(1, 2): 1}),
        ("e_2", Action.INCREMENTAL, {(1,): 1}),
        ("d_2", Action.INCREMENTAL, {(1, 2): 1, (2, 5): 1}),
        ("e_2", Action.INCREMENTAL, {(1,): 1, (2,): 1}),
    ]
    outcome = Lane(engine=in_memory()).judge(STORY)
    assert outcome.outcome is OutcomeClass.PASSED
    assert outcome.states["state: definition replaced"] == 1


def test_an_engine_that_does_not_see_the_replacement_is_found() -> None:
    outcome = LaneSpec(tier="rules", faults=("replaced-view-incremental",)).build().judge(STORY)
    assert {Check.REFRESH_MODE, Check.EQUALITY} <= {finding.check for finding in outcome.findings}


def test_a_dynamic_table_that_replaces_another_one_is_refreshed_at_once() -> None:
    definitions = (
        DynamicTable("d", ALL),
        DynamicTable("e", top_of_values("d")),
        DynamicTable("d_2", SOME, known_as="d"),
        DynamicTable("e_2", top_of_values("d_2"), known_as="e"),
    )
    steps = (
        STORY.steps[0],
        Create(2, "d"),
        Create(3, "e"),
        Redefine(5, ("d_2", "e_2")),
        Refresh(7, "e_2", 7),
    )
    scenario = replace(STORY, definitions=definitions, steps=steps)
    trace = in_memory().run(scenario)
    assert [(each.step, each.table, each.action) for each in trace.refreshes[2:]] == [
        (3, "d_2", Action.REINITIALIZE),
        (4, "d_2", Action.NO_DATA),
        (4, "e_2", Action.INCREMENTAL),
    ]
    assert Lane(engine=in_memory()).judge(scenario).outcome is OutcomeClass.PASSED


def test_a_replaced_base_table_counts_beside_a_replaced_definition() -> None:
    """`e` would read changes of `d` alone, but it also reads `r`, of which no change from before is known."""
    definitions = (
        DynamicTable("d", ALL),
        DynamicTable("e", joined("d")),
        DynamicTable("d_2", SOME, known_as="d"),
        DynamicTable("e_2", joined("d_2"), known_as="e"),
    )
    steps = (
        STORY.steps[0],
        Create(2, "d"),
        Create(3, "e"),
        Redefine(4, ("d_2", "e_2")),
        Commit(5, (Replace("r", ((1, 7),)),)),
        Refresh(7, "e_2", 7),
    )
    scenario = replace(STORY, definitions=definitions, steps=steps)
    assert [(each.table, each.action) for each in in_memory().run(scenario).refreshes[-1:]] == [
        ("e_2", Action.REINITIALIZE)
    ]
    outcome = Lane(engine=in_memory()).judge(scenario)
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason


def joined(name: str) -> Query:
    left, right = columns(table("s", k=INT, v=INT)), columns(R, "t")
    on = call("eq", left["k"], right["k"])
    return select(
        {"k": left["k"], "w": right["v"]}, join(JoinKind.INNER, named(name, "s"), named("r", "t"), on)
    )


def top_of_values(name: str) -> Query:
    return select({"k": columns(table("s", k=INT, v=INT))["k"]}, named(name, "s"))


@pytest.fixture(scope="module")
def drawn() -> list[Scenario]:
    scenarios = (
        with_recreations(
            SeededChoices("replace", index),
            scenario_at(9, replace(SMOKE, recreated_percent=0), index),
            100,
            may_replace=True,
        )
        for index in range(40)
    )
    return [each for each in scenarios if any(isinstance(step, Redefine) for step in each.steps)]


def test_drawn_replacements_are_well_formed_and_survive_their_json(drawn: list[Scenario]) -> None:
    assert len(drawn) >= 10
    for scenario in drawn:
        check_scenario(scenario)
        due_refreshes(scenario)
        text = scenario_to_json(scenario)
        assert scenario_to_json(scenario_from_json(text)) == text


def test_shrinking_tries_without_the_replacement(drawn: list[Scenario]) -> None:
    for scenario in drawn:
        smaller = list(never_replaced(scenario))
        assert smaller
        assert not any(isinstance(step, Redefine) for step in smaller[0].steps)
        check_scenario(smaller[0])


def test_an_engine_that_replaces_nothing_keeps_the_first_definitions(drawn: list[Scenario]) -> None:
    for scenario in drawn:
        kept = fit(scenario, replace(NO_LIMITS, replaces=False))
        check_scenario(kept)
        assert kept.definitions
        assert not any(isinstance(step, Redefine) for step in kept.steps)
