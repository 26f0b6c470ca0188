"""Refreshes that are due: which order of them counts."""

from __future__ import annotations

import pytest

from campaign.lanes.spec import LaneSpec
from tests.ir import columns, join, lit, named, select, table
from workload.outcomes.results import OutcomeClass
from workload.query import JoinKind
from workload.scenario import Create, DynamicTable, Scenario
from workload.timeline import Due, done_as_due
from workload.types import INT

R = table("r", k=INT)
LEFT, RIGHT = (
    DynamicTable(name, select({"k": columns(R)["k"]}, named("r")), target_lag=1) for name in ("d0", "d1")
)
NEVER = lit(False)
BOTH = DynamicTable(
    "d2",
    select(
        {"k": columns(R)["k"]},
        join(JoinKind.SEMI, join(JoinKind.SEMI, named("r"), named("d1"), NEVER), named("d0"), NEVER),
    ),
    target_lag=1,
    style=1,
)
"""Its text reads d0 first: a semi join is written as EXISTS."""


def done(*tables: str) -> tuple[Due, ...]:
    return tuple(Due(name, 40) for name in tables)


@pytest.mark.parametrize(
    ("refreshes", "right"),
    [
        (("d1", "d0", "d2"), True),
        (("d0", "d1", "d2"), True),
        (("d0", "d2", "d1"), False),
        (("d0", "d2"), False),
        (("d0", "d1", "d1", "d2"), False),
    ],
)
def test_upstreams_come_first_and_others_in_any_order(refreshes: tuple[str, ...], right: bool) -> None:
    definitions = {each.name: each for each in (LEFT, RIGHT, BOTH)}
    assert done_as_due(done(*refreshes), done("d1", "d0", "d2"), definitions) == right


def test_a_text_that_reads_tables_in_another_order_is_no_failure() -> None:
    steps = (Create(20, "d0"), Create(30, "d1"), Create(40, "d2"))
    scenario = Scenario("orders", (R,), (LEFT, RIGHT, BOTH), steps)
    outcome = LaneSpec(tier="rules").build().judge(scenario)
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
