"""The `spark` tier against its twin on DuckDB: the same plans, the same contents, the same verdicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

from campaign.cli.replay import as_object
from campaign.failures.attribution import DUCKDB_ONLY, MISREAD, attribution_of, replay_elsewhere
from campaign.failures.folders import read_scenario
from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from campaign.lanes.workers import Worker
from dynamic_tables.session import Settings, open_session
from dynamic_tables.store.names.relations import Workspace
from engines.engine import Engine
from engines.memory.spark_store import SparkStore
from engines.spark.on_spark import SparkPlatform
from engines.variant import Variant
from generators.generate import scenario_at
from generators.profiles import QUICK
from generators.worlds import worlds_of
from tests.in_memory import in_memory
from tests.ir import call, columns, named, select, table
from tests.misread import ALWAYS_EMPTY, KEPT, misread_groups
from tests.unit.engines.test_matched_copies import COPIES
from tests.unit.workload.shop import SHOP
from workload.dml import Delete, Insert
from workload.lift import lift
from workload.lift.kind import Lifting
from workload.outcomes.results import OutcomeClass
from workload.outcomes.trace import ChangeRow, StoredRow, Trace
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.types import INT

pytestmark = pytest.mark.spark

R = table("r", k=INT)
LAST_ONE_GOES = Scenario(
    "the last one goes",
    (R,),
    (DynamicTable("d", select({"k": columns(R)["k"]}, named("r"), distinct=True)),),
    (
        Commit(1, (Insert("r", ((1,), (1,), (2,))),)),
        Create(2, "d"),
        Commit(3, (Delete("r", call("eq", columns(R)["k"], 1)),)),
        Refresh(4, "d", 4),
    ),
)


def engine_on(spark: SparkSession, variant: Variant | None = None) -> Engine:
    """The engine on a Spark session."""
    return Engine.started(lambda: SparkPlatform(spark, variant or Variant()))


def lifted(scenario: Scenario) -> Scenario:
    lifted = lift(worlds_of(scenario, 2))
    assert isinstance(lifted, Scenario)
    return lifted


def refreshes(trace: Trace) -> list[object]:
    """Ids too: both engines number base rows alike, and the rest of an id is made of values.

    But for how a NaN is written, and which of its two zeros stands for a group.
    """

    def counted(rows: Iterable[StoredRow] | Iterable[ChangeRow]) -> Counter[str]:
        return Counter(
            re.sub(r"(?<=[( ])-0\.0(?=[,)])", "0.0", repr(row).replace(":nan", ":NaN")) for row in rows
        )

    return [
        (
            done.step,
            done.table,
            done.action,
            counted(done.contents),
            None if done.change_set is None else counted(done.change_set),
            None if done.fresh is None else counted(done.fresh),
        )
        for done in trace.refreshes
    ]


@pytest.mark.parametrize(
    "scenario",
    [SHOP, COPIES, pytest.param(lifted(scenario_at(3, QUICK, 5)), marks=pytest.mark.nightly)],
    ids=lambda s: s.name,
)
def test_both_tiers_do_the_same(scenario: Scenario, spark: SparkSession) -> None:
    always = lambda step, table: True  # noqa: E731
    on_spark = engine_on(spark).run(scenario, always)
    assert refreshes(on_spark) == refreshes(in_memory().run(scenario, always))
    assert len(on_spark.refreshes) > 1


@pytest.mark.nightly
def test_stock_settings_do_the_same(spark: SparkSession) -> None:
    scenario = min((scenario_at(3, QUICK, index) for index in range(6)), key=lambda it: len(it.steps))
    stock = open_session(settings=Settings.STOCK)
    assert stock.conf.get("spark.sql.adaptive.enabled") == "true"
    assert refreshes(engine_on(stock).run(scenario)) == refreshes(engine_on(spark).run(scenario))


def test_a_campaign_lane_lifts_its_intervals(spark: SparkSession) -> None:
    lane = Worker().lifted_lane(LaneSpec(tier="spark"))
    outcome, ran = lane.judge_as_run(scenario_at(1, QUICK, 4))
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert (LaneSpec(tier="spark").lifted, outcome.worlds > 1) == (Lifting.INTERVALS, True)
    assert ran.name.endswith(f"/x{outcome.worlds}")


def test_sparks_vote_attributes_a_query_that_the_engine_misreads(monkeypatch: pytest.MonkeyPatch) -> None:
    misread_groups(monkeypatch)
    judged = LaneSpec(tier="rules").build().judge(ALWAYS_EMPTY)
    assert judged.outcome is OutcomeClass.DIVERGENCE
    there = LaneSpec(tier="spark", fresh_percent=100).build().judge(ALWAYS_EMPTY)
    assert attribution_of(judged, as_object(there)).verdict == MISREAD


@pytest.mark.nightly
@pytest.mark.own_jvm
def test_a_divergence_is_replayed_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    misread_groups(monkeypatch)
    spec = LaneSpec(tier="rules")
    judged = spec.build().judge(ALWAYS_EMPTY)
    replay = replay_elsewhere(spec)
    assert replay is not None
    # The planted bug is in this process alone.
    assert replay(ALWAYS_EMPTY, judged).verdict == DUCKDB_ONLY


def test_versions_that_nobody_reads_are_not_given_to_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: Counter[str] = Counter()
    right = SparkStore.close

    def counting(self: SparkStore) -> None:
        versions = self.tables["r"].rows
        counts.update("given" if version.made is not None else "not given" for version in versions)
        counts["without a view"] += sum(1 for relation in self.bound if not relation.name)
        right(self)

    monkeypatch.setattr(SparkStore, "close", counting)
    assert Lane(engine=engine_on(spark)).judge(LAST_ONE_GOES).outcome is OutcomeClass.PASSED
    # The empty version before the first commit.
    assert (counts["given"], counts["not given"]) == (2, 1)
    assert counts["without a view"] > 1


def test_rows_that_cannot_be_handed_to_spark_are_no_failure_of_the_refresh_that_reads_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(type(spark), "createDataFrame", full)
    outcome = Lane(engine=engine_on(spark)).judge(LAST_ONE_GOES)
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason == "NotHandedOver: OSError: no space left on device"


def test_keys_that_are_all_constants_make_no_group_of_no_rows() -> None:
    outcome = LaneSpec(tier="spark", lifting=Lifting.NONE).build().judge(read_scenario(KEPT))
    assert outcome.outcome is OutcomeClass.PASSED, outcome.findings


def test_a_planted_fault_is_found_and_spark_itself_votes_against_it(spark: SparkSession) -> None:
    variant = plant("distinct-value-lingers", Subject()).variant
    outcome = Lane(engine=engine_on(spark, variant)).judge(LAST_ONE_GOES)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    votes = [finding.votes["verdict"] for finding in outcome.findings if finding.votes]
    assert votes[:1] == ["incremental bug"]
    assert Lane(engine=engine_on(spark)).judge(LAST_ONE_GOES).outcome is OutcomeClass.PASSED


class Hasty(SparkPlatform):
    """The platform with a short time limit."""

    time_limit_s = 2.0


def test_a_query_that_hangs_is_cut(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "SELECT count(*) FROM range(1000000) a JOIN range(1000000) b ON a.id % 7 <> b.id % 5"

    def hang(self: Workspace, text: str, leaves: object) -> object:
        return self.session.sql(endless).collect()

    monkeypatch.setattr(Workspace, "materialized", hang)
    hasty = Engine.started(lambda: Hasty(spark))
    outcome = Lane(engine=hasty).judge(LAST_ONE_GOES)
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason.startswith("HungQuery")
