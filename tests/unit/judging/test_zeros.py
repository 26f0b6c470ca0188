"""The sign of a zero, and days that old calendars lack, are kept, and judged where SQL determines them."""

from __future__ import annotations

import datetime as dt

import pytest

from campaign.judging.not_checked import SIGN_OF_ZEROS
from campaign.lanes.spec import LaneSpec
from engines.memory.base_rows import BaseRows
from oracle.bag import canonical
from oracle.zeros import zeros_told
from tests.ir import (
    agg,
    call,
    columns,
    derived,
    except_all,
    join,
    lit,
    named,
    select,
    table,
    union_all,
    with_,
)
from workload.dml import Assignment, Insert, Update
from workload.outcomes.results import Check, OutcomeClass
from workload.query import JoinKind, Query
from workload.scenario import Commit, Create, DynamicTable, Refresh, RefreshMode, Scenario
from workload.schema import Column
from workload.scope import output_columns
from workload.types import DATE, DOUBLE, FLOAT, INT, SIGNED, SqlType, parse_type, with_signed_zero

R = table("r", k=INT, f=DOUBLE, g=FLOAT, d=DATE)
K, F, G, D = columns(R).values()
SHOWN = select({"k": K, "f": F, "g": G, "d": D}, named("r"))

DAY = dt.date(1582, 10, 10)

STORY = Scenario(
    "zeros",
    (R,),
    (
        DynamicTable("shown", SHOWN),
        DynamicTable("whole", SHOWN, RefreshMode.FULL),
        DynamicTable("above", select({"f": columns(R, "whole")["f"]}, named("whole"))),
    ),
    (
        Commit(1, (Insert("r", ((1, 0.0, -0.0, DAY), (2, -0.0, 0.0, DAY))),)),
        *(Create(2 + n, name) for n, name in enumerate(("shown", "whole", "above"))),
        Commit(6, (Update("r", (Assignment("f", lit(-0.0)),), None),)),
        Refresh(7, "shown", 7),
        Refresh(8, "above", 8),
        Commit(9, (Update("r", (Assignment("f", lit(0.0)),), call("eq", K, 2)),)),
        Refresh(10, "shown", 10),
        Refresh(11, "above", 11),
        Commit(12, (Insert("r", ((3, -0.0, -0.0, dt.date(1582, 10, 12)),)),)),
        Refresh(13, "shown", 13),
        Refresh(14, "above", 14),
    ),
)


def test_a_change_of_sign_is_a_change() -> None:
    outcome = LaneSpec(tier="rules").build().judge(STORY)
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert outcome.states["action: INCREMENTAL"] == 6


@pytest.mark.parametrize("fault", ["zeros-made-one", "old-calendar"])
def test_a_value_that_is_not_kept_is_found(fault: str) -> None:
    outcome = LaneSpec(tier="rules", faults=(fault,)).build().judge(STORY)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert Check.EQUALITY in {finding.check for finding in outcome.findings}


def test_an_engine_may_have_tables_that_do_not_keep_the_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an index, DuckDB's UPDATE leaves 0.0 where -0.0 is written."""
    run = BaseRows._run

    def without_index(rows: BaseRows, text: str) -> None:
        if not text.startswith("CREATE INDEX"):
            run(rows, text)

    monkeypatch.setattr(BaseRows, "_run", without_index)
    outcome = LaneSpec(tier="rules").build().judge(STORY)
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert outcome.not_checked[SIGN_OF_ZEROS] == 1


GROUPED = select({"f": F, "most": agg("MAX", F)}, named("r"), group_by=[F])
BOTH = columns(R, "a")["f"], columns(R, "b")["g"]
JOINED = select({"f": BOTH[0], "g": BOTH[1]}, join(JoinKind.CROSS, named("r", "a"), named("r", "b")))
QUERIES: list[tuple[Query, list[bool]]] = [
    (select({"f": F, "g": G}, named("r")), [True, True]),
    (select({"f": F, "minus": call("neg", F)}, named("r")), [True, False]),
    (select({"f": F}, named("r"), distinct=True), [False]),
    (GROUPED, [False, False]),
    (JOINED, [True, True]),
    (union_all(select({"f": F}, named("r")), select({"f": call("neg", F)}, named("r"))), [False]),
    (except_all(select({"f": F}, named("r")), select({"f": F}, named("r"))), [False]),
    (select({"f": columns([Column("f", DOUBLE)], "s")["f"]}, derived(GROUPED, "s")), [False]),
    (with_({"c": SHOWN}, select({"g": columns(R, "c")["g"]}, named("c"))), [True]),
]


@pytest.mark.parametrize(("query", "told"), QUERIES)
def test_zeros_are_told_apart_where_values_are_shown_as_they_are(query: Query, told: list[bool]) -> None:
    scenario = Scenario("of a query", (R,), (DynamicTable("x", query),), ())
    outputs = output_columns(query, {"r": R.columns})
    signed = [column.type in SIGNED for column in zeros_told(scenario, "x", outputs)]
    assert signed == told


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
def test_only_a_signed_type_has_two_zeros(type_: SqlType) -> None:
    signed = with_signed_zero(type_)
    assert canonical(-0.0, type_) == canonical(0.0, type_)
    assert canonical(-0.0, signed) != canonical(0.0, signed)
    assert canonical(1.5, signed) == canonical(1.5, type_)
    assert parse_type(str(signed)) == signed != type_ == signed.stored
    assert with_signed_zero(INT) == INT
