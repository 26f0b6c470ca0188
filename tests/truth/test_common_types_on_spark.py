"""The type in which two values meet: the harness's table and the engine's own one, each against Spark."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dynamic_tables.plan.types import common
from dynamic_tables.store.names.catalog import parse_type as engine_type
from workload.coercion import common_type
from workload.types import SCALAR, Kind, SqlType, decimal, parse_type

pytestmark = [pytest.mark.slow, pytest.mark.spark]

TYPES = [SqlType(kind) for kind in sorted(SCALAR, key=str) if kind is not Kind.DECIMAL]
TYPES += [decimal(4, 4), decimal(8, 2), decimal(18, 2), decimal(38, 10)]

PAIRS = list(combinations_with_replacement(TYPES, 2))


@pytest.fixture(scope="module")
def met(spark: SparkSession) -> dict[tuple[SqlType, SqlType], SqlType | None]:
    """The type of COALESCE of two NULLs by Spark, None where Spark refuses them; nothing runs."""

    def type_of(left: SqlType, right: SqlType) -> SqlType | None:
        text = f"SELECT coalesce(CAST(NULL AS {left}), CAST(NULL AS {right})) AS x"
        try:
            return parse_type(spark.sql(text).schema.fields[0].dataType.simpleString())
        except PySparkException:
            return None

    return {pair: type_of(*pair) for pair in PAIRS}


def is_converted(left: SqlType, right: SqlType) -> bool:
    """Whether Spark converts a text to the other type: neither table has that, because it fails on data."""
    return left != right and Kind.STRING in (left.kind, right.kind)


def test_the_harness_has_the_type_that_spark_has(met: dict[tuple[SqlType, SqlType], SqlType | None]) -> None:
    for (left, right), expected in met.items():
        wanted = None if is_converted(left, right) else expected
        assert common_type(left, right) == common_type(right, left) == wanted, (left, right)
    assert sum(type_ is not None for type_ in met.values()) > 60


def test_the_engine_has_the_type_that_spark_has(met: dict[tuple[SqlType, SqlType], SqlType | None]) -> None:
    for (left, right), expected in met.items():
        one, other = engine_type(str(left)), engine_type(str(right))
        assert one is not None
        assert other is not None
        wanted = None if is_converted(left, right) or expected is None else engine_type(str(expected))
        assert common(one, other) == wanted, (left, right)
