"""Failures that were judged before an interruption are kept as if there had been none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from campaign.lanes.spec import LaneSpec
from campaign.runs import campaign as campaigns
from campaign.runs.plan import CampaignPlan
from engines.registry import TIERS
from generators.profiles import QUICK
from workload.outcomes.results import RunSummary

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
