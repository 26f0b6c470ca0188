"""What an epoch of intents costs on Spark, round by round, and what a small one costs after it.

python -m benchmarks.intents --transactions 1000000 --keys 1000000
python -m benchmarks.intents --transactions 1000000 --keys 1000000 --hot 0.1
"""

from __future__ import annotations

import tempfile
import time

import click
from pyspark.sql import DataFrame, SparkSession, functions as f

from dynamic_tables.session import Settings, open_session
from protocols.data_plane.on_spark.fixpoint import Round
from protocols.data_plane.on_spark.ledger import IntentLedger

LATER_TRANSACTIONS = 1_000
"""Transactions of the epochs after the first one."""


HASHES = 1_000_000
"""Values of the hash that decides whether an operation goes to the hot key."""


def batch(spark: SparkSession, start: int, count: int, keys: int, hot: float = 0.0) -> DataFrame:
    """Returns transactions with two reads of keys that have no value, and two writes each.

    `hot`: the share of the operations that go to one key, `k0`.
    """
    ids = spark.range(start, start + count)
    roles = ((True, "r1"), (True, "r2"), (False, "w1"), (False, "w2"))
    rows = ids.limit(0).selectExpr("id", "true AS is_read", "'' AS key")
    for is_read, role in roles:
        hashed = f.pmod(f.xxhash64(f.concat(f.col("id").cast("string"), f.lit(role))), f.lit(keys))
        drawn = f.pmod(f.xxhash64(f.concat(f.lit(role), f.col("id").cast("string"))), f.lit(HASHES))
        chosen = f.when(drawn < int(hot * HASHES), f.lit(0)).otherwise(hashed)
        key = f.concat(f.lit("k"), chosen.cast("string")).alias("key")
        rows = rows.unionByName(ids.select("id", f.lit(is_read).alias("is_read"), key))
    return rows.withColumn("val", f.expr("IF(is_read, NULL, id || ':' || key)"))


def shuffled(spark: SparkSession) -> int:
    """Returns the bytes that the session has written for shuffles so far."""
    context = spark._jsparkSession.sparkContext()  # noqa: SLF001
    executors = context.statusStore().executorList(False)
    return sum(int(executors.apply(at).totalShuffleWrite()) for at in range(executors.size()))


@click.command()
@click.option("--transactions", type=click.IntRange(1), default=1_000_000, show_default=True)
@click.option("--keys", type=click.IntRange(1), default=1_000_000, show_default=True)
@click.option("--hot", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share of one key.")
def main(transactions: int, keys: int, hot: float) -> None:
    """Resolve one large epoch and two small ones; of each round its time and the bytes that it shuffled."""
    spark = open_session(settings=Settings.TUNED)
    written = [0]

    def show(done: Round) -> None:
        before, written[0] = written[0], shuffled(spark)
        click.echo(
            f"  {done.changed:>9,} changed, {done.looked_at:>11,} rows looked at, {done.seconds:.1f} s, "
            f"{(written[0] - before) / 2**20:,.0f} MiB shuffled"
        )

    ledger = IntentLedger(spark, tempfile.mkdtemp(prefix="intents_"))
    start = 1
    for count in (transactions, LATER_TRANSACTIONS, LATER_TRANSACTIONS):
        begin = time.perf_counter()
        done = ledger.add(batch(spark, start, count, keys, hot), show)
        seconds = time.perf_counter() - begin
        click.echo(f"{done.transactions:,} transactions: {done.rolled_back:,} rolled back, {seconds:.1f} s")
        start += count


if __name__ == "__main__":
    main()
