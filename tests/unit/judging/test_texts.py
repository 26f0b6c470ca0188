"""Who says what a text means: Spark first, DuckDB beside it; and what breaks is never taken for an answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from campaign.judging.texts import DUCKDB, SPARK, Texts
from oracle.delayed_view import DelayedView
from oracle.errors import OracleQueryError
from tests.unit.workload.shop import GIVEN_SHOP
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
