"""`dvs check --master`: a history in Parquet whose operations stay on the executors of a Spark cluster.

Each executor looks at shares of the keys and tells what the verdicts are made from; the dependencies between
transactions come together here. The file must have one name on all machines.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from campaign.errors import CampaignError
from campaign.runs.cluster import Cluster
from dvs_model.columns.shares import Share
from dvs_model.columns.table import Ints
from dvs_model.errors import HistoryError, first_line
from dvs_model.formats.listing import Listing, Transactions
from dvs_model.formats.operations import NEEDED
from dvs_model.formats.parquet_columns import BY_DEFINITION, OPERATION, TRANSACTION, suits
from dvs_model.formats.reader import Form, Item, Refused, Viewed
from dvs_model.formats.spilled import PER_OPERATION, listed, share_of
from dvs_model.formats.table import ABOUT

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

T = TypeVar("T")

SHARE_BYTES = 2**29
"""The bytes of memory that a share may take on an executor."""

LOST = "check again once it does"
"""The advice where the cluster is lost."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The transactions of a history, found by their numbers in the file.

    `sorted`: these numbers, ascending. `order`: the index of the transaction with each of them.
    """

    transactions: Transactions
    escaped: bool
    sorted: Ints
    order: Ints

    def share(self, table: pa.Table) -> Share:
        """Returns the share that consists of some rows, which may be in any order."""
        numbers = table["transaction"].to_numpy()
        txn, op = self.order[np.searchsorted(self.sorted, numbers)], table["op"].to_numpy()
        order = np.lexsort((op, txn))
        table = table.append_column("txn", pa.array(txn)).take(pa.array(order))
        return share_of(table, self.transactions, escaped=self.escaped)


@dataclass(frozen=True, slots=True)
class OnCluster:
    """The operations of a history on a cluster, `rows`, with the number of the share of each as `share`."""

    cluster: Cluster
    rows: DataFrame
    numbers: Broadcast[Numbers]

    def each(self, task: Callable[[Share], T]) -> Iterator[T]:
        """Yields what a task returns of each share. Raises HistoryError: a value is written twice."""
        from pyspark.sql.pandas.functions import arrow_udf

        sent, numbers = self.cluster.context.broadcast(task), self.numbers
        names = [name for name in self.rows.columns if name != "share"]

        def told(*columns: pa.Array) -> bytes:
            try:
                share = numbers.value.share(pa.table(list(columns), names))
                return pickle.dumps((sent.value(share), ""))
            except HistoryError as error:
                return pickle.dumps((None, error.fact))

        # Spark's own types of this function forget functions of groups.
        told_of: Any = arrow_udf("binary")  # type: ignore[call-overload]
        asked = self.rows.groupBy("share").agg(told_of(told)(*names).alias("told"))
        for row in self.cluster.collect(asked):
            result, fact = pickle.loads(row["told"])
            if fact:
                raise HistoryError(fact)
            yield result
        sent.unpersist()


def on_cluster(path: Path, cluster: Cluster) -> Item:
    """Returns the history of a file or folder of Parquet. Raises CampaignError: it cannot be judged there."""
    try:
        about = _about(path)
        rows = _rows(path, cluster)
        columns = [name for name in rows.columns if name != "op"]
        _ensure_plain(path, rows, cluster)
        kept = rows.select("op", *(name for name in columns if name in (*OPERATION, "transaction")))
        transactions, raw = _transactions(rows, columns, cluster)
        sorted_by = np.argsort(raw)
        numbers = Numbers(transactions, about is not None, raw[sorted_by], sorted_by)
        shares = OnCluster(cluster, _in_shares(kept, cluster), cluster.context.broadcast(numbers))
        observed = listed(str(path), transactions, shares, columns, about, lists=_lists(rows, cluster))
        return Viewed(observed, 1, Form.PARQUET)
    except HistoryError as error:
        return Refused(str(path), error)


def _about(path: Path) -> Mapping[str, Any] | None:
    """Returns what `dvs convert` says of a history, if the file is here as well. Raises HistoryError."""
    if not path.is_file():
        return None
    try:
        parquet = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise HistoryError(f"no Parquet that can be read: {error}") from None
    found = (parquet.metadata.metadata or {}).get(ABOUT.encode())
    about = None if found is None else json.loads(found)
    if not suits(parquet, about):
        raise HistoryError("--master takes one history of clients, without version orders that it states")
    return None if about is None else next(iter(about.values()))


def _rows(path: Path, cluster: Cluster) -> DataFrame:
    """Returns the rows of all files, each with its number as `op`, in the order of the names of the files."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    try:
        read = cluster.session.read.parquet(path.resolve().as_uri() if path.exists() else str(path))
        missing = [name for name in NEEDED if name not in read.columns]
        if missing:
            raise HistoryError(
                f"no table of operations: it has no column {missing[0]}; its columns are "
                f"{', '.join(read.columns)}"
            )
        whole = read.select(
            "*",
            functions.col("_metadata.file_path").alias("file"),
            functions.col("_metadata.row_index").alias("at"),
        )
        sizes = sorted(cluster.collect(whole.groupBy("file").count()))
    except PySparkException as error:
        raise HistoryError(f"no Parquet that can be read: {first_line(error)[:200]}") from None
    before, offsets = 0, []
    for file, count in sizes:
        offsets.append((file, before))
        before += count
    if not before:
        raise HistoryError("there is no operation in it")
    offset_rows = cluster.session.createDataFrame(offsets, "file string, before bigint")
    return (
        whole.join(functions.broadcast(offset_rows), "file")
        .withColumn("op", functions.col("before") + functions.col("at"))
        .drop("file", "before", "at")
    )


def _has(rows: DataFrame, name: str, cluster: Cluster) -> bool:
    """Returns whether a column is there and has a value in any row."""
    from pyspark.sql import functions

    if name not in rows.columns:
        return False
    return bool(cluster.collect(rows.agg(functions.max(functions.col(name).isNotNull())))[0][0])


def _ensure_plain(path: Path, rows: DataFrame, cluster: Cluster) -> None:
    """Raises CampaignError for what is judged on one machine alone, HistoryError for rows that are none."""
    from pyspark.sql import functions

    for name in BY_DEFINITION:
        if _has(rows, name, cluster):
            raise CampaignError(f"{path} has values in the column {name}; check it without --master")
    if "history" in rows.columns and len(cluster.collect(rows.select("history").distinct().limit(2))) > 1:
        raise HistoryError("--master takes one history, and the column history names several")
    col = functions.col
    filled = [col(name).isNotNull() for name in ("key", "value", "list") if name in rows.columns]
    without = rows.where(col("kind").isNull() & functions.greatest(*filled))
    if cluster.collect(without.limit(1)):
        raise HistoryError("a row has a key or a value and no kind")
    for name in ("session", "status"):
        if name in rows.columns:
            least, most = functions.min(name).alias("least"), functions.max(name).alias("most")
            none = functions.max(col(name).isNull()).alias("none")
            apart = rows.groupBy("transaction").agg(least, most, none)
            for found in cluster.collect(apart.where((col("least") != col("most")) | col("none")).limit(1)):
                what = f"without a {name}, or with different ones"
                raise HistoryError(f"transaction {found[0]} has rows {what}")


def _lists(rows: DataFrame, cluster: Cluster) -> bool:
    """Tells whether lists are appended to or read."""
    from pyspark.sql import functions

    kind = functions.col("kind")
    there = kind.isin("append", "r list")
    if "list" in rows.columns:
        there |= (kind == "r") & functions.col("list").isNotNull()
    return bool(cluster.collect(rows.where(there).limit(1)))


def _transactions(rows: DataFrame, columns: list[str], cluster: Cluster) -> tuple[Transactions, Ints]:
    """Returns the transactions in the order of their first rows, and their numbers in the file."""
    from pyspark.sql import functions

    firsts = [functions.min_by(name, "op").alias(name) for name in columns if name in TRANSACTION[1:]]
    asked = rows.groupBy("transaction").agg(functions.min("op").alias("op"), *firsts)
    table = cluster.table(asked).sort_by("op")
    listing = Listing()
    listing.add(table)
    found = listing.joined().in_lives()
    found.row = table["op"].to_numpy() + 1
    return found, table["transaction"].to_numpy()


def _in_shares(rows: DataFrame, cluster: Cluster) -> DataFrame:
    """Returns operations with the share of each, kept on the executors."""
    from pyspark import StorageLevel
    from pyspark.sql import functions

    rows = rows.where(functions.col("kind").isNotNull())
    count = cluster.collect(rows.groupBy().count())[0][0]
    shares = max(2 * cluster.context.defaultParallelism, -(-count * PER_OPERATION // SHARE_BYTES))
    share = functions.pmod(
        functions.crc32(functions.col("key").cast("string").cast("binary")), functions.lit(shares)
    ).cast("int")
    return rows.withColumn("share", share).repartition(shares, "share").persist(StorageLevel.DISK_ONLY)
