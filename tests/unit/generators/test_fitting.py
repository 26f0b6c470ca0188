"""Scenarios cut down to what an engine can be asked stay well-formed and ask nothing else."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest

from campaign.runs.tally import Tally, covered
from generators.choices import SeededChoices
from generators.coverage import operators
from generators.dml import STATEMENTS
from generators.fitting import fit, fitted, holds, refused, table_gap
from generators.generate import generate, scenario_at
from generators.profiles import SMOKE
from reports.figures import cost_sentences
from tests.unit.engines.sample import shop
from workload.codec import scenario_to_json
from workload.dml import Insert
from workload.errors import WorkloadError
from workload.limits import NO_LIMITS, Limits, Timestamps
from workload.operators import JOIN_OPERATORS, OPERATORS
from workload.outcomes.results import LimitsCost, Outcome, OutcomeClass
from workload.query import Expr, Item, Join, JoinKind, Query, Select, names_read, walk
from workload.scenario import Commit, Drop, DynamicTable, Read, Refresh, Scenario, View
from workload.schema import Column, Table
from workload.timeline import due_refreshes
from workload.types import DOUBLE, INT, STRING, Kind, SqlType, Value, array_of, map_of
from workload.wellformed import check_scenario

NARROW = Limits(
    operators=OPERATORS - {"full join", "union all", "distinct"},
    statements=frozenset({"insert", "delete"}),
    timestamps=Timestamps.COMMIT,
    views=False,
    layered=False,
)


def test_the_names_of_operators_and_statements_are_those_of_the_generator() -> None:
    assert set(JOIN_OPERATORS.values()) <= OPERATORS
    assert {kind for kind in STATEMENTS if not kind.endswith("_one")} | {"restore"} == NO_LIMITS.statements
    used = {
        name for i in range(60) for d in scenario_at(1, SMOKE, i).definitions for name in operators(d.query)
    }
    assert used <= OPERATORS


@pytest.mark.parametrize("limits", [Limits(), NARROW, replace(NARROW, timestamps=Timestamps.ANY)])
def test_fitted_scenarios_are_well_formed_hold_a_table_and_fit_again_as_they_are(limits: Limits) -> None:
    profile = fitted(SMOKE, limits)
    for index in range(60):
        scenario = scenario_at(1, profile, index)
        check_scenario(scenario)
        due_refreshes(scenario)
        assert scenario.dynamic_tables
        assert refused(scenario, limits) == {}
        assert fit(scenario, limits) == scenario
        requested = {
            type(s).__name__.lower()
            for step in scenario.steps
            if isinstance(step, Commit)
            for s in step.statements
        }
        assert requested <= limits.statements


def test_the_same_seed_gives_the_same_scenarios_and_no_limits_change_nothing() -> None:
    profile = fitted(SMOKE, NARROW)
    assert scenario_at(3, profile, 5) == scenario_at(3, profile, 5)
    assert fit(shop(), NO_LIMITS) == shop()
    assert generate(SeededChoices(1), SMOKE, "x") == generate(SeededChoices(1), replace(SMOKE), "x")


def test_maintained_at_every_commit() -> None:
    immediate = fit(shop(), Limits(timestamps=Timestamps.COMMIT))
    assert [step for step in immediate.steps if isinstance(step, Refresh)] == [
        Refresh(51, "totals", 50),
        Refresh(52, "regions", 50),
    ]


def test_refreshed_to_the_present() -> None:
    steps = (*shop().steps[:5], Refresh(60, "totals", 45))
    (refresh,) = [s for s in fit(replace(shop(), steps=steps), Limits()).steps if isinstance(s, Refresh)]
    assert refresh == Refresh(60, "totals", 60)


def names(scenario: Scenario) -> list[str]:
    return [definition.name for definition in scenario.definitions]


def test_what_reads_a_definition_that_is_gone_goes_too() -> None:
    without_views = fit(shop(), Limits(views=False))
    assert names(without_views) == []
    assert not any(isinstance(step, Read | Refresh) for step in without_views.steps)
    flat = fit(shop(), Limits(layered=False))
    assert names(flat) == ["large", "totals"]
    assert Read(70, 1, ("totals",)) in flat.steps
    assert refused(shop(), Limits(views=False))["totals"] == "it reads large: it is a view"
    assert refused(shop(), Limits(layered=False))["regions"] == "it reads totals, another dynamic table"


def test_operators_of_views_count_for_those_that_read_them() -> None:
    unfiltered = refused(shop(), Limits(operators=OPERATORS - {"filter"}))
    assert unfiltered["large"] == "filter"
    inside = DynamicTable("d", shop().definitions[0].query)
    assert isinstance(shop().definitions[0], View)
    assert names_read(inside.query) == ("sales",)


def test_gaps_of_single_queries_are_named() -> None:
    def gap(query: Query) -> str | None:
        return "no totals" if "large" in names_read(query) else None

    assert refused(shop(), Limits(gap=gap)) == {
        "totals": "no totals",
        "regions": "it reads totals: no totals",
    }


def test_a_commit_needs_room_for_the_refreshes_after_it() -> None:
    steps = (*shop().steps[:5], Read(51, 1, ("totals",)))
    with pytest.raises(WorkloadError, match="shop: no room for refreshes between 52 and 51"):
        fit(replace(shop(), steps=steps), Limits(timestamps=Timestamps.COMMIT))


def finite(value: Value, _type: SqlType) -> bool:
    return not (isinstance(value, float) and not math.isfinite(value))


FEW_TYPES = Limits(types=frozenset({Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.BOOLEAN}), stores=finite)


def test_an_engine_with_few_types_is_asked_for_those_alone() -> None:
    profile = fitted(SMOKE, FEW_TYPES)
    kinds: set[Kind] = set()
    for index in range(60):
        scenario = scenario_at(1, profile, index)
        check_scenario(scenario)
        due_refreshes(scenario)
        assert scenario.dynamic_tables
        assert fit(scenario, FEW_TYPES) == scenario
        kinds.update(column.type.kind for table in scenario.tables for column in table.columns)
        for definition in scenario.definitions:
            kinds.update(part.type.kind for part in walk(definition.query) if isinstance(part, Expr))
        texts = scenario_to_json(scenario)
        assert not any(f'"double": "{word}"' in texts for word in ("nan", "inf", "-inf"))
    assert kinds == FEW_TYPES.types


def test_a_table_that_the_engine_cannot_have_goes_with_all_that_reads_it() -> None:
    limits = Limits(types=frozenset(Kind) - {Kind.STRING})
    assert refused(shop(), limits)["large"] == "sales has a column of type STRING"
    without = fit(shop(), limits)
    assert (without.tables, without.definitions, without.steps) == ((), (), ())


def test_a_query_beyond_the_types_or_values_is_refused() -> None:
    sums = Limits(types=frozenset(Kind) - {Kind.BIGINT})
    assert "calculates with type BIGINT" in refused(shop(), sums)["totals"]
    small = Limits(stores=lambda value, _type: value != 5)
    assert "it has the value 5" in refused(shop(), small)["large"]


def test_a_condition_is_no_value_of_type_boolean() -> None:
    """Without that, limits of types without BOOLEAN took every filter and every join away."""
    numbers = Limits(types=frozenset({Kind.INT, Kind.BIGINT, Kind.STRING}))
    assert refused(shop(), numbers) == {}
    large = shop().definition("large")
    assert isinstance(large.query, Select)
    assert large.query.where is not None
    shown = replace(large.query, items=(Item(large.query.where, "is_large"),))
    with_value = replace(shop(), definitions=(replace(large, query=shown),))
    assert refused(with_value, numbers) == {"large": "it calculates with type BOOLEAN"}
    drawn = [scenario_at(1, fitted(SMOKE, numbers), index) for index in range(40)]
    used = {name for each in drawn for d in each.definitions for name in operators(d.query)}
    assert used >= {"filter", "inner join", "left join"}


def test_what_limits_cost_is_counted_by_reason() -> None:
    """An operator that is within the limits, and of which a `gap` leaves none, is named with the reason."""

    def no_join(query: Query) -> str | None:
        joins = any(isinstance(part, Join) and part.kind is JoinKind.INNER for part in walk(query))
        return "no joins in version 3" if joins else None

    profile = fitted(SMOKE, Limits(gap=no_join))
    tally = Tally()
    for index in range(30):
        cut: Counter[str] = Counter()
        scenario = scenario_at(1, profile, index, cut)
        passed = Outcome(scenario=scenario.name, outcome=OutcomeClass.PASSED)
        tally.add(passed, covered(scenario) + cut)
    cost = tally.cost(profile)
    assert cost is not None
    assert cost.drawn >= 30
    assert cost.cut["no joins in version _"] > 3
    assert next(iter(cost.never["inner join"])) == "no joins in version _"
    (sentence,) = [text for text in cost_sentences(cost) if text.startswith("No inner join was left")]
    assert "all of them were cut (" in sentence
    assert Tally().cost(SMOKE) is None


def test_what_is_inside_a_nested_type_counts_too() -> None:
    table = Table("r", (Column("k", INT), Column("a", array_of(map_of(STRING, DOUBLE)))))
    every = frozenset(Kind)
    assert table_gap(table, Limits(types=every)) is None
    assert table_gap(table, Limits(types=every - {Kind.DOUBLE})) == "r has a column of type ARRAY"
    insert = Insert("r", ((1, ((("a", 0.5), ("b", None)),)),))
    assert holds(insert, table, Limits(types=every))
    assert not holds(insert, table, Limits(types=every, stores=lambda value, _type: value != 0.5))


@pytest.mark.parametrize(
    ("timestamps", "drawn"), [(Timestamps.ANY, True), (Timestamps.NOW, True), (Timestamps.COMMIT, False)]
)
def test_drops_are_drawn_for_engines_that_have_time_for_them(timestamps: Timestamps, drawn: bool) -> None:
    profile = fitted(SMOKE, Limits(timestamps=timestamps, drops=True))
    scenarios = [scenario_at(4, replace(profile, recreated_percent=100), index) for index in range(10)]
    assert any(isinstance(step, Drop) for scenario in scenarios for step in scenario.steps) == drawn
    for scenario in scenarios:
        check_scenario(scenario)
        due_refreshes(scenario)


def test_operators_that_were_not_drawn_yet_are_one_sentence() -> None:
    cost = LimitsCost(drawn=6, cut={}, never={"except": {}, "union": {}})
    (sentence,) = cost_sentences(cost)
    assert sentence == "Within the limits, but not drawn yet in so few scenarios: except, union."
