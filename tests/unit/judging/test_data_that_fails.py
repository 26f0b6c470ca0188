"""Refreshes whose query fails on the data: the engine fails too, changes nothing, and goes on later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from campaign.judging.judge import judge
from campaign.lanes.spec import LaneSpec
from engines.adapter import Adapter
from engines.engine import Recomputation
from oracle.delayed_view import DelayedView
from tests.in_memory import in_memory
from tests.ir import call, columns, count_star, join, lit, named, select, table
from workload.dml import Assignment, Delete, Insert, Update
from workload.failing import may_fail
from workload.outcomes.results import Check, Outcome, OutcomeClass
from workload.outcomes.trace import Action, Event, Refreshed, RefreshError, RefreshRefused, Trace
from workload.query import Expr, JoinKind, Query
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import BIGINT, INT, STRING

R, S = table("r", k=INT, a=INT), table("s", k=INT, a=INT)
r, s = columns(R), columns(S)


def ten_over_zero_where(condition: Expr) -> Expr:
    return call("div", 10, call("case", condition, 0, 3))


QUOTIENT = select({"k": r["k"], "q": ten_over_zero_where(call("eq", r["a"], 77))}, named("r"))
PAIRS = select(
    {"k": r["k"], "q": ten_over_zero_where(call("eq", r["a"], s["a"]))},
    join(JoinKind.INNER, named("r"), named("s"), call("eq", r["k"], s["k"])),
)
GROUPED_PAIRS = select(
    {"q": ten_over_zero_where(call("eq", r["a"], s["a"])), "n": count_star()},
    join(JoinKind.INNER, named("r"), named("s"), call("eq", r["k"], s["k"])),
    group_by=(ten_over_zero_where(call("eq", r["a"], s["a"])),),
)

ROW_COMES_AND_GOES = Scenario(
    "a row comes and goes",
    (R,),
    (DynamicTable("d", QUOTIENT),),
    (
        Commit(10, (Insert("r", ((1, 5),)),)),
        Create(20, "d"),
        Commit(30, (Insert("r", ((2, 6),)),)),
        Commit(40, (Insert("r", ((3, 77),)),)),
        Refresh(50, "d", 50),
        Refresh(55, "d", 55),
        Commit(60, (Delete("r", call("eq", r["a"], 77)),)),
        Refresh(70, "d", 70),
    ),
)


def set_a(name: str, value: int) -> Update:
    return Update(name, (Assignment("a", lit(value)),), None)


FOLLOWS = Scenario(
    "one side takes the value that the other side had",
    (R, S),
    (DynamicTable("d", PAIRS),),
    (
        Commit(10, (Insert("r", ((1, 20),)), Insert("s", ((1, 30),)))),
        Create(20, "d"),
        Commit(30, (set_a("r", 10), set_a("s", 20))),
        Refresh(40, "d", 40),
    ),
)


def test_a_refresh_fails_as_its_query_does_and_the_next_one_covers_its_interval() -> None:
    trace = in_memory().run(ROW_COMES_AND_GOES)
    refused = [event for event in trace.events if isinstance(event, RefreshRefused)]
    assert [event.timestamp for event in refused] == [50, 55]
    assert all("ivision by zero" in event.message for event in refused)
    last = trace.refreshes[-1]
    assert (last.timestamp, last.action) == (70, Action.INCREMENTAL)
    assert {stored.row[0] for stored in last.contents} == {1, 2}
    outcome = LaneSpec(tier="rules").build().judge(ROW_COMES_AND_GOES)
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert outcome.states["state: refresh failed as its query does"] == 2


def test_a_term_of_the_changes_that_fails_is_no_failure_of_the_query() -> None:
    last = in_memory().run(FOLLOWS).refreshes[-1]
    assert last.action is Action.FULL
    assert last.reason.startswith("the changes could not be computed (")
    outcome = LaneSpec(tier="rules", fresh_percent=100).build().judge(FOLLOWS)
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason


PAIRS_WITHOUT_ZERO = replace(
    FOLLOWS,
    steps=(*FOLLOWS.steps[:2], Commit(30, (set_a("r", 10), set_a("s", 40))), *FOLLOWS.steps[3:]),
)
"""No row of r, old or new, meets a row of s with its value: no term of the changes can fail."""


def anew(scenario: Scenario) -> Trace:
    """The engine's run over a scenario, but that its last refresh says it evaluated the query anew."""
    trace = in_memory().run(scenario)
    last = trace.refreshes[-1]
    full = replace(last, action=Action.FULL, effective_action=Action.FULL, change_set=None, counted=None)
    return replace(trace, events=tuple(full if event is last else event for event in trace.events))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (PAIRS, OutcomeClass.PRODUCT_FAILURE),
        # Groups over the rows of both times have values that neither time has: nothing is known of them.
        (GROUPED_PAIRS, OutcomeClass.PASSED),
    ],
)
def test_full_is_due_only_where_a_term_of_the_changes_fails(query: Query, found: OutcomeClass) -> None:
    scenario = replace(PAIRS_WITHOUT_ZERO, definitions=(DynamicTable("d", query),))
    outcome = judge(scenario, anew(scenario), lambda *_: ())
    assert outcome.outcome is found, outcome.reason


def test_the_engines_own_sql_may_tell_that_a_term_fails() -> None:
    asked: list[int | None] = []

    def fails(truth: DelayedView, table: str, timestamp: int, before: int | None) -> str:
        asked.append(before)
        return "ArithmeticException: [DIVIDE_BY_ZERO] Division by zero"

    outcome = judge(PAIRS_WITHOUT_ZERO, anew(PAIRS_WITHOUT_ZERO), lambda *_: (), own_error=fails)
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert asked == [20]


def test_where_the_engines_own_sql_cannot_be_asked_nothing_is_found() -> None:
    def breaks(truth: DelayedView, table: str, timestamp: int, before: int | None) -> str:
        raise ConnectionError("the platform died")

    with pytest.raises(ConnectionError):
        judge(PAIRS_WITHOUT_ZERO, anew(PAIRS_WITHOUT_ZERO), lambda *_: (), own_error=breaks)


@pytest.mark.parametrize(
    ("fault", "scenario", "check"),
    [
        ("failing-term-fails-refresh", FOLLOWS, Check.REFRESH_ERROR),
        ("failed-refresh-moves-frontier", ROW_COMES_AND_GOES, Check.REFRESH_MODE),
    ],
)
def test_an_engine_that_does_otherwise_is_found(fault: str, scenario: Scenario, check: Check) -> None:
    outcome = LaneSpec(tier="rules", faults=(fault,)).build().judge(scenario)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert check in {finding.check for finding in outcome.findings}


@pytest.mark.parametrize(
    ("expr", "fails"),
    [
        (call("div", r["k"], r["a"]), True),
        (call("div_guarded", r["k"], r["a"]), False),
        (call("add", r["k"], 2**31 - 1), True),
        (call("add", r["k"], 1), False),
        (call("cast", columns(table("t", x=STRING))["x"], type_=INT), True),
        (call("cast", r["k"], type_=BIGINT), False),
    ],
)
def test_which_expressions_may_fail(expr: Expr, fails: bool) -> None:
    query: Query = select({"x": call("coalesce", expr, expr)}, named("r"))
    assert may_fail(query) is fails


def edited(change: Callable[[Event], Event | None]) -> Outcome:
    """The judgement of the engine's run over `ROW_COMES_AND_GOES` with some events changed or left out."""
    trace = in_memory().run(ROW_COMES_AND_GOES)
    events = tuple(new for event in trace.events if (new := change(event)) is not None)
    return judge(ROW_COMES_AND_GOES, replace(trace, events=events), lambda *_: ())


def test_an_engine_that_never_refreshes_after_a_failure_is_found() -> None:
    outcome = edited(lambda e: None if isinstance(e, Refreshed) and e.timestamp == 70 else e)
    assert outcome.reason == "effective refresh mode: due: d at 70; done: nothing"


def test_an_engine_whose_failure_empties_the_table_is_found() -> None:
    outcome = edited(lambda e: replace(e, contents=()) if isinstance(e, RefreshRefused) else e)
    assert outcome.reason == "oracle equality: a refresh of d that failed changed its contents"


def test_a_change_set_that_the_engine_refuses_is_no_failure_of_the_query() -> None:
    outcome = edited(
        lambda e: replace(e, error=RefreshError.VALIDATION) if isinstance(e, RefreshRefused) else e
    )
    assert outcome.outcome is OutcomeClass.GENERATOR_INVALID


def test_full_is_due_only_where_rows_are_paired() -> None:
    def full(event: Event) -> Event:
        if not isinstance(event, Refreshed) or event.timestamp != 70:
            return event
        return replace(event, action=Action.FULL, effective_action=Action.FULL, change_set=None, counted=None)

    assert edited(full).reason.startswith("effective refresh mode: d was refreshed by FULL")


@pytest.mark.parametrize(
    ("own_error", "passes"),
    [
        ("ArithmeticException: [ARITHMETIC_OVERFLOW] other words", True),
        ("AnalysisException: [UNRESOLVED_COLUMN] x", False),
        ("", False),
    ],
)
def test_a_refresh_that_fails_as_the_engines_own_sql_does_is_not_its_fault(
    own_error: str, passes: bool
) -> None:
    trace = in_memory().run(FOLLOWS)
    # The run ends with a read of the table as it was before.
    *before, last, _ = trace.events
    assert isinstance(last, Refreshed)
    message = "ArithmeticException: [ARITHMETIC_OVERFLOW] overflow"
    refused = RefreshRefused(
        step=last.step,
        table="d",
        timestamp=last.timestamp,
        error=RefreshError.FAILED,
        message=message,
        contents=None,
    )
    changed = replace(trace, events=(*before, refused))
    outcome = judge(FOLLOWS, changed, lambda *_: (), own_error=lambda *_: own_error)
    if passes:
        assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
        assert outcome.states["state: refresh failed as the engine's own SQL does"] == 1
    else:
        assert outcome.reason == f"refresh error: {message}"


def test_the_error_of_the_engines_own_sql_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Recomputation("d", lambda dialect: "SELECT 1", (), lambda: FOLLOWS)
    assert in_memory().own_error(wanted) == "", "an adapter without SQL of its own"

    def overflow(adapter: Adapter, query: str, columns: object) -> None:
        raise ArithmeticError("[ARITHMETIC_OVERFLOW] overflow")

    monkeypatch.setattr(Adapter, "evaluate", overflow)
    assert in_memory().own_error(wanted) == "ArithmeticError: [ARITHMETIC_OVERFLOW] overflow"
