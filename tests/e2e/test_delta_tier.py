"""The `delta` tier against its twin in memory: the same scenarios give the same contents."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaign.engine import Engine
from campaign.faults import plant
from campaign.lanes import Lane
from campaign.tiers import delta, rules
from dynamic_tables.session import Settings, open_session
from dynamic_tables.store.relations import Workspace
from generators.generate import scenario_at
from generators.profiles import QUICK
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from tests.unit.workload.shop import SHOP
from workload.dml import Insert
from workload.results import Check, OutcomeClass
from workload.scenario import Commit, Refresh, Scenario
from workload.trace import Declared, RefreshRefused, SourceWritten, Trace

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(settings=Settings.TUNED)


def shortest(tables: int) -> Scenario:
    """Of some random scenarios with so many dynamic tables that with the fewest steps."""
    drawn = (scenario_at(3, QUICK, index) for index in range(12))
    return min((s for s in drawn if len(s.dynamic_tables) == tables), key=lambda s: len(s.steps))


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


@pytest.mark.parametrize("scenario", [SHOP, shortest(2)], ids=lambda s: s.name)
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


def test_spark_votes_as_the_oracle_does(tmp_path: Path, spark: SparkSession) -> None:
    """The third vote of this tier: the scenario's own text on Spark, on rows that the harness chose."""
    tier = delta.DeltaTier(spark=spark, folder=tmp_path)
    voted = 0
    for index in range(3):
        scenario = scenario_at(4, QUICK, index)
        with DelayedView(scenario) as truth:
            for refreshed in rules.run(scenario, fresh_wanted=lambda step, table: False).refreshes[-2:]:
                columns = truth.columns(refreshed.table)
                expected = truth.contents(refreshed.table, refreshed.timestamp)
                actual = tier.recompute(scenario, truth, refreshed, Engine())
                assert compare(columns, expected, columns, actual) is None
                voted += 1
    assert voted > 3


def test_a_planted_fault_is_found_on_delta(tmp_path: Path, spark: SparkSession) -> None:
    tier = delta.DeltaTier(spark=spark, folder=tmp_path)
    engine = plant("version-strictly-before", Engine())
    scenario = next(
        s for s in (scenario_at(1, QUICK, i) for i in range(200)) if commits_at_a_data_timestamp(s)
    )
    assert Lane(tier=tier).judge(scenario).outcome is OutcomeClass.PASSED
    outcome = Lane(tier=tier, engine=engine).judge(scenario)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    # Which check sees it first depends on what the missed commit did.
    assert any(finding.check is Check.FRONTIER for finding in outcome.findings)


def commits_at_a_data_timestamp(scenario: Scenario) -> bool:
    """Whether a commit that surely changes something falls on the data timestamp of a later refresh."""
    inserted = {
        step.at
        for step in scenario.steps
        if isinstance(step, Commit) and any(isinstance(s, Insert) and s.rows for s in step.statements)
    }
    refreshed = {step.timestamp for step in scenario.steps if isinstance(step, Refresh)}
    return bool(inserted & refreshed) and len(scenario.steps) < 13


def test_a_query_that_hangs_is_cut_and_the_next_scenario_runs(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "SELECT count(*) FROM range(1000000) a JOIN range(1000000) b ON a.id % 7 <> b.id % 5"

    def hang(self: Workspace, text: str, leaves: object) -> object:
        return self.session.sql(endless).collect()

    lane = Lane(tier=delta.DeltaTier(spark=spark, folder=tmp_path))
    scenario = shortest(1)
    with monkeypatch.context() as hurried:
        hurried.setattr(delta, "LIMIT", 2.0)
        hurried.setattr(Workspace, "materialized", hang)
        cut = lane.judge(scenario)
    assert cut.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert "HungQuery: cut after 2 s" in cut.reason
    assert list(tmp_path.iterdir()) == []
    assert lane.judge(scenario).outcome is OutcomeClass.PASSED
