"""The view `to_rollback` of a batch of intents, by DataFrames; `resolve` computes the same in Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Window, functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


BROADCAST = 200_000
"""At most so many ids or keys are sent to every task."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of the fixpoint: transactions whose fate changed, operations looked at again, seconds."""

    changed: int
    looked_at: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """The ids of the transactions that are rolled back, as a column `id`, and the rounds that it took."""

    to_rollback: DataFrame
    rounds: tuple[Round, ...]


def fixpoint(
    intents: DataFrame,
    store: DataFrame,
    *,
    progress: Callable[[Round], None] = lambda done: None,
    now: Callable[[], float] = time.perf_counter,
) -> Fixpoint:
    """Returns which transactions of a batch are rolled back.

    `intents`: columns id, is_read, key, val; it is read once for each round, so cache it. `store`: columns
    key, val: what earlier transactions have left. Every operation on a key is ordered by id, and each read
    takes the last write before it, so that a key with many operations costs a sort and never pairs of them.
    After the first round only the keys that a change touches are looked at again.
    """
    rounds: list[Round] = []
    rollback = intents.select("id").limit(0)
    failed = intents.select("id", "key").limit(0)
    touched: DataFrame | None = None
    while True:
        start = now()
        part = intents if touched is None else intents.join(touched, "key", "left_semi")
        values = store if touched is None else store.join(touched, "key", "left_semi")
        # A checkpoint cuts the plan, which would grow with every round.
        still = failed.limit(0) if touched is None else failed.join(touched, "key", "left_anti")
        failed = still.unionByName(failing(part, values, rollback)).localCheckpoint()
        following = failed.select("id").distinct().localCheckpoint()
        changed = (
            following.join(rollback, "id", "left_anti")
            .unionByName(rollback.join(following, "id", "left_anti"))
            .localCheckpoint()
        )
        count = changed.count()
        rounds.append(Round(count, part.count(), now() - start))
        progress(rounds[-1])
        rollback = following
        if not count:
            return Fixpoint(rollback, tuple(rounds))
        writes = intents.where(~f.col("is_read"))
        keys = writes.join(_small(changed, count), "id", "left_semi").select("key").distinct()
        keys = keys.localCheckpoint()
        touched = _small(keys, keys.count())


def _small(rows: DataFrame, count: int) -> DataFrame:
    """Marks rows that fit into each task, so that what they are joined with is not shuffled."""
    return f.broadcast(rows) if count <= BROADCAST else rows


def failing(intents: DataFrame, store: DataFrame, rollback: DataFrame) -> DataFrame:
    """Returns id and key of each read that finds another value than it says.

    `rollback`: the ids of transactions whose writes do not count.
    """
    counted = intents.where(~f.col("is_read")).join(rollback, "id", "left_anti")
    reads = intents.where("is_read")
    # A write of NULL is a write too, so values travel in a struct (`red`). Of two writes of one transaction
    # the least value counts; the order is descending, so that it is the last one.
    operations = (
        reads.select("key", "id", f.lit(1).alias("kind"), "val", f.lit(None).alias("red"))
        .unionByName(
            counted.select("key", "id", f.lit(2).alias("kind"), "val", f.struct("val").alias("red")),
        )
        .unionByName(
            store.select(
                "key",
                # Before every transaction.
                f.lit(None).cast("bigint").alias("id"),
                f.lit(0).alias("kind"),
                "val",
                f.struct("val").alias("red"),
            )
        )
    )
    # Reads of a transaction come before its own writes, which they must not see.
    order = Window.partitionBy("key").orderBy(
        f.col("id").asc_nulls_first(), "kind", f.col("val").desc_nulls_first()
    )
    seen = f.last("red", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, 0))
    return (
        operations.withColumn("seen", seen.getField("val"))
        .where("kind = 1 AND NOT (val <=> seen)")
        .select("id", "key")
        .distinct()
    )
