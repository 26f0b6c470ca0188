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
from tests.unit.workload.shop import SHOP
from workload.results import Check, Outcome, OutcomeClass


def judged() -> Outcome:
    return Lane(engine=in_memory()).judge(SHOP)


def test_a_scenario_reads_a_past() -> None:
    outcome = judged()
    assert outcome.outcome is OutcomeClass.PASSED
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
