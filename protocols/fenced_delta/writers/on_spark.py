"""Fenced writes of real Delta tables with Spark, which has no API for them (docs/protocols.md).

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
    jvm = session._jvm  # noqa: SLF001

    def named(name: str) -> Any:
        # `jvm.org.apache` would look for a class `org` in hundreds of jars, each time.
        return getattr(jvm, name)

    none = named("scala.Option").empty()
    log = named("org.apache.spark.sql.delta.DeltaLog").forTable(session._jsparkSession, path)  # noqa: SLF001
    snapshot = log.getSnapshotAt(version, none, none, False)
    transaction = log.startTransaction(none, named("scala.Some")(snapshot))
    transaction.readWholeTable()
    columns = spark.read.format("delta").option("versionAsOf", version).load(path).schema
    # Delta checks no schema here: files with other columns would damage the table.
    frame: Any = rows.to(columns)
    written = transaction.writeFiles(frame._jdf)  # noqa: SLF001
    actions = named("java.util.ArrayList")()
    for at in range(written.size()):
        actions.add(written.apply(at))
    if replaces:
        files = snapshot.allFiles().collect()
        for file in files:
            actions.add(file.remove())
    operation = getattr(named("org.apache.spark.sql.delta.DeltaOperations$ManualUpdate$"), "MODULE$")
    collections = named("scala.jdk.javaapi.CollectionConverters")
    transaction.commit(collections.asScala(actions).toSeq(), operation)
