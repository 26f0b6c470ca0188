"""Failures that were judged before an interruption are kept as if there had been none."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from threading import Event
from typing import ClassVar
from unittest.mock import Mock

import pytest

from campaign.failures.report import ShrinkBudget
from campaign.lanes.spec import LaneSpec, within_limits
from campaign.runs import campaign as campaigns
from campaign.runs.plan import CampaignPlan
from engines import Capabilities, Notes, Unsupported
from engines.registry import TIERS
from generators.profiles import QUICK
from tests.unit.engines.sample import Recomputing
from workload.limits import Limits
from workload.outcomes.results import RunSummary
from workload.scenario import DynamicTable

PLAN = CampaignPlan(seed=9, profile=QUICK, scenarios=6, workers=1)
SPEC = LaneSpec(tier="rules", faults=("join-both-at-t1",), validations=False)


@pytest.mark.nightly
def test_failures_survive_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TIERS, "rules", dataclasses.replace(TIERS["rules"], attempts=2))
    out = tmp_path / "run"
    whole = campaigns.run_plan(PLAN, SPEC, out)
    assert whole.outcomes["product_failure"]
    lines = (out / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (out / "journal.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:99])
    again = campaigns.run_plan(PLAN, SPEC, out, resume=True)
    # As text: a NaN that was written down and read again is not the same object.
    assert repr(timeless(again)) == repr(timeless(whole))


def timeless(summary: RunSummary) -> RunSummary:
    """The summary without what depends on how fast it ran."""
    failures = tuple(
        dataclasses.replace(failure, outcome=dataclasses.replace(failure.outcome, seconds=0, times={}))
        for failure in summary.failures
    )
    return dataclasses.replace(summary, seconds=0, time_split={}, failures=failures)


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
    spec = LaneSpec(tier="adapter:tests.unit.runs.test_resumed_failures:Wrong")
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
