"""The hidden columns of a grouping: what refreshes keep is compared with what computing them anew gives."""

from __future__ import annotations

import pytest

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from tests.in_memory import in_memory
from tests.ir import agg, call, columns, named, select, table
from workload.dml import Delete, Insert
from workload.outcomes.results import Check, OutcomeClass
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import INT

R = table("r", i=INT, k=INT, v=INT)
NUMBER, K, V = (columns(R)[name] for name in "ikv")
GROUPS = select({"k": K, "least": agg("MIN", V), "total": agg("SUM", V)}, named("r"), group_by=[K])

ROWS = ((1, 1, 2), (2, 1, 5), (3, 1, 5), (4, 1, 5), (5, 2, None), (6, 2, 7), (7, 2, 8))

STORY = Scenario(
    "state",
    (R,),
    (DynamicTable("d", GROUPS),),
    (
        Commit(1, (Insert("r", ROWS),)),
        Create(2, "d"),
        # The least value leaves, so the group is computed anew; now it is known that 5 is there 3 times.
        Commit(3, (Delete("r", call("eq", NUMBER, 1)),)),
        Refresh(4, "d", 4),
        # No column of the result shows that 5 is there twice now, and that SUM is over one value.
        Commit(5, (Delete("r", call("eq", NUMBER, 2)), Delete("r", call("eq", NUMBER, 6)))),
        Refresh(6, "d", 6),
    ),
)


def test_refreshes_keep_the_hidden_columns_as_computing_them_anew_gives_them() -> None:
    trace = in_memory().run(STORY, lambda step, table: True)
    first, second, third = (refreshed.state for refreshed in trace.refreshes)
    assert first is not None
    assert second is not None
    assert third is not None
    assert third.columns == ("$STATE_rows", "$STATE_0_min", "$STATE_0_ties", "$STATE_1_count", "$STATE_1_sum")
    # The number of ties is not known at first; computing it anew always tells it.
    assert sorted(first.stored.values()) == [(3, 7, None, 2, 15), (4, 2, None, 4, 17)]
    assert sorted(first.fresh.values()) == [(3, 7, 1, 2, 15), (4, 2, 1, 4, 17)]
    assert sorted(second.stored.values()) == [(3, 5, 3, 3, 15), (3, 7, None, 2, 15)]
    assert third.may_be_unknown == {"$STATE_0_ties"}
    assert Lane(engine=in_memory(), fresh_percent=100).judge(STORY).outcome is OutcomeClass.PASSED


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("stored-ties-kept", "$STATE_0_ties of row id 'gi1:1' is 3; computed anew it is 2"),
        ("stored-count-never-falls", "$STATE_1_count of row id 'gi1:1' is 3; computed anew it is 2"),
    ],
)
def test_a_wrong_hidden_value_is_found_before_a_row_is_wrong(fault: str, message: str) -> None:
    outcome = LaneSpec(tier="rules", faults=(fault,)).build().judge(STORY)
    assert [(finding.check, finding.step) for finding in outcome.findings] == [(Check.STATE, 5)]
    assert message in outcome.findings[0].message
