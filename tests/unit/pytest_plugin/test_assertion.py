"""What a person reads when an engine is wrong, and what happens when it is something else."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import Phase, given, settings, strategies as st

from campaign.pytest_plugin import DelayedViewViolated, assert_delayed_view_semantics
from campaign.pytest_plugin.conformance import AdapterConformance
from engines.adapter import Adapter
from tests.unit.engines.sample import Recomputing, shop
from tests.unit.engines.test_adapter_tier import Boasting, Breaking, Forgetful, Losing, Refusing
from workload.outcomes.results import OutcomeClass
from workload.scenario import Scenario

MESSAGE = """\
totals at data timestamp 60: oracle equality: the contents are not the defining query at 60: extra, 2 rows \
expected, 3 found
CREATE VIEW large AS
  SELECT
    sales.region AS region,
    sales.amount AS amount
  FROM sales
  WHERE
    sales.amount > 5
CREATE DYNAMIC TABLE totals TARGET_LAG = '1 microseconds' REFRESH_MODE = AUTO AS
  SELECT
    large.region AS region,
    SUM(large.amount) AS total
  FROM large
  GROUP BY
    large.region
what happened:
  CREATE TABLE sales (region STRING, amount INT)
    10: INSERT INTO sales VALUES ('north', 7), ('north', 8), ('south', 3), ('south', 9)
    20: CREATE VIEW large AS ...
    30: CREATE DYNAMIC TABLE totals TARGET_LAG = '1 microseconds' REFRESH_MODE = AUTO AS ...
    40: CREATE DYNAMIC TABLE regions TARGET_LAG = '1 microseconds' REFRESH_MODE = AUTO AS ...
    50: UPDATE sales SET amount = 70 WHERE (sales.region = 'north')
    60: REFRESH DYNAMIC TABLE regions
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
        (Refusing, "unsupported: large: views are not supported"),
        (Losing, "source contents: sales holds other rows after its commit"),
    ],
)
def test_what_cannot_be_judged_is_no_pass(engine: type[Adapter], message: str) -> None:
    with pytest.raises(DelayedViewViolated, match=message):
        assert_delayed_view_semantics(engine, shop())


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


def suite(engine: type[Adapter]) -> AdapterConformance:
    """The conformance tests of an engine, to be called one by one."""

    class Suite(AdapterConformance):
        adapter = engine

    return Suite()


def test_the_conformance_class_bites() -> None:
    with pytest.raises(AssertionError):
        suite(Forgetful).test_random_scenarios_pass()
    with pytest.raises(AssertionError):
        suite(Forgetful).test_every_operator_it_claims_is_maintained("filter")
    with pytest.raises(AssertionError, match="r0 holds other rows"):
        suite(Losing).test_every_statement_it_claims_does_what_the_oracle_computes("insert")
    with pytest.raises(AssertionError):
        suite(Boasting).test_random_scenarios_pass()
