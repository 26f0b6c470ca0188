"""What a person reads when an engine is wrong, and what happens when it is something else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import pytest
from hypothesis import Phase, given, settings, strategies as st

from campaign.pytest_plugin import DelayedViewViolated, assert_delayed_view_semantics, conformance, kit
from campaign.pytest_plugin.conformance import AdapterConformance
from campaign.pytest_plugin.scenarios import counted
from engines.adapter import Adapter, Capabilities, Notes, Transaction, Unsupported
from tests.unit.engines.sample import Recomputing, lane, shop
from tests.unit.engines.test_adapter_tier import Boasting, Breaking, Dialectal, Forgetful, Losing, Refusing
from tests.unit.engines.test_rollbacks import SeesThem
from workload.limits import NO_LIMITS, Limits, Timestamps
from workload.outcomes.results import OutcomeClass
from workload.scenario import DynamicTable, Scenario
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import DOUBLE, INT, Kind, Row

MESSAGE = """\
totals at data timestamp 60: oracle equality: the contents are not the defining query at 60: extra, 2 rows \
expected, 3 found
view large AS
  SELECT
    sales.region AS region,
    sales.amount AS amount
  FROM sales
  WHERE
    sales.amount > 5
dynamic table totals AS
  SELECT
    large.region AS region,
    CAST(SUM(large.amount) AS BIGINT) AS total
  FROM large
  GROUP BY
    large.region
what happened:
  CREATE TABLE sales (region VARCHAR, amount INT)
    10: INSERT INTO sales VALUES ('north', 7), ('north', 8), ('south', 3), ('south', 9)
    20: view large AS ...
    30: dynamic table totals AS ...
    40: dynamic table regions AS ...
    50: UPDATE sales SET amount = 70 WHERE (sales.region = 'north')
    60: refresh regions
expected (-) and found (+):
  region STRING | total BIGINT
+ 'north'       | 15
incremental bug: the engine's full recomputation agrees with the oracle
engine Forgetful, scenario shop, 1 more finding"""


def test_the_message_names_table_timestamp_query_history_and_rows() -> None:
    with pytest.raises(DelayedViewViolated) as caught:
        assert_delayed_view_semantics(Forgetful, shop(), shrink=0)
    assert str(caught.value) == MESSAGE


def test_a_failure_is_shrunk_and_kept() -> None:
    with pytest.raises(DelayedViewViolated) as caught:
        assert_delayed_view_semantics(Forgetful, shop())
    small = caught.value.scenario
    assert (len(small.definitions), len(small.steps)) == (1, 4)
    assert len(str(caught.value).splitlines()) <= 16
    assert caught.value.outcome.outcome is OutcomeClass.PRODUCT_FAILURE


def test_a_right_engine_passes() -> None:
    assert assert_delayed_view_semantics(Recomputing, shop()).outcome is OutcomeClass.PASSED


def test_the_engines_own_exception_comes_through() -> None:
    with pytest.raises(ConnectionResetError, match="the server went away"):
        assert_delayed_view_semantics(Breaking, shop())


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (Losing, "source contents: sales holds other rows after its commit"),
    ],
)
def test_what_cannot_be_judged_is_no_pass(engine: type[Adapter], message: str) -> None:
    with pytest.raises(DelayedViewViolated, match=message):
        assert_delayed_view_semantics(engine, shop())


@pytest.mark.parametrize(
    ("engine", "message"),
    [(Refusing, "unsupported: large: views are not supported"), (Dialectal, "divergence: stored contents")],
)
def test_a_scenario_that_says_nothing_about_the_engine_is_a_skip_with_its_reason(
    engine: type[Adapter], message: str
) -> None:
    """Among scenarios of the fixture it is counted, and they go on; of none judged the test is skipped."""
    with pytest.raises(pytest.skip.Exception, match=message):
        assert_delayed_view_semantics(engine, shop())

    def among(*engines: type[Adapter]) -> list[OutcomeClass]:
        each = zip(engines, counted(iter([shop()] * len(engines))), strict=True)
        return [assert_delayed_view_semantics(engine, one).outcome for engine, one in each]

    with pytest.warns(UserWarning, match=f"1 of 2 scenarios were not judged: 1: {message}"):
        judged = among(engine, Recomputing)
    assert judged[1] is OutcomeClass.PASSED
    with pytest.raises(pytest.skip.Exception, match=f"2 of 2 scenarios were not judged: 2: {message}"):
        among(engine, engine)


def test_an_engine_is_given_as_a_class() -> None:
    with pytest.raises(TypeError, match="give the Adapter class: each run needs an empty database"):
        assert_delayed_view_semantics(cast(Any, Recomputing()), shop())


def test_hypothesis_shrinks_by_itself() -> None:
    tried: list[Scenario] = []

    @settings(phases=[Phase.generate], max_examples=1, database=None, deadline=None)
    @given(st.just(shop()))
    def judged(scenario: Scenario) -> None:
        def counting() -> Adapter:
            tried.append(scenario)
            return Forgetful()

        assert_delayed_view_semantics(counting, scenario)

    with pytest.raises(DelayedViewViolated):
        judged()
    assert len(tried) < 20


class Forgets(Recomputing):
    """Loses its queries when it is opened again, and does not refresh what it does not know."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=Limits(restarts=True))

    def restart(self) -> None:
        self.queries.clear()

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        return super().refresh(table, timestamp) if table in self.queries else None


def suite(engine: type[Adapter]) -> AdapterConformance:
    """The conformance tests of an engine, to be called one by one."""

    class Suite(AdapterConformance):
        adapter = engine

    return Suite()


class WithoutHeads(Recomputing):
    """Reads no names of columns in the head of a CTE."""

    def evaluate(self, query: str, columns: Sequence[Column]) -> Sequence[Row] | None:
        if re.search(r"WITH \w+\(", query):
            raise ValueError('near "(": syntax error')
        return self.db.execute(query).fetchall()


def test_the_conformance_class_bites() -> None:
    with pytest.raises(AssertionError, match=r"`evaluate` raises ValueError: near .* error; for: WITH"):
        suite(WithoutHeads).test_it_answers_queries_with_the_rows_in_their_text()
    with pytest.raises(pytest.skip.Exception, match="it has no `evaluate`"):
        suite(Recomputing).test_it_answers_queries_with_the_rows_in_their_text()
    with pytest.raises(AssertionError):
        suite(Forgetful).test_random_scenarios_pass()
    with pytest.raises(AssertionError):
        suite(Forgetful).test_every_operator_it_claims_is_maintained("filter")
    with pytest.raises(AssertionError, match="r0 holds other rows"):
        suite(Losing).test_every_statement_it_claims_does_what_the_oracle_computes("insert")
    with pytest.raises(AssertionError):
        suite(Boasting).test_random_scenarios_pass()


def test_the_conformance_class_says_what_differs_and_how_to_judge_that_alone() -> None:
    with pytest.raises(AssertionError) as caught:
        suite(Forgetful).test_every_operator_it_claims_is_maintained("filter")
    said, command = str(caught.value).splitlines()
    assert re.match(r"smoke-7-\d+: The check 'oracle equality' failed on table \w+ at .*rows? expected", said)
    index = said.split(":")[0].rpartition("-")[2]
    tier = f"adapter:{Forgetful.__module__}:Forgetful"
    assert command == (f"  dvs fuzz --tier {tier} --profile smoke --seed 7 --first {index} --scenarios 1")
    # No command draws these statements.
    with pytest.raises(AssertionError) as caught:
        suite(Losing).test_every_statement_it_claims_does_what_the_oracle_computes("insert")
    said, created, inserted = str(caught.value).splitlines()[:3]
    assert said.startswith("insert 0: The check 'source contents' failed on table r0")
    assert created.startswith("  CREATE TABLE r0 (")
    assert inserted.startswith("    10: INSERT INTO r0")


def test_values_that_came_back_as_others_are_shown_as_in_reports() -> None:
    class Rounding(Recomputing):
        def rows(self, name: str, columns: Sequence[Column]) -> Sequence[Row]:
            return [(k, None if a is None else max(a, -1.0)) for k, a in super().rows(name, columns)]

    with pytest.raises(AssertionError) as caught:
        suite(Rounding).test_values_of_every_type_come_back_as_they_were_written(DOUBLE)
    assert "wrong value: " in str(caught.value)
    assert "\n  k INT | a DOUBLE\n- 2     | -" in str(caught.value)


class Bare(Recomputing):
    """Stores nothing, so that no statement writes anything."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB,
        limits=Limits.only("select", "no null", types={Kind.INT}, stores=lambda value, _: False),
    )


class Dropping(Recomputing):
    """Refuses every query by its limits, so that none is left that could be dropped."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits.only("select", drops=True, gap=lambda query: "none")
    )


class ByCommit(Recomputing):
    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits.only("select", drops=True, timestamps=Timestamps.COMMIT)
    )


class Everything(Recomputing):
    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=NO_LIMITS)


@pytest.mark.parametrize(
    ("engine", "test", "reason"),
    [
        (Bare, "names_are_given_again", "its limits have no drops"),
        (Dropping, "names_are_given_again", "none of 5 scenarios within its limits drops a definition"),
        (ByCommit, "names_are_given_again", "where every commit maintains the tables"),
        (Bare, "restarts_and_rollbacks_leave_no_trace", "its limits have neither restarts nor rollbacks"),
        (Everything, "what_is_beyond_its_limits_is_refused_and_not_wrong", "is beyond its limits"),
        (Bare, "what_it_claims_to_show_is_there", "it claims to show nothing"),
    ],
)
def test_what_has_nothing_to_test_is_skipped_and_says_why(
    engine: type[Adapter], test: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These tests passed without having asked the engine for anything, or failed by `assert False`."""
    monkeypatch.setattr(conformance, "MAX_DRAWN", 5)
    monkeypatch.setattr(conformance, "MAX_SEARCHED", 20)
    with pytest.raises(pytest.skip.Exception, match=reason):
        getattr(suite(engine), f"test_{test}")()


def test_no_value_and_no_statement_is_no_pass() -> None:
    with pytest.raises(pytest.skip.Exception, match="store no value of type INT"):
        suite(Bare).test_values_of_every_type_come_back_as_they_were_written(INT)
    with pytest.raises(pytest.skip.Exception, match="none of 10 scenarios within its limits has INSERT"):
        suite(Bare).test_every_statement_it_claims_does_what_the_oracle_computes("insert")


def test_the_kit_says_why_tests_were_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    skipped = "from pytest import skip\n\n\ndef test_drops():\n    skip('its limits have no drops')\n"
    monkeypatch.setattr(kit, "TEST_FILE", skipped)
    assert kit.run_kit("any")["test_drops"].text == "0 of 1 passed, 1 skipped: its limits have no drops"


@pytest.mark.parametrize("engine", [Forgets, SeesThem])
def test_the_conformance_class_restarts_and_rolls_back(engine: type[Adapter]) -> None:
    """Both engines are right as long as nobody restarts them, or rolls a transaction back."""
    assert lane(engine).judge(shop()).outcome is OutcomeClass.PASSED
    with pytest.raises(AssertionError):
        suite(engine).test_restarts_and_rollbacks_leave_no_trace()
    suite(Recomputing).test_restarts_and_rollbacks_leave_no_trace()


def test_the_conformance_class_asks_for_what_is_claimed_alone() -> None:
    """One kind of query that an engine refuses made 15 of its 27 tests fail."""
    few = suite(RefusesViews)
    few.test_random_scenarios_pass()
    few.test_every_operator_it_claims_is_maintained("filter")
    with pytest.raises(pytest.fail.Exception, match="scenarios with a left join was judged, such as: d"):
        few.test_every_operator_it_claims_is_maintained("left join")


class RefusesViews(Recomputing):
    """Refuses a kind of join that its limits claim."""

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        return super().create_dynamic_table(table, self.joined_inside(query))

    def create_view(self, name: str, query: str) -> None:
        super().create_view(name, self.joined_inside(query))

    def joined_inside(self, query: str) -> str:
        """The query, if it has no such join."""
        if "LEFT JOIN" in query:
            raise Unsupported("no outer joins")
        return query


def test_tables_and_values_have_the_shapes_of_the_limits() -> None:
    class Narrow(Recomputing):
        capabilities: ClassVar[Capabilities] = Capabilities(
            dialect=Dialect.DUCKDB, limits=Limits(keys=True, nulls=False, single_rows=True)
        )

        def create_table(self, table: Table, sql: str) -> None:
            assert table.promises.keys == (("id",),)
            assert "PRIMARY KEY" in sql
            super().create_table(table, sql)

        def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
            assert all("), (" not in text and "NULL" not in text for text in transaction.sql)
            return super().commit(transaction)

    suite(Narrow).test_values_of_every_type_come_back_as_they_were_written(INT)
    suite(Narrow).test_every_statement_it_claims_does_what_the_oracle_computes("update")
    suite(Narrow).test_databases_are_separate()
