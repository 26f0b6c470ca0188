"""A view or dynamic table that the engine must take, by the harness's own list, and refuses, is a failure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.judging.expectations import nesting
from campaign.lanes.spec import LaneSpec
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError
from tests.ir import call, columns, count_star, derived, named, select, table, window
from workload.dml import Insert
from workload.outcomes.results import Outcome, OutcomeClass
from workload.query import ColumnRef, Cte, With
from workload.scenario import (
    Commit,
    Create,
    Definition,
    DynamicTable,
    Refresh,
    RefreshMode,
    Scenario,
    Step,
    View,
)
from workload.types import BIGINT, INT, STRING, SqlType, map_of

R = table("r", a=INT)
DEEP = map_of(STRING, map_of(STRING, INT))


def judged(*definitions: Definition, type_: SqlType = INT) -> Outcome:
    """`type_`: that of the column `x` of the table `m`."""
    steps: tuple[Step, ...] = (
        Commit(1, (Insert("r", ((1,),)), Insert("m", ((1, None),)))),
        *(Create(number, each.name) for number, each in enumerate(definitions, 2)),
        *(Refresh(9, each.name, 9) for each in definitions[-1:] if isinstance(each, DynamicTable)),
    )
    return (
        LaneSpec(tier="rules")
        .build()
        .judge(Scenario("refused", (R, table("m", a=INT, x=type_)), definitions, steps))
    )


def refusing(*_: object, **__: object) -> None:
    raise DefinitionError("no such thing")


COPY = select({"a": columns(R)["a"]}, named("r"))


@pytest.mark.parametrize("mode", RefreshMode)
def test_a_refused_table(mode: RefreshMode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Account, "create_dynamic_table", refusing)
    outcome = judged(DynamicTable("d", COPY, mode))
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert "d was refused though every operator in it is supported: no such thing" in outcome.reason


def test_a_query_that_spark_cannot_read_is_refused_rightly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark finds no column of FROM in QUALIFY over groups; any other refusal is a failure."""
    a = columns(R)["a"]
    kept = call("eq", window("rank", order=[a]), 1)
    groups = replace(select({"n": count_star()}, named("r"), group_by=[a]), qualify=kept)
    view = select({"n": ColumnRef("v", "n", BIGINT)}, named("v"))
    message = "Spark refuses the query: [UNRESOLVED_COLUMN.WITH_SUGGESTION] r.a"

    def refuses(text: str) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise DefinitionError(text)

        monkeypatch.setattr(Account, "create_dynamic_table", refuse)

    refuses(message)
    for tables in ((DynamicTable("d", groups),), (View("v", groups), DynamicTable("d", view))):
        assert judged(*tables).outcome is OutcomeClass.UNSUPPORTED
    assert judged(DynamicTable("d", COPY)).outcome is OutcomeClass.PRODUCT_FAILURE
    refuses("Spark refuses the query: another error")
    assert judged(DynamicTable("d", groups)).outcome is OutcomeClass.PRODUCT_FAILURE


def test_a_refused_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Account, "create_view", refusing)
    outcome = judged(View("v", COPY), DynamicTable("d", COPY))
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert "v was refused" in outcome.reason


def test_incremental_over_a_map_in_a_map_is_refused_rightly() -> None:
    for type_, due in ((map_of(STRING, INT), OutcomeClass.PASSED), (DEEP, OutcomeClass.UNSUPPORTED)):
        query = select({"a": columns(table("m", a=INT, x=type_))["a"]}, named("m"))
        assert judged(DynamicTable("d", query, RefreshMode.INCREMENTAL), type_=type_).outcome is due
        assert judged(DynamicTable("d", query), type_=type_).outcome is OutcomeClass.PASSED


def nested(levels: int) -> DynamicTable:
    query = COPY
    for level in range(levels):
        query = select({"a": columns(R, f"t{level}")["a"]}, derived(query, f"t{level}"))
    return DynamicTable("d", query)


@pytest.mark.parametrize(("levels", "outcome"), [(3, "PRODUCT_FAILURE"), (40, "UNSUPPORTED")])
def test_a_query_of_very_many_blocks_may_be_refused(
    levels: int, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Account, "create_dynamic_table", refusing)
    judgement = judged(nested(levels))
    assert judgement.outcome is OutcomeClass[outcome]
    # Not that a later refresh did not find it.
    assert judgement.reason.endswith("no such thing")


def test_blocks_of_views_and_ctes_count() -> None:
    view = View("v", nested(10).query)
    reading = select({"a": columns(R, "v")["a"]}, named("v"))
    scenario = Scenario("nested", (R,), (view, DynamicTable("d", reading)), ())
    assert nesting(scenario, reading) == 2 + nesting(scenario, view.query)
    through_a_cte = With((Cte("c", reading),), select({"a": columns(R, "c")["a"]}, named("c")))
    assert nesting(scenario, through_a_cte) == 3 + nesting(scenario, reading)
