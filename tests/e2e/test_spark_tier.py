"""The `spark` tier against its twin on DuckDB: the same plans, the same contents, the same verdicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest

from campaign.cli.replay import as_object
from campaign.engine import Engine
from campaign.faults import plant
from campaign.folders import read_scenario
from campaign.lanes import Lane, LaneSpec, Lifting
from campaign.lifting import lane_of
from campaign.settling import DUCKDB_ONLY, MISREAD, answer_of, asked_elsewhere
from campaign.tiers import rules, spark, watchdog
from campaign.tiers.spark import SparkTier
from campaign.tiers.spark_store import SparkStore
from dynamic_tables.session import Settings
from dynamic_tables.store.relations import Workspace
from generators.generate import scenario_at
from generators.profiles import QUICK, SMOKE
from generators.worlds import worlds_of
from tests.ir import call, columns, named, select, table
from tests.misread import ALWAYS_EMPTY, KEPT, misread_groups
from tests.unit.workload.shop import SHOP
from workload.dml import Delete, Insert
from workload.lift import lift
from workload.results import OutcomeClass
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.trace import ChangeRow, StoredRow, Trace
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


@pytest.fixture(scope="module")
def tier() -> SparkTier:
    return SparkTier.start(Settings.TUNED)


def lifted(scenario: Scenario) -> Scenario:
    found = lift(worlds_of(scenario, 4))
    assert isinstance(found, Scenario)
    return found


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
    [SHOP, scenario_at(3, QUICK, 1), scenario_at(3, SMOKE, 2), lifted(scenario_at(3, QUICK, 5))],
    ids=lambda s: s.name,
)
def test_both_tiers_do_the_same(scenario: Scenario, tier: SparkTier) -> None:
    always = lambda step, table: True  # noqa: E731
    on_spark = tier.run(scenario, Engine(), always)
    assert refreshes(on_spark) == refreshes(rules.run(scenario, fresh_wanted=always))
    assert len(on_spark.refreshes) > 1


def test_stock_settings_do_the_same(tier: SparkTier) -> None:
    scenario = scenario_at(3, QUICK, 1)
    never = lambda step, table: False  # noqa: E731
    stock = SparkTier.start(Settings.STOCK)
    assert stock.spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert refreshes(stock.run(scenario, Engine(), never)) == refreshes(tier.run(scenario, Engine(), never))


def test_a_campaign_lane_lifts_its_intervals(tier: SparkTier) -> None:
    lane = lane_of(LaneSpec(tier="spark"))
    outcome, ran = lane.take(scenario_at(1, QUICK, 3))
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert (LaneSpec(tier="spark").lifted, outcome.worlds > 1) == (Lifting.INTERVALS, True)
    assert ran.name.endswith(f"/x{outcome.worlds}")


def test_a_query_that_the_engine_misreads_is_settled_by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    misread_groups(monkeypatch)
    found = LaneSpec(tier="rules").build().judge(ALWAYS_EMPTY)
    assert found.outcome is OutcomeClass.DIVERGENCE
    there = LaneSpec(tier="spark", fresh_percent=100).build().judge(ALWAYS_EMPTY)
    assert answer_of(found, as_object(there)).verdict == MISREAD


def test_a_process_of_its_own_is_asked_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    misread_groups(monkeypatch)
    spec = LaneSpec(tier="rules")
    found = spec.build().judge(ALWAYS_EMPTY)
    ask = asked_elsewhere(spec)
    assert ask is not None
    # The planted bug is in this process alone.
    assert ask(ALWAYS_EMPTY, found).verdict == DUCKDB_ONLY


def test_versions_that_nobody_reads_are_not_given_to_spark(
    tier: SparkTier, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Counter[str] = Counter()
    right = SparkStore.close

    def counting(self: SparkStore) -> None:
        versions = self.tables["r"].rows
        found.update("given" if version.made is not None else "not given" for version in versions)
        found["without a view"] += sum(1 for relation in self.bound if not relation.name)
        right(self)

    monkeypatch.setattr(SparkStore, "close", counting)
    assert Lane(tier=tier).judge(LAST_ONE_GOES).outcome is OutcomeClass.PASSED
    # The empty version before the first commit.
    assert (found["given"], found["not given"]) == (2, 1)
    assert found["without a view"] > 1


def test_rows_that_cannot_be_handed_to_spark_are_no_failure_of_the_refresh_that_reads_them(
    tier: SparkTier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(type(tier.spark), "createDataFrame", full)
    outcome = Lane(tier=tier).judge(LAST_ONE_GOES)
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason == "NotHandedOver: OSError: no space left on device"


def test_keys_that_are_all_constants_make_no_group_of_no_rows() -> None:
    outcome = LaneSpec(tier="spark", lifting=Lifting.NONE).build().judge(read_scenario(KEPT))
    assert outcome.outcome is OutcomeClass.PASSED, outcome.findings


def test_a_planted_fault_is_found_and_spark_itself_votes_against_it(tier: SparkTier) -> None:
    lane = Lane(tier=tier, engine=plant("distinct-value-lingers", Engine()))
    outcome = lane.judge(LAST_ONE_GOES)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    votes = [finding.votes["verdict"] for finding in outcome.findings if finding.votes]
    assert votes[:1] == ["incremental bug"]
    assert Lane(tier=tier).judge(LAST_ONE_GOES).outcome is OutcomeClass.PASSED


def test_a_query_that_hangs_is_cut(tier: SparkTier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "LIMIT", 2.0)
    endless = "SELECT count(*) FROM range(1000000) a JOIN range(1000000) b ON a.id % 7 <> b.id % 5"

    def hang(self: Workspace, text: str, leaves: object) -> object:
        return self.session.sql(endless).collect()

    monkeypatch.setattr(Workspace, "materialized", hang)
    outcome = Lane(tier=tier).judge(LAST_ONE_GOES)
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason.startswith("HungQuery")
    assert watchdog.LIMIT > 2.0
