"""Limits that ask the engine: what it refuses is left out before anything runs, and nothing else is."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import ClassVar

import pytest

from campaign.judging.lane import Lane
from engines import Adapter, Capabilities, Unsupported, asking
from engines.asking import limits_of, tables_of
from engines.engine import Engine
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.ir import columns, count_star, named, select, table
from tests.unit.engines.sample import Recomputing
from workload.limits import Limits
from workload.outcomes.results import OutcomeClass
from workload.scenario import DynamicTable
from workload.sql import Dialect
from workload.types import INT, STRING


class Choosy(Recomputing):
    """Refuses what its documentation does not name; such as HAVING, and each second name of a column."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits.only("filter", "group by", "inner join", "what it takes")
    )

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        if "HAVING" in query or " JOIN " in query:
            raise Unsupported("HAVING and joins are not maintained\nhere")
        return super().create_dynamic_table(table, query)


@pytest.mark.parametrize("keyed", [False, True])
def test_only_what_the_engine_takes_is_drawn(keyed: bool) -> None:
    given = replace(Choosy.capabilities, limits=replace(Choosy.capabilities.limits, keys=keyed))
    adapter = type("Choosy", (Choosy,), {"capabilities": given})
    limits = limits_of(adapter, given)
    lane, profile = Lane(engine=Engine.of(adapter), limits=limits), fitted(QUICK, limits)
    scenarios = [scenario_at(3, profile, index) for index in range(10)]
    assert {lane.judge(scenario).outcome for scenario in scenarios} == {OutcomeClass.PASSED}
    unasked = fitted(QUICK, replace(given.limits, asks=False))
    assert OutcomeClass.UNSUPPORTED in {
        lane.judge(scenario_at(3, unasked, index)).outcome for index in range(10)
    }


R = table("r", k=INT, a=STRING)
OF_R = columns(R)
KEYS = select({"k": OF_R["k"]}, named("r"))
COUNT = select({"n": count_star()}, named("r"))


def breaking(error: BaseException) -> type[Adapter]:
    def create(self: Adapter, table: DynamicTable, query: str) -> bool | None:
        raise error

    return type("Breaking", (Choosy,), {"create_dynamic_table": create})


def test_the_reason_is_the_first_line_of_what_the_engine_says() -> None:
    gap = limits_of(breaking(Unsupported("no views\nat all")), Choosy.capabilities).gap
    assert gap(KEYS) == "no views"


@pytest.mark.parametrize("error", [ValueError("a bug"), SystemExit(3)])
def test_an_error_of_another_kind_is_left_to_the_run(error: BaseException) -> None:
    assert limits_of(breaking(error), Choosy.capabilities).gap(KEYS) is None


def test_an_engine_that_hangs_is_interrupted_and_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ASK_LIMIT_S", 0.2)
    interrupted = threading.Event()

    def create(self: Adapter, table: DynamicTable, query: str) -> bool | None:
        assert interrupted.wait(60)
        raise Unsupported("interrupted")

    hanging = type(
        "Hanging",
        (Choosy,),
        {"create_dynamic_table": create, "interrupt": lambda self: interrupted.set()},
    )
    assert limits_of(hanging, Choosy.capabilities).gap(KEYS) is None
    assert interrupted.is_set()


def test_the_user_can_end_it() -> None:
    gap = limits_of(breaking(KeyboardInterrupt()), Choosy.capabilities).gap
    with pytest.raises(KeyboardInterrupt):
        gap(COUNT)


def test_a_table_has_the_columns_that_are_read_but_at_least_one() -> None:
    for query, keyed, names in ((KEYS, False, ["k"]), (COUNT, False, ["id"]), (KEYS, True, ["k", "id"])):
        (read,) = tables_of(query, keyed=keyed)
        assert (read.name, [column.name for column in read.columns]) == ("r", names)
        assert bool(read.promises.keys) == keyed
