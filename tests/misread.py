"""An engine that misreads a query: the bug that the 18,018th scenario of a long run found in the renderer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from campaign.failures.folders import read_scenario
from dynamic_tables.plan.nodes import Aggregate
from dynamic_tables.plan.written import render
from workload.scenario import Scenario

KEPT = Path(__file__).parent.parent / "corpus" / "grouped-by-a-constant-over-no-rows.json"
ALWAYS_EMPTY: Scenario = replace(read_scenario(KEPT), steps=read_scenario(KEPT).steps[:1])
"""Its table has no rows: no change set gives the bug away, and the engine's own plan in full is wrong too."""


def misread_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on plans that group by constants alone are written without GROUP BY."""
    right = render._Renderer.aggregate  # the bug sat there

    def wrong(self: render._Renderer, plan: Aggregate) -> str:
        return right(self, plan).replace(f" GROUP BY {render.ONE_GROUP}", "")

    monkeypatch.setattr(render._Renderer, "aggregate", wrong)
