"""What an epoch of intents costs on Spark, round by round, and what a small one costs after it.

python -m benchmarks.intents --transactions 1000000 --keys 1000000
"""

from __future__ import annotations

import tempfile
import time

import click
from pyspark.sql import DataFrame, SparkSession, functions as f

from dynamic_tables.session import Settings, open_session
from protocols.data_plane.on_spark.fixpoint import Round
from protocols.data_plane.on_spark.ledger import IntentLedger

SMALL = 1_000
"""Transactions of the epochs after the first one."""


def batch(spark: SparkSession, start: int, count: int, keys: int) -> DataFrame:
    """Returns transactions with two reads of keys that have no value, and two writes each."""
    ids = spark.range(start, start + count)
    roles = ((True, "r1"), (True, "r2"), (False, "w1"), (False, "w2"))
    rows = ids.limit(0).selectExpr("id", "true AS is_read", "'' AS key")
    for is_read, role in roles:
        hashed = f.pmod(f.xxhash64(f.concat(f.col("id").cast("string"), f.lit(role))), f.lit(keys))
        key = f.concat(f.lit("k"), hashed.cast("string")).alias("key")
        rows = rows.unionByName(ids.select("id", f.lit(is_read).alias("is_read"), key))
    return rows.withColumn("val", f.expr("IF(is_read, NULL, id || ':' || key)"))


@click.command()
@click.option("--transactions", type=click.IntRange(1), default=1_000_000, show_default=True)
@click.option("--keys", type=click.IntRange(1), default=1_000_000, show_default=True)
def main(transactions: int, keys: int) -> None:
    """Resolve one large epoch and two small ones."""

    def show(done: Round) -> None:
        click.echo(
            f"  {done.changed:>9,} changed, {done.looked_at:>11,} rows looked at, {done.seconds:.1f} s"
        )

    spark = open_session(settings=Settings.TUNED)
    ledger = IntentLedger(spark, tempfile.mkdtemp(prefix="intents_"))
    start = 1
    for count in (transactions, SMALL, SMALL):
        began = time.perf_counter()
        done = ledger.add(batch(spark, start, count, keys), show)
        seconds = time.perf_counter() - began
        click.echo(f"{done.transactions:,} transactions: {done.rolled_back:,} rolled back, {seconds:.1f} s")
        start += count


if __name__ == "__main__":
    main()
