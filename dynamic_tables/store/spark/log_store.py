"""Files that only one writer can create, written by Delta's own log store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def create_once(spark: SparkSession, folder: str, file: str, text: str) -> bool:
    """Creates a text file as a whole; False if it exists already. Raises the errors of Spark.

    Delta's log store knows how that is done on each kind of storage. `folder`: a folder on that storage.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, folder)  # noqa: SLF001
    lines = jvm.java.util.ArrayList()
    for line in text.splitlines():
        lines.add(line)
    iterator = jvm.scala.jdk.javaapi.CollectionConverters.asScala(lines.iterator())
    try:
        log.store().write(jvm.org.apache.hadoop.fs.Path(file), iterator, False, log.newDeltaHadoopConf())
    except Exception as error:
        # The exception classes of py4j are no import of this package.
        if "FileAlreadyExistsException" in str(error):
            return False
        raise
    return True
