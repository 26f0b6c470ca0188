"""An engine whose refreshes delete and insert every row is told from one that does what changed."""

from __future__ import annotations

from dataclasses import replace

from campaign.judging.lane import Lane
from campaign.runs.tally import Tally
from dynamic_tables.definition import Columns
from dynamic_tables.differentiate.changes import stored
from dynamic_tables.differentiate.differentiation import leaf_name
from dynamic_tables.differentiate.outer_join import both_ends
from dynamic_tables.differentiate.registry import RULES
from dynamic_tables.plan.nodes import Plan
from engines.variant import Variant
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.in_memory import in_memory
from workload.run_verdict import MOST_AMPLIFIED, amplified_percent


def everything(source: str, schema: Columns) -> Plan:
    """All old rows as DELETEs and all new ones as INSERTs, the unchanged ones too."""
    return both_ends(lambda at: stored(leaf_name(source, at), schema))


def percent(variant: Variant) -> float:
    lane, tally = Lane(engine=in_memory(variant)), Tally()
    for index in range(40):
        tally.add(lane.judge(scenario_at(5, QUICK, index)), {})
    return amplified_percent(tally.summary(5, "rules", QUICK, 1.0, ()))


def test_a_refresh_of_everything_is_above_the_bound_and_the_engine_is_below() -> None:
    assert percent(Variant()) < MOST_AMPLIFIED / 2
    careless = replace(RULES, capture=everything, consolidate=lambda plan: plan)
    assert percent(Variant(rules=careless)) > MOST_AMPLIFIED
