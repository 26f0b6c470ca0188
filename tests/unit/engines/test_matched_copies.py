"""EXCEPT and INTERSECT by increments: copies count, a change touches only the copies that come or go."""

from __future__ import annotations

from collections import Counter

import pytest

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from dynamic_tables.explain import declare, explain
from tests.in_memory import in_memory
from tests.ir import call, columns, except_, except_all, intersect, intersect_all, named, select, table
from workload.dml import Delete, Insert
from workload.outcomes.results import OutcomeClass
from workload.outcomes.trace import Action
from workload.query import Query
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import INT
from workload.writing import written_query

R, S = table("r", k=INT), table("s", k=INT)
LEFT, RIGHT = select(dict(columns(R)), named("r")), select(dict(columns(S)), named("s"))


def copies(query: Query) -> Scenario:
    """Copies come and go on both sides of a set operation."""
    return Scenario("copies", (R, S), (DynamicTable("d", query),), STEPS)


STEPS = (
    Commit(1, (Insert("r", ((1,), (1,), (1,), (2,), (None,), (None,))), Insert("s", ((1,), (3,))))),
    Create(2, "d"),
    # One copy more on the right takes one copy away; a NULL on the right takes one NULL away.
    Commit(3, (Insert("s", ((1,), (None,))),)),
    Refresh(4, "d", 4),
    # The right side loses all its copies of 1, the left side gets a 3 that the right side covers.
    Commit(5, (Delete("s", call("eq", columns(S)["k"], 1)), Insert("r", ((3,),)))),
    Refresh(6, "d", 6),
)
COPIES = copies(except_all(LEFT, RIGHT))


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


@pytest.mark.parametrize(
    ("query", "contents"),
    [
        (except_(LEFT, RIGHT), [{2: 1, None: 1}, {2: 1}, {1: 1, 2: 1}]),
        (intersect_all(LEFT, RIGHT), [{1: 1}, {1: 2, None: 1}, {3: 1, None: 1}]),
        (intersect(LEFT, RIGHT), [{1: 1}, {1: 1, None: 1}, {3: 1, None: 1}]),
    ],
)
def test_the_other_operations(query: Query, contents: list[dict[int | None, int]]) -> None:
    refreshes = in_memory().run(copies(query)).refreshes
    assert [Counter(stored.row[0] for stored in each.contents) for each in refreshes] == contents
    assert [r.action for r in refreshes] == [Action.INITIALIZE, Action.INCREMENTAL, Action.INCREMENTAL]
    assert Lane(engine=in_memory(), fresh_percent=100).judge(copies(query)).outcome is OutcomeClass.PASSED


@pytest.mark.parametrize("fault", ["set-operation-all-as-set", "set-operation-ignores-the-right"])
def test_planted_faults_are_found_in_an_intersection(fault: str) -> None:
    faulty = LaneSpec(tier="rules", faults=(fault,), validations=False).build()
    outcome = faulty.judge(copies(intersect_all(LEFT, RIGHT))).outcome
    assert outcome is OutcomeClass.PRODUCT_FAILURE


@pytest.mark.parametrize("words", ["EXCEPT", "MINUS", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"])
def test_keys_are_maintained_and_floats_refused(words: str) -> None:
    declared = declare(("r(k INT, x DOUBLE)", "s(k INT, x DOUBLE)"), ())
    assert explain(f"SELECT k FROM r {words} SELECT k FROM s", declared).incremental
    refused = explain(f"SELECT AVG(x) AS a FROM r {words} SELECT AVG(x) AS a FROM s", declared)
    assert not refused.incremental
    assert "float aggregate as key" in (refused.reason or "")


def test_intersect_binds_tighter_than_the_others() -> None:
    names = {"r": ["k"], "s": ["k"]}
    tight = except_(LEFT, intersect(RIGHT, LEFT))
    loose = intersect(except_(LEFT, RIGHT), LEFT)
    texts = [{written_query(query, style, names) for style in range(1, 300)} for query in (tight, loose)]
    bare = [[text for text in written if "(" not in text] for written in texts]
    assert bare[0], "no parentheses are needed"
    assert not bare[1], "parentheses are needed"
