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
from tests.depth import examples

pytestmark = [pytest.mark.nightly, pytest.mark.spark]


def frame(spark: SparkSession, intents: Iterable[Intent]) -> DataFrame:
    return spark.createDataFrame([tuple(row) for row in rows_of(intents)], INTENTS)


def outcome(ledger: IntentLedger) -> tuple[set[int], dict[str, str | None]]:
    rolled_back = {row["id"] for row in ledger.table("rolled_back").collect()}
    return rolled_back, {row["key"]: row["val"] for row in ledger.store.collect()}


def test_epochs_are_as_one_after_the_other(spark: SparkSession, tmp_path: Path) -> None:
    """Also where one was interrupted; and what is decided stays so."""
    intents = random_intents(Random(5), examples(36), 4)
    ledger = IntentLedger(spark, str(tmp_path / "ledger"))
    first, second = len(intents) // 3, 2 * len(intents) // 3
    ledger.add(frame(spark, intents[:first]))
    # What a process leaves that dies after it wrote the store, before the row of the epoch.
    left = [("k0", "torn", intents[second].id, 2)]
    torn = spark.createDataFrame(left, "key STRING, val STRING, id BIGINT, epoch BIGINT")
    torn.write.format("delta").mode("append").save(f"{ledger.folder}/store")
    assert "torn" not in {row["val"] for row in ledger.store.collect()}
    ledger.add(frame(spark, intents[first:second]))
    ledger.add(frame(spark, intents[second:]))
    rejected, store = serial(intents)
    assert outcome(ledger) == (set(rejected), store)
    ledger.compact()
    assert outcome(ledger) == (set(), store)
    assert ledger.table("intents").count() == 0
    last = max(intent.id for intent in intents)
    with pytest.raises(IntentsError, match=f"transaction {last} is not newer than {last}"):
        ledger.add(spark.createDataFrame([IntentRow(last, False, "k", "w")], INTENTS))
    with pytest.raises(IntentsError, match="1 rows name no transaction"):
        ledger.add(spark.createDataFrame([(last + 1, False, None, "w")], INTENTS))
