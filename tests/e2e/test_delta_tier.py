"""The `delta` tier against its twin in memory: the same scenarios give the same contents."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaign.tiers import delta, rules
from dynamic_tables.session import Settings, open_session
from generators.profiles import SMOKE
from generators.scenarios import scenario_at
from tests.unit.workload.shop import SHOP
from workload.scenario import Scenario
from workload.trace import Declared, RefreshRefused, SourceWritten, Trace

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(settings=Settings.TUNED)


def sources(trace: Trace) -> list[tuple[int, str, Counter[str]]]:
    return [
        (event.step, event.table, Counter(map(repr, event.rows)))
        for event in trace.events
        if isinstance(event, SourceWritten)
    ]


def contents(trace: Trace) -> list[tuple[int, str, int, Counter[str]]]:
    """Rows only: base tables number theirs differently, and Delta makes no version of a write of nothing."""
    return [
        (
            refreshed.step,
            refreshed.table,
            refreshed.timestamp,
            Counter(repr(row.row) for row in refreshed.contents),
        )
        for refreshed in trace.refreshes
    ]


@pytest.mark.parametrize(
    "scenario", [SHOP, *(scenario_at(3, SMOKE, index) for index in range(2))], ids=lambda s: s.name
)
def test_both_tiers_hold_the_same_rows(scenario: Scenario, tmp_path: Path, spark: SparkSession) -> None:
    in_memory = rules.run(scenario, fresh_wanted=lambda step, table: True)
    on_delta = delta.run(
        scenario, spark=spark, path=tmp_path / "account", fresh_wanted=lambda step, table: True
    )
    assert not [e for e in on_delta.events if isinstance(e, RefreshRefused | Declared)]
    assert sources(on_delta) == sources(in_memory)
    assert contents(on_delta) == contents(in_memory)
    for refreshed in on_delta.refreshes:
        assert refreshed.action is refreshed.effective_action
        if refreshed.fresh is not None:
            assert sorted(map(repr, refreshed.fresh)) == sorted(map(repr, refreshed.contents))
    assert not (tmp_path / "account").exists()
