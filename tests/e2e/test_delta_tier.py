"""The `delta` tier against its twin in memory: the same scenarios give the same contents."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.lane import Lane
from campaign.judging.vote import recomputation
from campaign.lanes.spec import LaneSpec
from dynamic_tables.store.names.relations import Workspace
from engines.callers import drawn
from engines.engine import Engine
from engines.spark.on_delta import DeltaPlatform
from engines.variant import Variant
from generators.generate import scenario_at
from generators.profiles import QUICK
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from tests.failing import SEARCHED
from tests.in_memory import in_memory
from tests.unit.engines.sample import shop
from tests.unit.workload.shop import SHOP
from workload.outcomes.results import Check, OutcomeClass
from workload.outcomes.trace import Declared, RefreshRefused, SourceWritten, Trace
from workload.scenario import Refresh, RefreshMode, Scenario

pytestmark = pytest.mark.spark


def engine_on(
    spark: SparkSession, folder: Path, variant: Variant | None = None, time_limit_s: float = 1800.0
) -> Engine:
    """The engine on Delta tables below a folder."""
    return Engine.started(
        lambda: DeltaPlatform(
            spark=spark, folder=folder, variant=variant or Variant(), time_limit_s=time_limit_s
        )
    )


LAYERED = shop("a table over a table over a view")
ONE_TABLE = replace(
    LAYERED,
    definitions=LAYERED.definitions[:2],
    steps=(*LAYERED.steps[:3], LAYERED.steps[4], Refresh(60, "totals", 60)),
)
AT_THE_COMMIT = replace(ONE_TABLE, steps=(*ONE_TABLE.steps[:4], Refresh(60, "totals", 50)))
"""Its last refresh is to the very time of a commit."""


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


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", [SHOP, LAYERED], ids=lambda s: s.name)
def test_both_tiers_hold_the_same_rows(scenario: Scenario, tmp_path: Path, spark: SparkSession) -> None:
    expected = in_memory().run(scenario)
    on_delta = engine_on(spark, tmp_path).run(scenario, lambda step, table: step % 3 == 0)
    assert not [e for e in on_delta.events if isinstance(e, RefreshRefused | Declared)]
    assert sources(on_delta) == sources(expected)
    assert contents(on_delta) == contents(expected)
    assert any(refreshed.fresh is not None for refreshed in on_delta.refreshes)
    for refreshed in on_delta.refreshes:
        assert refreshed.action is refreshed.effective_action
        if refreshed.fresh is not None:
            assert sorted(map(repr, refreshed.fresh)) == sorted(map(repr, refreshed.contents))
    assert list(tmp_path.iterdir()) == [], "the folder of the scenario is removed"


def test_spark_votes_as_the_oracle_does(tmp_path: Path, spark: SparkSession) -> None:
    """The third vote of this tier: the scenario's own text on Spark, on rows that the harness chose."""
    engine = engine_on(spark, tmp_path)
    voted = 0
    for index in range(3):
        scenario = scenario_at(4, QUICK, index)
        with DelayedView(scenario) as truth:
            for refreshed in in_memory().run(scenario).refreshes[-2:]:
                columns = truth.columns(refreshed.table)
                expected = truth.contents(refreshed.table, refreshed.timestamp)
                actual = engine.recompute(
                    recomputation(scenario, truth, refreshed.table, refreshed.timestamp)
                )
                assert compare(columns, expected, columns, actual) is None
                voted += 1
    assert voted > 3


def test_a_planted_fault_is_found_on_delta(tmp_path: Path, spark: SparkSession) -> None:
    subject = plant("version-strictly-before", Subject())
    assert Lane(engine=engine_on(spark, tmp_path)).judge(AT_THE_COMMIT).outcome is OutcomeClass.PASSED
    faulty = Lane(engine=engine_on(spark, tmp_path, variant=subject.variant), recording=subject.recording)
    outcome = faulty.judge(AT_THE_COMMIT)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    # Which check sees it first depends on what the missed commit did.
    assert any(finding.check is Check.FRONTIER for finding in outcome.findings)


def called_with(*settings: str) -> Scenario:
    """A scenario in which the first process gives the engine a session with some settings."""
    for count in range(1, 100):
        unused = replace(ONE_TABLE.tables[0], name="unused", columns=ONE_TABLE.tables[0].columns[:1] * count)
        unused = replace(
            unused, columns=tuple(replace(c, name=f"c{place}") for place, c in enumerate(unused.columns))
        )
        scenario = replace(ONE_TABLE, tables=(*ONE_TABLE.tables, unused))
        if drawn(scenario, 1).keys() >= set(settings):
            return scenario
    raise AssertionError(f"{settings} are never drawn")


@pytest.mark.nightly
def test_first_rows_of_keys_are_kept_and_a_place_that_is_not_held_is_found(
    tmp_path: Path, spark: SparkSession
) -> None:
    fault = "first-row-nobody-moves-up"
    in_memory = LaneSpec(tier="rules", faults=(fault,)).build()
    drawn_scenarios = (scenario_at(3, QUICK, index) for index in range(SEARCHED))
    scenario = next(
        each
        for each in drawn_scenarios
        # An AUTO table may choose FULL on Delta, where nothing is kept.
        if "first of each key" in each.intents
        and each.dynamic_tables[0].mode is RefreshMode.INCREMENTAL
        and in_memory.judge(each).outcome is OutcomeClass.PRODUCT_FAILURE
    )
    assert Lane(engine=engine_on(spark, tmp_path)).judge(scenario).outcome is OutcomeClass.PASSED
    variant = plant(fault, Subject()).variant
    outcome = Lane(engine=engine_on(spark, tmp_path, variant=variant)).judge(scenario)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE


@pytest.mark.nightly
@pytest.mark.parametrize("fault", ["every-setting-taken-over", "commit-unchecked", "commit-over-another"])
def test_faults_that_only_delta_shows_are_found(tmp_path: Path, spark: SparkSession, fault: str) -> None:
    # With these Delta skips the second INSERT into a table, and says nothing.
    scenario = called_with("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion")
    variant = plant(fault, Subject()).variant
    outcome = Lane(engine=engine_on(spark, tmp_path, variant=variant)).judge(scenario)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE, outcome.reason
    if fault == "commit-unchecked":
        assert "began from the same contents" in str(outcome.findings)
        assert Lane(engine=engine_on(spark, tmp_path)).judge(scenario).outcome is OutcomeClass.PASSED


@pytest.mark.nightly
def test_a_query_that_hangs_is_cut_and_the_next_scenario_runs(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "SELECT count(*) FROM range(1000000) a JOIN range(1000000) b ON a.id % 7 <> b.id % 5"

    def hang(self: Workspace, text: str, leaves: object, *, few: bool) -> object:
        return self.session.sql(endless).collect()

    with monkeypatch.context() as hanging:
        hanging.setattr(Workspace, "materialized", hang)
        cut = Lane(engine=engine_on(spark, tmp_path, time_limit_s=2.0)).judge(ONE_TABLE)
    assert cut.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert "HungQuery: cut after 2 s" in cut.reason
    assert list(tmp_path.iterdir()) == []
    assert Lane(engine=engine_on(spark, tmp_path)).judge(ONE_TABLE).outcome is OutcomeClass.PASSED
