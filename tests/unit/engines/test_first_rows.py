"""ORDER BY with LIMIT by increments: rows come in because others go, and are pushed out by new ones."""

from __future__ import annotations

import re

import pytest

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from dynamic_tables.differentiate.registry import RULES, state_plan
from dynamic_tables.explain import declare, explain
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.types import INT as NUMBER
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.relations import StoredRelation
from tests.in_memory import in_memory
from tests.ir import call, columns, named, select, table
from workload.dml import Delete, Insert
from workload.errors import WorkloadError
from workload.lift import Unliftable, lift
from workload.outcomes.results import OutcomeClass
from workload.outcomes.trace import Action
from workload.query import Limited, SortKey
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.scope import output_columns
from workload.types import INT
from workload.writing import written_query

R = table("r", k=INT, a=INT)
BLOCK = select(dict(columns(R)), named("r"))
ASCENDING = (SortKey("k"), SortKey("a"))
FIRST_TWO = Limited(BLOCK, ASCENDING, 2)


def first_rows(query: Limited) -> Scenario:
    """Rows before, among and after the first two come and go."""
    return Scenario("first rows", (R,), (DynamicTable("d", query),), STEPS)


STEPS = (
    Commit(1, (Insert("r", ((1, 1), (2, 1), (3, 1), (4, 1))),)),
    Create(2, "d"),
    # The first row goes, the third comes in.
    Commit(3, (Delete("r", call("eq", columns(R)["k"], 1)),)),
    Refresh(4, "d", 4),
    # NULL is the least value: its row pushes one out. A row behind the first ones changes nothing.
    Commit(5, (Insert("r", ((None, 7), (9, 9))),)),
    Refresh(6, "d", 6),
)


def test_what_stands_first_after_each_refresh() -> None:
    refreshes = in_memory().run(first_rows(FIRST_TWO)).refreshes
    contents = [{stored.row[0] for stored in refreshed.contents} for refreshed in refreshes]
    assert contents == [{1, 2}, {2, 3}, {None, 2}]
    assert [r.action for r in refreshes] == [Action.INITIALIZE, Action.INCREMENTAL, Action.INCREMENTAL]


def test_a_change_set_holds_the_row_that_comes_in_and_the_one_that_goes_out() -> None:
    _, second, third = in_memory().run(first_rows(FIRST_TWO)).refreshes
    changes = [
        {(change.action.value, change.row[0]) for change in refreshed.change_set or ()}
        for refreshed in (second, third)
    ]
    assert changes == [{("DELETE", 1), ("INSERT", 3)}, {("DELETE", 3), ("INSERT", None)}]


@pytest.mark.parametrize(
    ("query", "contents"),
    [
        (Limited(BLOCK, ASCENDING, 2, 1), [{2, 3}, {3, 4}, {2, 3}]),
        (Limited(BLOCK, (SortKey("k", descending=True), SortKey("a")), 2), [{3, 4}, {3, 4}, {4, 9}]),
        (Limited(BLOCK, ASCENDING, 0), [set(), set(), set()]),
        (Limited(BLOCK, ASCENDING, 9, 3), [{4}, set(), {4, 9}]),
        (
            Limited(Limited(BLOCK, ASCENDING, 3), (SortKey("k", descending=True), SortKey("a")), 1),
            [{3}, {4}, {3}],
        ),
    ],
)
def test_other_orders_and_bounds(query: Limited, contents: list[set[int]]) -> None:
    scenario = first_rows(query)
    refreshes = in_memory().run(scenario).refreshes
    assert [{stored.row[0] for stored in each.contents} for each in refreshes] == contents
    assert Lane(engine=in_memory(), fresh_percent=100).judge(scenario).outcome is OutcomeClass.PASSED


@pytest.mark.parametrize(
    "fault",
    ["limit-sees-changed-rows-only", "topn-evicted-row-kept", "limit-nulls-at-other-end"],
)
def test_planted_faults_are_found(fault: str) -> None:
    faulty = LaneSpec(tier="rules", faults=(fault,), validations=False).build()
    assert faulty.judge(first_rows(FIRST_TWO)).outcome is OutcomeClass.PRODUCT_FAILURE


def test_a_lost_offset_is_found() -> None:
    faulty = LaneSpec(tier="rules", faults=("limit-without-offset",), validations=False).build()
    outcome = faulty.judge(first_rows(Limited(BLOCK, ASCENDING, 2, 1))).outcome
    assert outcome is OutcomeClass.PRODUCT_FAILURE


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, a FROM r ORDER BY k, a LIMIT 2",
        "SELECT k, a FROM r ORDER BY 2 DESC, 1 LIMIT 2 OFFSET 1",
        "SELECT k FROM r ORDER BY r.a DESC LIMIT 2",
        "SELECT k, SUM(a) AS s FROM r GROUP BY k ORDER BY SUM(a) DESC, k LIMIT 3",
        "SELECT k, SUM(a) AS s FROM r GROUP BY k ORDER BY COUNT(*) LIMIT 3",
        "SELECT DISTINCT k FROM r ORDER BY k NULLS LAST LIMIT 3",
        "SELECT k FROM r UNION ALL SELECT a FROM r ORDER BY k LIMIT 3",
        "(SELECT k FROM r ORDER BY k LIMIT 1) UNION ALL SELECT a FROM r",
        "WITH c AS (SELECT k FROM r) SELECT k FROM c ORDER BY k OFFSET 2",
        "SELECT COUNT(*) AS n FROM (SELECT k FROM r ORDER BY k LIMIT 3) AS q",
    ],
)
def test_the_first_rows_are_maintained(text: str) -> None:
    assert explain(text, declare(("r(k INT, a INT)",), ())).incremental


def test_of_equal_rows_those_are_first_that_are_first_by_the_other_columns() -> None:
    relations = {"r": StoredRelation("r", (("k", NUMBER), ("a", NUMBER)))}
    bound = bind_query("SELECT k, a FROM r ORDER BY a LIMIT 1", relations)
    text = render(state_plan(bound, RULES), SPARK).text()
    assert re.search(
        "ORDER BY `a[_0-9]*` ASC NULLS FIRST, `k[_0-9]*` ASC NULLS FIRST, `.ROW_ID` ASC", text
    ), text


@pytest.mark.parametrize(
    ("text", "names", "order"),
    [
        ("SELECT k, a FROM r ORDER BY (2) LIMIT 1", ["k", "a"], "`a[_0-9]*` ASC NULLS FIRST, `k"),
        (
            "SELECT a AS k, k AS a FROM r ORDER BY a DESC LIMIT 1",
            ["k", "a"],
            "`a[_0-9]*` DESC NULLS LAST, `k",
        ),
        ("SELECT k AS `$ORDER`, a FROM r ORDER BY a + k LIMIT 1", ["$ORDER", "a"], r"`\$order0` ASC"),
        (
            "SELECT CAST(k AS STRING) FROM r ORDER BY k NULLS LAST LIMIT 1",
            ["k"],
            r"`k[_0-9]*` ASC NULLS LAST",
        ),
    ],
)
def test_keys_of_the_order(text: str, names: list[str], order: str) -> None:
    relations = {"r": StoredRelation("r", (("k", NUMBER), ("a", NUMBER)))}
    bound = bind_query(text, relations)
    assert [name for name, _ in bound.outputs] == names
    rendered = render(state_plan(bound, RULES), SPARK).text()
    assert re.search(f"ORDER BY {order}", rendered), rendered


def test_every_style_reads_back_as_the_same_rows() -> None:
    texts = {written_query(FIRST_TWO, style, {"r": ["k", "a"]}) for style in range(1, 60)}
    assert len(texts) > 20
    for text in texts:
        assert explain(text, declare(("r(k INT, a INT)",), ())).incremental, text


def test_an_order_that_leaves_rows_open_is_not_well_formed() -> None:
    catalog = {"r": R.columns}
    with pytest.raises(WorkloadError, match="name all output columns"):
        output_columns(Limited(BLOCK, (SortKey("k"),), 1), catalog)
    with pytest.raises(WorkloadError, match="LIMIT -1"):
        output_columns(Limited(BLOCK, ASCENDING, -1), catalog)


def test_worlds_with_a_limit_are_not_lifted() -> None:
    lifted = lift((first_rows(FIRST_TWO), first_rows(FIRST_TWO)))
    assert isinstance(lifted, Unliftable)
    assert "LIMIT" in str(lifted)
