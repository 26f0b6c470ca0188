"""An engine whose refreshes delete and insert every row is told from one that does what changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
from workload.outcomes.run_verdict import LEAST_CHANGES, MOST_AMPLIFIED, amplified_percent, is_amplified


def everything(source: str, schema: Columns) -> Plan:
    """All old rows as DELETEs and all new ones as INSERTs, the unchanged ones too."""
    return both_ends(lambda at: stored(leaf_name(source, at), schema))


def percent(variant: Variant) -> float:
    lane, tally = Lane(engine=in_memory(variant)), Tally()
    for index in range(10):
        tally.add(lane.judge(scenario_at(7, QUICK, index)), {})
    return amplified_percent(tally.summary(6, "rules", QUICK, 1.0, ()))


@pytest.mark.nightly
def test_a_refresh_of_everything_is_above_the_bound_and_the_engine_is_below() -> None:
    assert percent(Variant()) < MOST_AMPLIFIED / 2
    careless = replace(RULES, capture=everything, consolidate=lambda plan: plan)
    assert percent(Variant(rules=careless)) > MOST_AMPLIFIED


@pytest.mark.parametrize(
    ("changes", "amplification", "amplified"),
    [
        (LEAST_CHANGES, LEAST_CHANGES // 2, True),
        (LEAST_CHANGES, LEAST_CHANGES // 16, False),
        (LEAST_CHANGES - 1, LEAST_CHANGES // 2, False),
        (0, 0, False),
    ],
)
def test_few_changes_prove_nothing(changes: int, amplification: int, amplified: bool) -> None:
    tally = Tally(changes=changes, amplification=amplification)
    assert is_amplified(tally.summary(6, "rules", QUICK, 1.0, ())) == amplified
