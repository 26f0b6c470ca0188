"""The end of a run: the report asks the engine nothing again, and a late run says what it waits for."""

from __future__ import annotations

import dataclasses
from threading import Event
from typing import ClassVar
from unittest.mock import Mock

import pytest

from campaign.failures.report import ShrinkBudget
from campaign.lanes.spec import LaneSpec, within_limits
from campaign.runs import campaign as campaigns
from campaign.runs.plan import CampaignPlan
from engines import Capabilities, Notes, Unsupported
from generators.profiles import QUICK
from tests.unit.engines.sample import Recomputing
from workload.limits import Limits
from workload.scenario import DynamicTable


class Wrong(Recomputing):
    """Loses a row at each refresh but the first. Its limits ask it for each query; it refuses GROUP BY."""

    capabilities: ClassVar[Capabilities] = dataclasses.replace(
        Recomputing.capabilities, limits=Limits(asks=True)
    )

    def __init__(self) -> None:
        super().__init__()
        self.refreshed: set[str] = set()

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        if "GROUP BY" in query:
            raise Unsupported("no GROUP BY")
        return super().create_dynamic_table(table, query)

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        super().refresh(table, timestamp)
        if table in self.refreshed:
            self.db.execute(f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})")
        self.refreshed.add(table)
        return None


def test_the_report_asks_the_engine_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """7,000 failures were drawn again one after the other, each query by a new database: 15 minutes."""
    monkeypatch.setattr(campaigns, "scenario_at", Mock(side_effect=AssertionError("drawn again")))
    spec = LaneSpec(tier="adapter:tests.unit.runs.test_ends_of_runs:Wrong")
    plan = CampaignPlan(seed=9, profile=within_limits(QUICK, spec.tier), scenarios=6, workers=1)
    summary = campaigns.run_plan(plan, spec, None, shrinking=ShrinkBudget(failures=0))
    assert summary.outcomes["product_failure"]
    assert all(failure.scenario.dynamic_tables for failure in summary.failures)


def test_a_run_whose_time_is_over_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh that hung held a run of 60 s for minutes, without a word."""
    monkeypatch.setattr(campaigns, "WAITED", 0.0)
    said = Event()
    with campaigns.said_when_over(0.01, lambda text: said.set() if "time is over" in text else None):
        assert said.wait(60)


def test_a_run_that_ends_in_time_says_nothing() -> None:
    told: list[str] = []
    for budget in (None, 0.01):
        with campaigns.said_when_over(budget, told.append):
            pass
    assert told == []
