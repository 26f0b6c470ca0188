"""Faults that resemble each other are not the same: each has a scenario that breaks it alone."""

from __future__ import annotations

from campaign.lanes.spec import LaneSpec
from tests.ir import call, columns, named, select, table
from workload.dml import Assignment, Insert, Update
from workload.outcomes.results import Check, OutcomeClass
from workload.query import Literal
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import INT

R = table("r", k=INT, v=INT)
COLUMNS = columns(R)
ONE_UPDATE = Scenario(
    "one update",
    (R,),
    (DynamicTable("d", select(COLUMNS, named("r"), where=call("gt", COLUMNS["v"], 0))),),
    (
        Commit(1, (Insert("r", ((1, 1), (2, 2))),)),
        Create(2, "d"),
        Commit(3, (Update("r", (Assignment("v", Literal(3, INT)),), call("eq", COLUMNS["k"], 1)),)),
        Refresh(4, "d", 4),
    ),
)
"""A filter over one table: nothing cancels but what one row's changes hold."""


def failed(fault: str) -> set[Check]:
    """The checks that fail with a fault, the engine's own validations off."""
    outcome = LaneSpec(tier="rules", faults=(fault,), validations=False).build().judge(ONE_UPDATE)
    assert outcome.outcome in (OutcomeClass.PASSED, OutcomeClass.PRODUCT_FAILURE)
    return {finding.check for finding in outcome.findings}


def test_a_repeated_change_of_one_row_is_seen_for_itself() -> None:
    assert Check.INVARIANT_1 in failed("changes-not-netted")
    assert Check.INVARIANT_1 not in failed("consolidation-skipped")
