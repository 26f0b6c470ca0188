"""`SqlAdapter`: an engine that takes SQL is its way to run a statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from campaign.judging.lane import Lane
from engines import Capabilities, RefreshFailed, Transaction, Unsupported
from engines.engine import Engine
from engines.sql_adapter import SqlAdapter
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.ir import columns, named, select, table
from workload.dml import Delete, Dml, Insert
from workload.limits import Limits
from workload.outcomes.results import OutcomeClass
from workload.scenario import DynamicTable, View
from workload.sql import Dialect
from workload.types import INT


class Mine(SqlAdapter):
    """What a user writes for SQLite."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SQLITE, limits=Limits.only("filter", "inner join", "group by", rollbacks=True)
    )
    errors = (sqlite3.Error,)

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)

    def run(self, text: str) -> Iterable[Sequence[Any]]:
        return self.db.execute(text).fetchall()


R = table("r", k=INT, v=INT)
FROM_R = select({"k": columns(R, "r")["k"]}, named("r"))
D = DynamicTable("d", FROM_R)


def opened(query: str = "SELECT k, 10 / v AS v FROM r") -> Mine:
    mine = Mine()
    mine.create_table(R, "CREATE TABLE r (k INT, v INT)")
    mine.run("INSERT INTO r VALUES (1, 2)")
    mine.create_dynamic_table(D, query)
    return mine


def transaction(*statements: Dml) -> Transaction:
    return Transaction(1, statements, {"r": R, "absent": replace(R, name="absent")}, Dialect.SQLITE)


def test_ten_lines_are_an_adapter() -> None:
    lane = Lane(engine=Engine.of(Mine))
    profile = fitted(SMOKE, Mine.capabilities.limits)
    outcomes = [lane.judge(scenario_at(1, profile, index)) for index in range(12)]
    assert {each.outcome for each in outcomes} == {OutcomeClass.PASSED}
    assert sum(each.refreshes for each in outcomes) > 20


def test_a_refresh_that_fails_leaves_the_table_and_no_transaction() -> None:
    mine = opened("SELECT k, json_extract(v, '$') AS v FROM r")
    mine.refresh("d", 1)
    mine.run("INSERT INTO r VALUES (2, 'no document')")
    with pytest.raises(RefreshFailed, match="malformed JSON"):
        mine.refresh("d", 2)
    assert mine.rows("d", R.columns) == [(1, 2)]
    assert not mine.db.in_transaction


def test_a_transaction_that_fails_is_rolled_back_and_is_no_refused_query() -> None:
    mine = opened()
    with pytest.raises(sqlite3.Error):
        mine.commit(transaction(Insert("r", ((3, 4),)), Insert("absent", ((1, 1),))))
    mine.roll_back(transaction(Delete("r", None)))
    assert mine.rows("r", R.columns) == [(1, 2)]


def test_what_the_engine_refuses_is_unsupported_and_a_mistake_of_the_adapter_is_not() -> None:
    with pytest.raises(Unsupported, match="no such function"):
        opened("SELECT absent(k) AS k FROM r")
    with pytest.raises(Unsupported, match="no such column"):
        opened().create_view("w", "SELECT x FROM r")

    class Wrong(Mine):
        def run(self, text: str) -> Iterable[Sequence[Any]]:
            return super().run(text).no_such_method()  # type: ignore[attr-defined,no-any-return]

    with pytest.raises(AttributeError):
        Wrong().create_view("w", "SELECT 1")


def test_definitions_are_dropped_as_the_engine_calls_them() -> None:
    mine = opened()
    mine.create_view("w", "SELECT k FROM r")
    mine.drop(View("w", FROM_R))
    mine.drop(D)
    assert mine.run("SELECT name FROM sqlite_master") == [("r",)]
