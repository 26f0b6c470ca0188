"""EXCEPT ALL by increments: copies count, each change touches only the copies that come or go."""

from __future__ import annotations

from collections import Counter

import pytest

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from dynamic_tables.errors import UnsupportedError
from dynamic_tables.explain import declare, explain
from tests.in_memory import in_memory
from tests.ir import call, columns, except_all, named, select, table
from workload.dml import Delete, Insert
from workload.results import OutcomeClass
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.trace import Action
from workload.types import INT

R, S = table("r", k=INT), table("s", k=INT)
REST = except_all(select(dict(columns(R)), named("r")), select(dict(columns(S)), named("s")))
COPIES = Scenario(
    "copies",
    (R, S),
    (DynamicTable("d", REST),),
    (
        Commit(1, (Insert("r", ((1,), (1,), (1,), (2,), (None,), (None,))), Insert("s", ((1,), (3,))))),
        Create(2, "d"),
        # One copy more on the right takes one copy away; a NULL on the right takes one NULL away.
        Commit(3, (Insert("s", ((1,), (None,))),)),
        Refresh(4, "d", 4),
        # The right side loses all its copies of 1, the left side gets a 3 that the right side covers.
        Commit(5, (Delete("s", call("eq", columns(S)["k"], 1)), Insert("r", ((3,),)))),
        Refresh(6, "d", 6),
    ),
)


def test_what_is_left_over_after_each_refresh() -> None:
    refreshes = in_memory().run(COPIES).refreshes
    contents = [Counter(stored.row[0] for stored in refreshed.contents) for refreshed in refreshes]
    assert contents == [{1: 2, 2: 1, None: 2}, {1: 1, 2: 1, None: 1}, {1: 3, 2: 1, None: 1}]
    assert [r.action for r in refreshes] == [Action.INITIALIZE, Action.INCREMENTAL, Action.INCREMENTAL]


def test_a_change_set_holds_the_copies_that_come_or_go_and_no_others() -> None:
    _, second, third = in_memory().run(COPIES).refreshes
    changes = [
        Counter((change.action.value, change.row[0]) for change in refreshed.change_set or ())
        for refreshed in (second, third)
    ]
    assert changes == [{("DELETE", 1): 1, ("DELETE", None): 1}, {("INSERT", 1): 2}]


def test_every_check_of_the_judge_holds_and_the_planted_fault_is_found() -> None:
    assert Lane(engine=in_memory(), fresh_percent=100).judge(COPIES).outcome is OutcomeClass.PASSED
    faulty = LaneSpec(tier="rules", faults=("set-operation-all-as-set",), validations=False).build()
    assert faulty.judge(COPIES).outcome is OutcomeClass.PRODUCT_FAILURE


def test_except_without_all_and_floats_as_rows_are_refused() -> None:
    declared = declare(("r(k INT, x DOUBLE)", "s(k INT, x DOUBLE)"), ())
    assert explain("SELECT k FROM r EXCEPT ALL SELECT k FROM s", declared).incremental
    for query in (
        "SELECT k FROM r EXCEPT SELECT k FROM s",
        "SELECT AVG(x) AS a FROM r EXCEPT ALL SELECT AVG(x) AS a FROM s",
    ):
        explanation = explain(query, declared)
        assert not explanation.incremental
        assert explanation.reason


@pytest.mark.parametrize("word", ["EXCEPT", "INTERSECT ALL"])
def test_a_set_operation_without_a_rule_is_named(word: str) -> None:
    declared = declare(("r(k INT)", "s(k INT)"), ())
    reason = explain(f"SELECT k FROM r {word} SELECT k FROM s", declared).reason or ""
    assert word.split()[0] in reason, UnsupportedError
