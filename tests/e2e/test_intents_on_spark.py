"""Intents on Spark and Delta: the same fates and the same store as one transaction after the other."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession

from protocols.data_plane.intents import Intent, IntentRow, IntentsError, rows_of
from protocols.data_plane.on_spark.ledger import INTENTS, IntentLedger
from protocols.data_plane.serial import serial
from protocols.data_plane.workloads import random_intents

pytestmark = pytest.mark.spark


def frame(spark: SparkSession, intents: Iterable[Intent]) -> DataFrame:
    return spark.createDataFrame([tuple(row) for row in rows_of(intents)], INTENTS)


def outcome(ledger: IntentLedger) -> tuple[set[int], dict[str, str | None]]:
    rolled_back = {row["id"] for row in ledger.table("rolled_back").collect()}
    return rolled_back, {row["key"]: row["val"] for row in ledger.store.collect()}


def test_epochs_are_as_one_after_the_other(spark: SparkSession, tmp_path: Path) -> None:
    intents = random_intents(Random(5), 60, 4)
    ledger = IntentLedger(spark, str(tmp_path / "ledger"))
    for part in (intents[:25], intents[25:40], intents[40:]):
        ledger.add(frame(spark, part))
    rejected, store = serial(intents)
    assert outcome(ledger) == (set(rejected), store)
    ledger.compact()
    assert outcome(ledger) == (set(), store)
    assert ledger.table("intents").count() == 0


def test_an_interrupted_epoch_is_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    intents = random_intents(Random(6), 30, 3)
    ledger = IntentLedger(spark, str(tmp_path / "ledger"))
    ledger.add(frame(spark, intents[:10]))
    # What a process leaves that dies after it wrote the store, before the row of the epoch.
    torn = spark.createDataFrame([("k0", "torn", 15, 2)], "key STRING, val STRING, id BIGINT, epoch BIGINT")
    torn.write.format("delta").mode("append").save(f"{ledger.folder}/store")
    assert "torn" not in {row["val"] for row in ledger.store.collect()}
    ledger.add(frame(spark, intents[10:]))
    rejected, store = serial(intents)
    assert outcome(ledger) == (set(rejected), store)


def test_a_decided_id_comes_never_again(spark: SparkSession, tmp_path: Path) -> None:
    ledger = IntentLedger(spark, str(tmp_path / "ledger"))
    ledger.add(spark.createDataFrame([IntentRow(5, False, "k", "v")], INTENTS))
    with pytest.raises(IntentsError, match="transaction 5 is not newer than 5"):
        ledger.add(spark.createDataFrame([IntentRow(5, False, "k", "w")], INTENTS))
    with pytest.raises(IntentsError, match="1 rows name no transaction"):
        ledger.add(spark.createDataFrame([(6, False, None, "w")], INTENTS))
