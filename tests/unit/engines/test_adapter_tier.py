"""An adapter's run is judged as any other; what the engine does not show is counted as not checked."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import duckdb
import pytest

from campaign.errors import CampaignError
from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec, within_limits
from engines import Capabilities, Notes, RefreshFailed, Transaction, Unsupported
from engines.engine import Engine
from engines.errors import EngineError
from engines.in_memory import InMemory
from engines.registry import ADAPTERS, find_adapter
from generators.fitting import fit
from generators.generate import scenario_at
from generators.profiles import QUICK, SMOKE
from oracle.base_tables import BaseTables
from tests.unit.engines.sample import Recomputing, lane, shop
from workload.limits import Limits, Timestamps
from workload.outcomes.results import Check, OutcomeClass
from workload.outcomes.trace import EVERYTHING, Action, Shown
from workload.scenario import DynamicTable, Refresh, Scenario
from workload.schema import Column
from workload.sql import Dialect
from workload.types import Row

NOT_SHOWN = (
    "column names and types",
    "row-id invariant",
    "row ids against a fresh initialization",
    "action invariant 1",
    "action invariant 2",
    "action invariant 3",
    "action invariant 6",
    "counts in the refresh record",
    "frontier invariant",
    "DSG phenomenon",
    "effective refresh mode",
)


def test_a_right_engine_passes_and_what_it_does_not_show_is_counted_as_not_checked() -> None:
    outcome = lane(Recomputing).judge(shop())
    assert outcome.outcome is OutcomeClass.PASSED, outcome.reason
    assert outcome.refreshes == 5
    assert dict(outcome.not_checked) == dict.fromkeys(NOT_SHOWN, 5)


def test_the_built_in_engine_shows_everything() -> None:
    outcome = lane(InMemory).judge(shop())
    assert (outcome.outcome, dict(outcome.not_checked)) == (OutcomeClass.PASSED, {})
    assert outcome.states["action: INCREMENTAL"] == 2


class Forgetful(Recomputing):
    """Never removes a row."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        self.db.execute(f"INSERT INTO {table} ({self.queries[table]}) EXCEPT ALL SELECT * FROM {table}")
        return None


def test_a_wrong_engine_is_a_product_failure_with_its_votes() -> None:
    outcome = lane(Forgetful).judge(shop())
    assert (outcome.outcome, outcome.killer) == (OutcomeClass.PRODUCT_FAILURE, Check.EQUALITY)
    finding = outcome.findings[0]
    assert (finding.table, finding.timestamp) == ("totals", 60)
    assert finding.difference is not None
    assert finding.difference.extra == ((("north", 15), 1),)
    assert finding.votes["verdict"] == "incremental bug"


def test_a_vote_reads_the_truth_that_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """A truth for each vote would take more time than all else that an engine with bugs costs.

    The engine opens one for the run, and one for each vote.
    """
    opened: list[str] = []

    class Counted(Forgetful):
        def __init__(self) -> None:
            opened.append("database")
            super().__init__()

    def tables(connection: duckdb.DuckDBPyConnection, scenario: Scenario) -> BaseTables:
        opened.append("truth")
        return BaseTables(connection, scenario)

    monkeypatch.setattr("oracle.delayed_view.BaseTables", tables)
    votes = [each.votes["verdict"] for each in lane(Counted).judge(shop()).findings]
    assert votes == ["incremental bug", "incremental bug"]
    assert opened == ["database", "truth", "database", "database"]


class Dialectal(Recomputing):
    """Its own evaluation of the query is as different from DuckDB's as its tables are."""

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        return super().create_dynamic_table(table, query.replace("SUM", "MIN"))


def test_a_difference_that_the_engines_own_evaluation_shares_is_a_divergence() -> None:
    assert lane(Dialectal).judge(shop()).outcome is OutcomeClass.DIVERGENCE


class Evaluating(Dialectal):
    """Its own evaluation is right, its tables are not."""

    def evaluate(self, query: str, columns: Sequence[Column]) -> Sequence[Row]:
        return self.db.execute(query).fetchall()


def test_the_engines_own_evaluation_is_the_third_vote() -> None:
    outcome = lane(Evaluating).judge(shop())
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert outcome.findings[0].votes["full recomputation"] == "agrees with the oracle"


class WithoutViews(Dialectal):
    """Has no views, and takes one row in a statement and one statement in a transaction."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits(views=False, single_rows=True, single_statements=True)
    )

    def create_view(self, name: str, query: str) -> None:
        raise ValueError("no views")

    def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
        (text,) = transaction.sql
        assert text.count("(") < 3, "one row"
        return super().commit(transaction)


def test_the_vote_of_first_contents_stays_within_the_limits() -> None:
    """The engine gets no view for it, which it lacks, so that a difference of dialects is told from a bug."""
    limits = WithoutViews.capabilities.limits
    over_tables = replace(
        shop(),
        definitions=tuple(DynamicTable(each.name, each.query, target_lag=1) for each in shop().definitions),
    )
    outcome = Lane(engine=Engine.of(WithoutViews), limits=limits).judge(fit(over_tables, limits))
    assert outcome.outcome is OutcomeClass.DIVERGENCE, outcome.reason


class Refusing(Recomputing):
    """Knows no views."""

    def create_view(self, name: str, query: str) -> None:
        raise Unsupported("views are not supported")


def test_a_refused_definition_is_a_declared_gap_and_no_pass() -> None:
    outcome = lane(Refusing).judge(shop())
    assert (outcome.outcome, outcome.refreshes) == (OutcomeClass.UNSUPPORTED, 0)
    assert outcome.reason == "large: views are not supported"


class Failing(Recomputing):
    """Its second refresh fails."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        if timestamp == 60:
            raise RefreshFailed("out of luck")
        return super().refresh(table, timestamp)


def test_a_refresh_that_fails_is_a_product_failure() -> None:
    outcome = lane(Failing).judge(shop())
    assert (outcome.outcome, outcome.killer) == (OutcomeClass.PRODUCT_FAILURE, Check.REFRESH_ERROR)
    assert outcome.reason == "refresh error: out of luck"


class FailingInCommits(Recomputing):
    """Maintains in the transaction, and fails there."""

    def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
        if transaction.at == 50:
            raise RefreshFailed("cannot maintain")
        return super().commit(transaction)


def test_a_transaction_that_fails_in_maintenance_is_a_product_failure_of_its_tables() -> None:
    outcome = lane(FailingInCommits).judge(shop())
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert [(f.table, f.timestamp, f.check) for f in outcome.findings] == [
        ("totals", 50, Check.REFRESH_ERROR),
        ("regions", 50, Check.REFRESH_ERROR),
    ]


class Breaking(Recomputing):
    """Loses its connection, and notes whether it was closed all the same."""

    closed = 0

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        raise ConnectionResetError("the server went away")

    def close(self) -> None:
        Breaking.closed += 1
        super().close()


def test_an_engine_that_breaks_is_judged_nothing_of_and_is_closed() -> None:
    before = Breaking.closed
    outcome = lane(Breaking).judge(shop())
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason == "ConnectionResetError: the server went away"
    assert Breaking.closed == before + 1


class Losing(Recomputing):
    """Loses DML."""

    def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
        return None


def test_base_tables_are_compared_before_anything_else() -> None:
    outcome = lane(Losing).judge(shop())
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason == "sales holds other rows after its commit than the oracle computes"


def test_a_past_data_timestamp_is_not_asked_of_an_engine_that_has_none() -> None:
    steps = shop().steps
    outcome = lane(Recomputing).judge(replace(shop(), steps=(*steps[:5], Refresh(60, "totals", 45))))
    assert outcome.outcome is OutcomeClass.UNSUPPORTED
    assert outcome.reason == (
        "totals: at time 60 the engine cannot refresh the table to the earlier data timestamp 45"
    )


class Boasting(Recomputing):
    """Says that it shows its actions, and tells the wrong one."""

    capabilities = replace(Recomputing.capabilities, shown=frozenset({Shown.ACTIONS}))

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        super().create_dynamic_table(table, query)
        return True

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        super().refresh(table, timestamp)
        return Notes(action=Action.INITIALIZE if timestamp < 50 else Action.FULL)


def test_what_an_engine_says_it_shows_is_checked() -> None:
    outcome = lane(Boasting).judge(shop())
    assert outcome.killer is Check.REFRESH_MODE
    assert "totals was refreshed by INITIALIZE" in outcome.reason
    assert "effective refresh mode" not in outcome.not_checked


@pytest.mark.parametrize("part", Shown)
def test_whatever_is_not_shown_is_named(part: Shown) -> None:
    class Silent(InMemory):
        capabilities = replace(InMemory.capabilities, shown=EVERYTHING - {part})

    outcome = lane(Silent).judge(shop())
    assert outcome.outcome is OutcomeClass.PASSED
    assert outcome.not_checked.keys() & set(NOT_SHOWN), part


def test_the_built_in_adapter_is_judged_as_its_tier_is() -> None:
    tiers = ("rules", "adapter:built-in")
    native, adapted = (LaneSpec(tier=tier, fresh_percent=100).build() for tier in tiers)
    for index in range(4):
        scenario = scenario_at(5, QUICK, index)
        one, two = native.judge(scenario), adapted.judge(scenario)
        assert (one.outcome, one.refreshes, one.checks) == (two.outcome, two.refreshes, two.checks)


def test_a_fault_of_the_built_in_engine_is_found_through_its_adapter() -> None:
    faulty = plant("join-both-at-t0", Subject()).variant
    adapter = lane(lambda: InMemory(faulty))
    outcomes = (adapter.judge(scenario_at(1, SMOKE, index)).outcome for index in range(40))
    assert OutcomeClass.PRODUCT_FAILURE in outcomes


def test_every_registered_adapter_is_found_and_others_by_module_and_class() -> None:
    assert find_adapter("built-in") is InMemory
    assert find_adapter("tests.unit.engines.sample:Recomputing") is Recomputing
    assert "built-in" in ADAPTERS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope", "no adapter 'nope'; there are: built-in"),
        ("no_such_module:Engine", "No module named 'no_such_module'; is its folder in PYTHONPATH"),
        ("campaign.errors:Nope", "campaign.errors has no class Nope derived from Adapter"),
        ("campaign.errors:CampaignError", "has no class CampaignError derived from Adapter"),
    ],
)
def test_an_adapter_that_is_none_is_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        LaneSpec(tier=f"adapter:{name}").build()


def test_faults_are_planted_in_the_built_in_tiers_only() -> None:
    with pytest.raises(CampaignError, match="faults are planted in the built-in engine"):
        LaneSpec(tier="adapter:built-in", faults=("any",)).build()


def test_a_profile_is_cut_to_the_limits_of_the_tiers_engine() -> None:
    assert within_limits(SMOKE, "rules") is SMOKE
    assert within_limits(SMOKE, "adapter:built-in") is SMOKE
    within = within_limits(SMOKE, "adapter:tests.unit.engines.sample:Recomputing")
    assert within.limits.timestamps is Timestamps.NOW
    assert within.limits.operators == Limits().operators
    assert "restore" not in within.dml


class Hanging(Recomputing):
    """A refresh that does not end by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        assert self.ended.wait(60)
        raise ConnectionResetError("ended from outside")

    def interrupt(self) -> None:
        self.ended.set()


def test_an_engine_that_hangs_is_cut() -> None:
    outcome = Lane(engine=Engine.of(Hanging, time_limit_s=0.2)).judge(shop())
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason == "HungQuery: cut after 0.2 s"
