"""Document 004 with Spark as the fenced writer, and delta-rs as the other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from delta.tables import DeltaTable as SparkTable
from deltalake import DeltaTable, write_deltalake
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from protocols.fenced_delta.outcome import Landed, Operation, fails
from protocols.fenced_delta.writers.on_delta_rs import Handle, append
from protocols.fenced_delta.writers.on_spark import append_if_unchanged, overwrite_if_unchanged, replace_where

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Rows 1 and 2, each in a file of its own."""
    place = str(tmp_path / "t")
    write_deltalake(place, pa.table({"id": [1], "n": [0]}))
    append(place, pa.table({"id": [2], "n": [0]}))
    return place


def frame(spark: SparkSession, identity: int, value: int) -> DataFrame:
    return spark.createDataFrame([(identity, value)], "id BIGINT, n BIGINT")


def contents(spark: SparkSession, path: str) -> set[tuple[int, int]]:
    return {(row["id"], row["n"]) for row in spark.read.format("delta").load(path).collect()}


WRITES: Mapping[Operation, Callable[[SparkSession, str, int], None]] = {
    Operation.APPEND_IF_UNCHANGED: lambda spark, path, version: append_if_unchanged(
        spark, path, frame(spark, 5, 5), version
    ),
    Operation.OVERWRITE_IF_UNCHANGED: lambda spark, path, version: overwrite_if_unchanged(
        spark, path, frame(spark, 6, 6), version
    ),
    Operation.REPLACE_WHERE: lambda spark, path, version: replace_where(
        spark, path, frame(spark, 1, 8), "id = 1", version
    ),
}

ALONE = {
    Operation.APPEND_IF_UNCHANGED: {(1, 0), (2, 0), (5, 5)},
    Operation.OVERWRITE_IF_UNCHANGED: {(6, 6)},
    Operation.REPLACE_WHERE: {(1, 8), (2, 0)},
}


@pytest.mark.parametrize("operation", WRITES)
def test_a_fenced_write_alone_succeeds(operation: Operation, spark: SparkSession, path: str) -> None:
    WRITES[operation](spark, path, 1)
    assert contents(spark, path) == ALONE[operation]
    assert DeltaTable(path).version() == 2


@pytest.mark.parametrize("landed", Landed)
@pytest.mark.parametrize("operation", WRITES)
def test_a_fenced_write_fails_after_any_commit(
    operation: Operation, landed: Landed, spark: SparkSession, path: str
) -> None:
    Handle(path).update({"n": "50"}, "id = 1" if landed is Landed.CONFLICT else "id = 2")
    before = contents(spark, path)
    assert fails(operation, [landed])
    with pytest.raises(PySparkException, match="DELTA_CONCURRENT"):
        WRITES[operation](spark, path, 1)
    assert contents(spark, path) == before


def test_rows_for_which_the_predicate_is_null_stay(spark: SparkSession, path: str) -> None:
    append(path, pa.table({"id": [None], "n": [3]}, schema=pa.schema({"id": pa.int64(), "n": pa.int64()})))
    replace_where(spark, path, frame(spark, 1, 8), "id = 1", 2)
    assert {value for _, value in contents(spark, path)} == {8, 0, 3}


def test_rows_of_other_columns_are_refused_and_damage_nothing(spark: SparkSession, path: str) -> None:
    for columns in ("id STRING, n BIGINT", "id ARRAY<BIGINT>, n BIGINT"):
        with pytest.raises(PySparkException):
            append_if_unchanged(spark, path, spark.createDataFrame([], columns), 1)
    append_if_unchanged(spark, path, spark.createDataFrame([(7, 3)], "n BIGINT, id BIGINT"), 1)
    assert contents(spark, path) == {(1, 0), (2, 0), (3, 7)}


@pytest.mark.nightly
def test_sparks_own_update_is_not_fenced_to_what_was_read_before(spark: SparkSession, path: str) -> None:
    [read] = [row["n"] for row in spark.read.format("delta").load(path).where("id = 1").collect()]
    Handle(path).update({"n": "50"}, "id = 1")
    # The document: Spark reads the newest version when it runs, so the 50 is lost without an error.
    SparkTable.forPath(spark, path).update("id = 1", {"n": str(read + 1)})
    assert contents(spark, path) == {(1, 1), (2, 0)}
    # The same decision, fenced to what was read, is refused.
    with pytest.raises(PySparkException, match="DELTA_CONCURRENT"):
        replace_where(spark, path, frame(spark, 1, read + 1), "id = 1", 1)


def test_delta_rs_is_fenced_from_a_commit_of_spark(spark: SparkSession, path: str) -> None:
    mine = Handle(path)
    append_if_unchanged(spark, path, frame(spark, 9, 9), 1)
    mine.delete("id = 1")
    assert contents(spark, path) == {(2, 0), (9, 9)}
    stale = Handle(path)
    SparkTable.forPath(spark, path).update("id = 2", {"n": "7"})
    with pytest.raises(Exception, match=r"(?i)conflict|concurrent"):
        stale.update({"n": "n + 1"}, "id = 2")
