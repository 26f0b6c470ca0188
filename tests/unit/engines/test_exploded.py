"""Elements of arrays by increments: elements that come and go in the middle, equal ones, and pads."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from engines.variant import Variant
from shrink.reductions.exploded import REDUCTIONS
from tests.in_memory import in_memory
from tests.ir import col, columns, named, select, table
from workload.dml import Assignment, Delete, Dml, Insert, Update
from workload.errors import WorkloadError
from workload.lift import lift
from workload.outcomes.results import OutcomeClass
from workload.outcomes.trace import Action
from workload.query import Call, Exploded, Literal, Select
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.scope import output_columns
from workload.types import BOOLEAN, INT, Value, array_of
from workload.writing import written_query

pytestmark = pytest.mark.nightly

NUMBERS = array_of(INT)
R = table("r", k=INT, x=NUMBERS)
r = columns(R)
PLACES = Exploded(named("r"), r["x"], "v", outer=True, position=True)
ELEMENTS = replace(PLACES, position=False)
place, value = col("v", "pos", INT), col("v", "col", INT)
QUERY = select({"k": r["k"], "p": place, "e": value}, PLACES)


def becomes(k: int, elements: Value) -> Dml:
    """An UPDATE of one array."""
    where = Call("eq", (r["k"], Literal(k, INT)), BOOLEAN)
    return Update("r", (Assignment("x", Literal(elements, NUMBERS)),), where)


STEPS = (
    Commit(1, (Insert("r", ((1, (5, 6)), (2, (7, 7)), (3, None))),)),
    Create(2, "d"),
    # An element comes in the middle; one of two equal ones goes; a pad goes.
    Commit(3, (becomes(1, (5, None, 6)), becomes(2, (7,)), becomes(3, (8,)))),
    Refresh(4, "d", 4),
    # An array is empty, and then it is NULL: the same pad.
    Commit(5, (becomes(1, ()), Insert("r", ((4, (9, 9)),)))),
    Refresh(6, "d", 6),
    Commit(7, (becomes(1, None), Delete("r", Call("eq", (r["k"], Literal(4, INT)), BOOLEAN)))),
    Refresh(8, "d", 8),
)


def elements(query: Select) -> Scenario:
    return Scenario("elements", (R,), (DynamicTable("d", query),), STEPS)


def test_the_elements_after_each_refresh() -> None:
    refreshes = in_memory().run(elements(QUERY)).refreshes
    assert [sorted((stored.row for stored in each.contents), key=repr) for each in refreshes] == [
        [(1, 0, 5), (1, 1, 6), (2, 0, 7), (2, 1, 7), (3, None, None)],
        [(1, 0, 5), (1, 1, None), (1, 2, 6), (2, 0, 7), (3, 0, 8)],
        [(1, None, None), (2, 0, 7), (3, 0, 8), (4, 0, 9), (4, 1, 9)],
        [(1, None, None), (2, 0, 7), (3, 0, 8)],
    ]
    assert [each.action for each in refreshes] == [Action.INITIALIZE, *[Action.INCREMENTAL] * 3]
    # What stays at its position is no change: one element of row 1, and its pad.
    assert [len(each.change_set or ()) for each in refreshes] == [0, 6, 6, 2]


@pytest.mark.parametrize("source", [PLACES, ELEMENTS, replace(PLACES, outer=False)])
def test_the_judge_agrees(source: Exploded) -> None:
    lane = Lane(engine=in_memory(), fresh_percent=100)
    query = select({"k": r["k"], "e": value}, source)
    assert lane.judge(elements(query)).outcome is OutcomeClass.PASSED


@pytest.mark.parametrize(
    "fault",
    [
        "explode-position-not-in-id",
        "explode-forgets-pads",
        "explode-equal-elements-are-one",
        "explode-shortened-keeps-elements",
    ],
)
def test_planted_faults_are_found(fault: str) -> None:
    faulty = LaneSpec(tier="rules", faults=(fault,), validations=False).build()
    assert faulty.judge(elements(QUERY)).outcome is OutcomeClass.PRODUCT_FAILURE


FORMS = (
    "FROM r LATERAL VIEW OUTER posexplode(r.x) v AS pos, col",
    "FROM r LATERAL VIEW posexplode_outer(r.x) v",
    "FROM r LEFT JOIN LATERAL posexplode(r.x) AS v(pos, col) ON TRUE",
    "FROM r CROSS JOIN LATERAL posexplode_outer(r.x) v",
    "FROM r, LATERAL posexplode_outer(r.x) AS v",
    "SELECT r.k AS k, posexplode_outer(r.x) AS (p, e) FROM r",
)


def test_every_form_is_written_and_read_alike() -> None:
    """Parentheses, capitals and quotes aside, each form comes up; the engine gives the same rows for each."""
    texts = [written_query(QUERY, style, {"r": ["k", "x"]}) for style in range(1, 4000)]
    plain = {re.sub(r"\s+", " ", text).replace("`", "").lower() for text in texts}
    for form in FORMS:
        assert any(form.lower() in text for text in plain), form
    for style in range(1, 60):
        scenario = elements(QUERY)
        styled = replace(scenario, definitions=(replace(scenario.definitions[0], style=style),))
        outcome = Lane(engine=in_memory(Variant())).judge(styled)
        assert outcome.outcome is OutcomeClass.PASSED, texts[style - 1]


def test_lifted_elements_are_those_of_each_world() -> None:
    lifted = lift([elements(QUERY), elements(QUERY)])
    assert isinstance(lifted, Scenario)
    assert Lane(engine=in_memory(), fresh_percent=100).judge(lifted).outcome is OutcomeClass.PASSED


def test_only_arrays_are_exploded() -> None:
    with pytest.raises(WorkloadError, match="v explodes a INT, which is no ARRAY"):
        output_columns(select({"k": r["k"]}, replace(ELEMENTS, array=r["k"])), {"r": R.columns})


def test_shrinking_leaves_out_the_array_outer_and_the_positions() -> None:
    smaller = {
        candidate.definitions[0].query
        for reduction in REDUCTIONS
        for candidate in reduction.candidates(elements(QUERY))
    }
    assert select({"k": r["k"], "p": r["k"], "e": r["k"]}, named("r")) in smaller
    assert replace(QUERY, source=replace(PLACES, outer=False)) in smaller
    assert select({"k": r["k"], "p": value, "e": value}, ELEMENTS) in smaller
