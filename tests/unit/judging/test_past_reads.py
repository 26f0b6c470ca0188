"""What a reader sees as of an earlier data timestamp is judged against the query at that time."""

from __future__ import annotations

import pytest

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from dynamic_tables.account import Account
from dynamic_tables.definition import Definition
from dynamic_tables.errors import DefinitionError
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.in_memory import in_memory
from tests.ir import columns, named, select, table
from tests.unit.workload.shop import SHOP
from workload.dml import Insert
from workload.outcomes.results import Check, Outcome, OutcomeClass
from workload.query import Limited, SortKey
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import INT

R = table("r", k=INT, v=INT)


def judged() -> Outcome:
    return Lane(engine=in_memory()).judge(SHOP)


def test_a_scenario_reads_a_past() -> None:
    outcome = judged()
    assert outcome.outcome is OutcomeClass.PASSED
    assert outcome.states["state: read of an earlier data timestamp"] == 1


@pytest.mark.parametrize("value", [0, 9])
def test_of_equal_rows_the_table_had_those_that_it_kept(value: int) -> None:
    steps = (
        *(Commit(1, (Insert("r", ((2, 5),)),)), Create(2, "d")),
        *(Commit(3, (Insert("r", ((2, value),)),)), Refresh(4, "d", 3)),
        *(Commit(5, (Insert("r", ((7, 7),)),)), Refresh(6, "d", 5)),
    )
    first = DynamicTable("d", Limited(select(columns(R), named("r")), (SortKey("k"),), 1, 0))
    outcome = Lane(engine=in_memory()).judge(Scenario("ties", (R,), (first,), steps))
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert outcome.states["state: read of an earlier data timestamp"] == 1


def test_an_account_that_shows_its_newest_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def newest(account: Account, definition: Definition, at: int | None) -> int | None:
        return account.store.history(definition).versions[-1].version  # type: ignore[arg-type]

    monkeypatch.setattr(Account, "version_read", newest)
    lane = LaneSpec(tier="rules").build()
    outcomes = (lane.judge(scenario_at(23, QUICK, index)) for index in range(40))
    found = next(each for each in outcomes if each.outcome is OutcomeClass.PRODUCT_FAILURE)
    assert found.findings[0].check is Check.EQUALITY
    assert "gives other rows than its query had then" in found.reason


def test_an_account_that_refuses_a_past_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(account: Account, definition: Definition, at: int | None) -> int | None:
        raise DefinitionError(f"{definition.name} cannot be read at {at}")

    monkeypatch.setattr(Account, "version_read", refused)
    assert "was refused: " in judged().reason
