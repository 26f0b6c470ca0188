"""Fenced writes of real Delta tables with Spark (document 004): what Spark has no API for.

Delete, update and merge of Spark read the newest version when they run: a read before them is not fenced.
Here a transaction of Delta begins at the version that was read and counts as having read the whole table: any
commit since then that changed data makes it fail. Delta records that version as `readVersion`. Rows get the
table's columns and types, or are refused with an error of Spark before anything is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def append_if_unchanged(spark: SparkSession, path: str, rows: DataFrame, read_version: int) -> None:
    """Appends rows, or raises an error of Delta (ConcurrentAppendException and others) after any change."""
    _commit(spark, path, rows, read_version, replaces=False)


def overwrite_if_unchanged(spark: SparkSession, path: str, rows: DataFrame, read_version: int) -> None:
    """Replaces all rows, or raises an error as `append_if_unchanged` does."""
    _commit(spark, path, rows, read_version, replaces=True)


def replace_where(spark: SparkSession, path: str, rows: DataFrame, predicate: str, read_version: int) -> None:
    """Replaces the rows that a predicate selects, or raises an error as `append_if_unchanged` does."""
    before = spark.read.format("delta").option("versionAsOf", read_version).load(path)
    # A row for which the predicate is NULL is not selected.
    kept = before.where(f"NOT coalesce(({predicate}), false)")
    _commit(spark, path, kept.unionByName(rows), read_version, replaces=True)


def _commit(spark: SparkSession, path: str, rows: DataFrame, version: int, *, replaces: bool) -> None:
    # pyspark's stubs leave out its JVM.
    session: Any = spark
    jvm, none = session._jvm, session._jvm.scala.Option.empty()  # noqa: SLF001
    delta = jvm.org.apache.spark.sql.delta
    log = delta.DeltaLog.forTable(session._jsparkSession, path)  # noqa: SLF001
    snapshot = log.getSnapshotAt(version, none, none, False)
    transaction = log.startTransaction(none, jvm.scala.Some(snapshot))
    transaction.readWholeTable()
    columns = spark.read.format("delta").option("versionAsOf", version).load(path).schema
    # Delta checks no schema here: files with other columns would damage the table.
    frame: Any = rows.to(columns)
    written = transaction.writeFiles(frame._jdf)  # noqa: SLF001
    actions = jvm.java.util.ArrayList()
    for at in range(written.size()):
        actions.add(written.apply(at))
    if replaces:
        files = snapshot.allFiles().collect()
        for file in files:
            actions.add(file.remove())
    operation = getattr(getattr(delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
    transaction.commit(jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions).toSeq(), operation)
