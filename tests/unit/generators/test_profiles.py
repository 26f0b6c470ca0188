"""Profiles and generated scenarios keep what they promise."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path

import pytest

import generators.generate
from generators.choices import Choices, NothingToPick, SeededChoices
from generators.coverage import floors_too_small, operator_pairs, operators, unmet_floors
from generators.domains import DOMAINS
from generators.generate import generate, scenario_at
from generators.intents import INTENTS
from generators.profiles import INTENT_NAMES, PROFILES, SMOKE, load_profile
from workload.codec import scenario_from_json, scenario_to_json
from workload.errors import WorkloadError
from workload.outcomes.results import UnmetFloor
from workload.timeline import due_refreshes
from workload.wellformed import check_scenario


@pytest.mark.parametrize(
    "profile", [each for each in PROFILES.values() if not each.documents], ids=lambda profile: profile.name
)
def test_scenarios_are_well_formed_and_survive_json(profile) -> None:  # type: ignore[no-untyped-def]
    for index in range(3 if profile.name == "production" else 60):
        scenario = scenario_at(5, profile, index)
        check_scenario(scenario)
        due_refreshes(scenario)
        # By text: NaN is not equal to itself.
        assert scenario_to_json(scenario_from_json(scenario_to_json(scenario))) == scenario_to_json(scenario)


def test_a_scenario_depends_on_its_index_alone() -> None:
    assert repr(scenario_at(5, SMOKE, 7)) == repr(scenario_at(5, SMOKE, 7))
    assert repr(scenario_at(5, SMOKE, 7)) != repr(scenario_at(5, SMOKE, 8))
    assert repr(scenario_at(5, SMOKE, 7)) != repr(scenario_at(6, SMOKE, 7))


class SimplestChoices(Choices):
    def integer(self, low: int, high: int) -> int:
        return low


def test_the_simplest_choices_make_a_scenario_too() -> None:
    check_scenario(generate(SimplestChoices(), SMOKE, "simplest"))


def test_the_short_ways_of_seeded_choices_draw_what_the_interface_says() -> None:
    by_interface, short = SeededChoices("same"), SeededChoices("same")
    for turn in range(1, 200):
        assert short.chance(turn % 101) == Choices.chance(by_interface, turn % 101)
        assert short.pick(range(turn)) == Choices.pick(by_interface, range(turn))
    with pytest.raises(NothingToPick):
        short.pick(())


def test_the_example_in_the_documentation_holds() -> None:
    assert doctest.testmod(generators.generate) == doctest.TestResults(failed=0, attempted=3)


def test_every_floor_names_something_that_exists() -> None:
    assert set(INTENT_NAMES) <= set(INTENTS)
    scenarios = [scenario_at(1, SMOKE, index) for index in range(600)]
    queries = [definition.query for scenario in scenarios for definition in scenario.definitions]
    reached = {f"operator: {name}" for query in queries for name in operators(query)}
    reached |= {f"pair: {outer} > {inner}" for query in queries for outer, inner in operator_pairs(query)}
    reached |= {f"intent: {intent}" for scenario in scenarios for intent in scenario.intents}
    counted = ("operator", "pair", "intent")
    # One of every two operators comes up in longer runs alone.
    named = {name for name, n in SMOKE.floors.items() if n >= 1 and name.split(":")[0] in counted}
    assert named <= reached


def test_floors_scale_with_the_run() -> None:
    assert unmet_floors(SMOKE, {}, 0) == {}
    assert unmet_floors(SMOKE, {}, 1000)["state: retraction"] == UnmetFloor(
        0, int(SMOKE.floors["state: retraction"])
    )
    rare = replace(SMOKE, floors={"pair: limit > limit": 0.1})
    assert unmet_floors(rare, {}, 9_999) == {}
    assert floors_too_small(rare, 9_999) == ("pair: limit > limit",)
    assert unmet_floors(rare, {}, 30_000) == {"pair: limit > limit": UnmetFloor(0, 3)}


def test_a_floor_below_one_does_not_bind() -> None:
    assert "state: retraction" not in floors_too_small(SMOKE, 2)
    assert "type: BINARY" in floors_too_small(SMOKE, 2)
    assert floors_too_small(SMOKE, 25_000) == ()


def test_weighted_choices_follow_their_weights() -> None:
    choices = SeededChoices("weights")
    drawn = [choices.weighted(((9, "often"), (1, "rarely"), (0, "never"))) for _ in range(1000)]
    assert 850 < drawn.count("often") < 950
    assert "never" not in drawn
    with pytest.raises(ValueError, match="positive weight"):
        choices.weighted(((0, "nothing"),))


@pytest.mark.parametrize("wanted", ["-1", "-0.5", "nan", "inf", "true", '"many"'])
def test_a_floor_that_is_no_number_is_refused_in_a_line_that_can_be_read(tmp_path: Path, wanted: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f'[floors]\n"pair: limit > limit" = {wanted}\n', encoding="utf-8")
    with pytest.raises(WorkloadError, match=r"floors = .* does not fit; write it like floors = ") as caught:
        load_profile(str(file))
    assert len(str(caught.value)) < 300


def test_floors_may_be_fractions_and_weights_of_statements_may_not(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[floors]\n"pair: limit > limit" = 0.25\n', encoding="utf-8")
    assert load_profile(str(file)).floors == {"pair: limit > limit": 0.25}
    file.write_text("[dml]\ninsert = 0.5\n", encoding="utf-8")
    with pytest.raises(WorkloadError, match=r"dml = .* does not fit"):
        load_profile(str(file))


def test_floors_ask_for_the_types_that_random_tables_have() -> None:
    """A floor for documents, which are drawn for definitions of users alone, would be met by no run."""
    for profile in PROFILES.values():
        asked = {name for name in profile.floors if name.startswith("type: ")}
        assert asked in (set(), {f"type: {kind.value}" for kind in DOMAINS}), profile.name
