"""A floor that cannot be met is refused before anything runs; one that can is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from campaign.runs.floors import STATES, ensure_reachable_floors
from campaign.runs.tally import Tally, covered
from generators.coverage import operators, unmet_floors
from generators.generate import scenario_at
from generators.profiles import PRODUCTION, PROFILES, SMOKE, Profile
from generators.queries.queries import QueryWeights
from tests.ir import columns, named, select, table
from workload.operators import OPERATORS
from workload.outcomes.results import Outcome, OutcomeClass, UnmetFloor
from workload.query import JoinKind
from workload.scenario import DynamicTable, Scenario
from workload.types import INT, STRING


@pytest.mark.parametrize(
    "profile", [each for each in PROFILES.values() if not each.documents], ids=lambda profile: profile.name
)
def test_the_built_in_floors_can_be_met(profile: Profile) -> None:
    ensure_reachable_floors(profile)


@pytest.mark.parametrize(
    ("profile", "floor", "message"),
    [
        (SMOKE, "operator: teleport", "there is no operator 'teleport'"),
        (SMOKE, "pair: filter > teleport", "there is no operator 'teleport'"),
        (SMOKE, "pair: filter", "a pair is written"),
        (SMOKE, "state: unheard of", "there is no state 'unheard of'"),
        (SMOKE, "action: GUESS", "there is no action 'GUESS'"),
        (SMOKE, "intent: harm", "there is no intent 'harm'"),
        (SMOKE, "dml: window / alter", "there is no kind of statement 'alter'"),
        (SMOKE, "dml: teleport / update", "there is no operator 'teleport'"),
        (SMOKE, "dml: window", "a statement is written `operator / update`"),
        (replace(SMOKE, intents=(0, 0), dml={"insert": 1}), "dml: window / merge", "have weight 0"),
        (SMOKE, "luck: much", "a floor's name begins with"),
        (PRODUCTION, "intent: null keys", "at most 0 intents"),
        (PRODUCTION, "operator: scalar aggregation", "shape 'scalar' have weight 0"),
        (PRODUCTION, "pair: filter > scalar aggregation", "shape 'scalar' have weight 0"),
        (
            replace(
                SMOKE, intents=(0, 0), query=QueryWeights(joins=((1, JoinKind.INNER), (0, JoinKind.FULL)))
            ),
            "operator: full join",
            "that join has weight 0",
        ),
        (
            replace(PRODUCTION, query=QueryWeights(relations=((1, 1),), shapes=((1, "plain"),))),
            "operator: inner join",
            "one relation each",
        ),
        (replace(SMOKE, reader_percent=0), "state: reader that saw skew", "reader_percent is 0"),
        (replace(SMOKE, styled_percent=0), "state: text in a style of its own", "styled_percent is 0"),
    ],
)
def test_a_floor_out_of_reach(profile: Profile, floor: str, message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        ensure_reachable_floors(replace(profile, floors={floor: 1}))


def test_a_floor_of_nothing_is_none() -> None:
    ensure_reachable_floors(replace(PRODUCTION, floors={"operator: scalar aggregation": 0}))


def test_what_is_met_is_known() -> None:
    lane = LaneSpec(tier="rules").build()
    # These five reach as many states as the first two dozen.
    scenarios = [scenario_at(2, SMOKE, index) for index in (0, 1, 4, 10, 20)]
    drawn = {n for s in scenarios for definition in s.definitions for n in operators(definition.query)}
    assert drawn <= set(OPERATORS)
    met = {name for scenario in scenarios for name in lane.judge(scenario).states}
    states = {name.removeprefix("state: ") for name in met if name.startswith("state: ")}
    assert len(states) > 12
    assert states <= set(STATES)


def test_a_type_counts_once_a_scenario_whose_query_reads_it() -> None:
    r = columns(table("r", a=INT, s=STRING))
    query = select({"a": r["a"], "twice": r["a"]}, named("r"))
    scenario = Scenario("typed", (table("r", a=INT, s=STRING),), (DynamicTable("d", query),), ())
    tally = Tally()
    tally.add(Outcome(scenario="typed", outcome=OutcomeClass.PASSED), covered(scenario))
    wanted = replace(SMOKE, floors={"type: INT": 1000, "type: STRING": 1000})
    assert unmet_floors(wanted, tally.reached, tally.scenarios) == {"type: STRING": UnmetFloor(0, 1)}


def test_fuzz_refuses_it_before_it_starts(tmp_path: Path) -> None:
    profile = tmp_path / "impossible.toml"
    profile.write_text('base = "production"\n[floors]\n"intent: null keys" = 5\n', encoding="utf-8")
    out = tmp_path / "run"
    result = CliRunner().invoke(main, ["fuzz", "--profile", str(profile), "--out", str(out)])
    assert result.exit_code == 2
    assert "error: profile impossible: floor 'intent: null keys' can never be met" in result.stderr
    assert not (out / "journal.jsonl").exists()
