"""Intents, store and fates of transactions as Delta tables, resolved epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql import functions as f

from protocols.data_plane.intents import IntentsError
from protocols.data_plane.on_spark.fixpoint import Round, fixpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INTENTS = "id BIGINT, is_read BOOLEAN, key STRING, val STRING"
EPOCHS = "epoch BIGINT, last_id BIGINT, transactions BIGINT, rolled_back BIGINT, rounds INT"


@dataclass(frozen=True, slots=True)
class Epoch:
    """The result of one batch: how many transactions it had, and how many of them were rolled back."""

    number: int
    transactions: int
    rolled_back: int
    rounds: tuple[Round, ...]


class IntentLedger:
    """A folder with four Delta tables: intents, rolled_back, store (with the id of each write), epochs.

    An epoch's ids are greater than all before, so that what was decided stays decided, and a new epoch needs
    only the store, at the keys that it reads. The row in `epochs` is written last: an epoch that was
    interrupted is taken back by the next call of `add`, before its own rows are written.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark, self.folder = spark, folder.rstrip("/")
        for name, columns in (
            ("intents", INTENTS),
            ("rolled_back", "id BIGINT"),
            ("store", "key STRING, val STRING, id BIGINT, epoch BIGINT"),
            ("epochs", EPOCHS),
        ):
            table = DeltaTable.createIfNotExists(spark).location(f"{self.folder}/{name}")
            for column in columns.split(", "):
                field, kind = column.split(" ")
                table = table.addColumn(field, dataType=kind)
            table.execute()

    def table(self, name: str) -> DataFrame:
        """Returns one of the four tables."""
        return self.spark.read.format("delta").load(f"{self.folder}/{name}")

    @property
    def store(self) -> DataFrame:
        """The last committed value by key: every write that the newest whole epoch left."""
        return self._written().select("key", "val")

    @property
    def last_id(self) -> int:
        """The greatest id that is decided; 0 if none is."""
        return int(self.table("epochs").agg(f.max("last_id")).collect()[0][0] or 0)

    def add(self, intents: DataFrame, progress: Callable[[Round], None] = lambda done: None) -> Epoch:
        """Resolves a batch of intents and writes the result; costs as much as the batch touches.

        `intents`: columns id, is_read, key, val. Raises IntentsError: a row without id or key, or an id that
        is not greater than every one decided before.
        """
        batch = intents.select("id", "is_read", "key", "val").persist()
        try:
            return self._add(batch, progress)
        finally:
            batch.unpersist()

    def _add(self, batch: DataFrame, progress: Callable[[Round], None]) -> Epoch:
        epochs = self.table("epochs").agg(f.max("epoch"), f.max("last_id")).collect()[0]
        number, decided = int(epochs[0] or 0) + 1, int(epochs[1] or 0)
        last, transactions = _checked(batch, decided)
        self._take_back(decided)
        reads = batch.where("is_read").select("key").distinct()
        values = self.store.join(reads, "key", "left_semi").persist()
        resolved = fixpoint(batch, values, progress=progress)
        values.unpersist()
        self._append("intents", batch)
        self._append("rolled_back", resolved.to_rollback)
        committed = batch.where(~f.col("is_read")).join(resolved.to_rollback, "id", "left_anti")
        self._write_store(committed, number)
        rolled_back = resolved.to_rollback.count()
        rounds = len(resolved.rounds)
        row = [(number, last, transactions, rolled_back, rounds)]
        self._append("epochs", self.spark.createDataFrame(row, EPOCHS))
        return Epoch(number, transactions, rolled_back, resolved.rounds)

    def _written(self) -> DataFrame:
        """Returns the rows of `store` that count: by key the newest of a whole epoch."""
        whole = self.table("epochs").select("epoch")
        newest = f.max_by(f.struct("val", "id"), "epoch").alias("newest")
        rows = self.table("store").join(f.broadcast(whole), "epoch", "left_semi")
        return rows.groupBy("key").agg(newest).select("key", "newest.val", "newest.id")

    def _write_store(self, committed: DataFrame, number: int) -> None:
        # Of two writes of one transaction to one key the least value counts, NULL last.
        order = f.struct(-f.col("id"), f.col("val").isNull(), f.col("val"))
        last = committed.groupBy("key").agg(f.min_by(f.struct("val", "id"), order).alias("last"))
        self._append("store", last.select("key", "last.val", "last.id", f.lit(number).alias("epoch")))

    def _append(self, name: str, rows: DataFrame) -> None:
        rows = rows.select(*(f.col(field.name).cast(field.dataType) for field in self.table(name).schema))
        rows.write.format("delta").mode("append").save(f"{self.folder}/{name}")

    def _take_back(self, decided: int) -> None:
        """Deletes what an interrupted epoch has written: the rows with greater ids than the decided ones."""
        for name in ("intents", "rolled_back", "store"):
            if self.table(name).where(f.col("id") > decided).limit(1).count():
                DeltaTable.forPath(self.spark, f"{self.folder}/{name}").delete(f"id > {decided}")

    def compact(self) -> None:
        """Removes what no result depends on: intents that are decided, and writes that are overwritten."""
        decided = self.last_id
        self._take_back(decided)
        newest = int(self.table("epochs").agg(f.max("epoch")).collect()[0][0] or 0)
        # Checkpointed, because it is read from the table that it replaces.
        kept = self._written().withColumn("epoch", f.lit(newest).cast("bigint")).localCheckpoint()
        kept.write.format("delta").mode("overwrite").save(f"{self.folder}/store")
        for name in ("intents", "rolled_back"):
            DeltaTable.forPath(self.spark, f"{self.folder}/{name}").delete(f"id <= {decided}")


def _checked(batch: DataFrame, decided: int) -> tuple[int, int]:
    """Returns greatest id and number of transactions. Raises IntentsError."""
    bad = "id IS NULL OR key IS NULL OR is_read IS NULL"
    least, last, transactions, wrong = batch.agg(
        f.min("id"), f.max("id"), f.countDistinct("id"), f.count_if(f.expr(bad))
    ).collect()[0]
    if wrong:
        raise IntentsError(
            f"{wrong} rows name no transaction, no key, or not whether they read; give all three"
        )
    if least is None:
        return decided, 0
    if least <= decided:
        raise IntentsError(
            f"transaction {least} is not newer than {decided}, which is decided; give it a greater id"
        )
    return int(last), int(transactions)
