"""Who says what a text means: Spark first, DuckDB beside it; and what breaks is never taken for an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from campaign.judging.lane import Lane
from campaign.judging.texts import DUCKDB, SPARK, Texts
from engines.engine import Engine
from engines.in_memory import InMemory
from oracle.delayed_view import DelayedView
from oracle.errors import OracleError, OracleQueryError, OracleTimeout
from tests.unit.workload.shop import GIVEN_SHOP
from workload.outcomes.results import OutcomeClass
from workload.query import Verbatim
from workload.types import Row


class ArithmeticException(Exception):  # the name that Spark gives it
    """As pyspark raises where a query fails on its data."""


def test_spark_is_the_truth_and_duckdb_a_second_voice() -> None:
    with DelayedView(GIVEN_SHOP) as truth:
        alike = Texts(GIVEN_SHOP, truth, lambda table, timestamp: [(-1,)])
        assert (alike.contents("negative", 1), alike.voices) == (((-1,),), {"negative": {SPARK, DUCKDB}})
        other = Texts(GIVEN_SHOP, truth, lambda table, timestamp: [(7,)])
        assert (other.contents("negative", 1), other.voices) == (((7,),), {"negative": {SPARK}})
        alone = Texts(GIVEN_SHOP, truth)
        assert (alone.contents("negative", 1), alone.voices) == (((-1,),), {"negative": {DUCKDB}})


class Hurried(DelayedView):
    """DuckDB never answers in time."""

    asked = 0

    def query_rows(self, name: str, timestamp: int) -> tuple[Row, ...]:
        Hurried.asked += 1
        raise OracleTimeout("no answer within 20 s")


def test_a_second_voice_that_takes_too_long_is_silent_and_asked_once() -> None:
    with Hurried(GIVEN_SHOP) as truth:
        texts = Texts(GIVEN_SHOP, truth, lambda table, timestamp: [(-1,)])
        assert [texts.contents("negative", at) for at in (1, 2)] == [((-1,),)] * 2
        assert texts.voices == {"negative": {SPARK}}
        assert Hurried.asked == 1


def test_a_translation_that_duckdb_cannot_read_says_nothing_of_failures() -> None:
    """Whether rows that never met make it fail is then asked of the engine's own SQL."""
    negative = GIVEN_SHOP.definition("negative")
    assert isinstance(negative.query, Verbatim)
    query = replace(negative.query, translated="SELECT is_variant_null(k) AS k FROM c")
    definitions = tuple(
        replace(d, query=query) if d.name == "negative" else d for d in GIVEN_SHOP.definitions
    )
    with DelayedView(replace(GIVEN_SHOP, definitions=definitions)) as truth:
        spoken = Texts(GIVEN_SHOP, truth, lambda table, timestamp: [(-1,)])
        assert not spoken.fails_over_both("negative", 1, 2)
        with pytest.raises(OracleError, match="is_variant_null"):
            Texts(GIVEN_SHOP, truth).fails_over_both("negative", 1, 2)


def test_the_only_voice_that_takes_too_long_is_no_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Time is a bound: what DuckDB did not answer was not judged."""
    monkeypatch.setattr("campaign.judging.judge.LIMIT_S", 0.2)
    negative = GIVEN_SHOP.definition("negative")
    assert isinstance(negative.query, Verbatim)
    endless = "SELECT CAST(COUNT(*) AS INTEGER) AS k FROM range(10000000000) AS r(i)"
    query = replace(negative.query, translated=endless)
    definitions = tuple(
        replace(d, query=query) if d.name == "negative" else d for d in GIVEN_SHOP.definitions
    )
    outcome = Lane(engine=Engine.of(InMemory)).judge(replace(GIVEN_SHOP, definitions=definitions))
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert "no answer within 0.2 s" in outcome.reason


def test_an_error_of_spark_is_the_querys_only_where_its_data_are_at_fault() -> None:
    def fails_on_data(table: str, timestamp: int) -> Sequence[Row]:
        raise ArithmeticException("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")

    def breaks(table: str, timestamp: int) -> Sequence[Row]:
        raise ConnectionError("the JVM is gone")

    with DelayedView(GIVEN_SHOP) as truth:
        with pytest.raises(OracleQueryError, match="DIVIDE_BY_ZERO"):
            Texts(GIVEN_SHOP, truth, fails_on_data).contents("negative", 1)
        with pytest.raises(ConnectionError):
            Texts(GIVEN_SHOP, truth, breaks).contents("negative", 1)
