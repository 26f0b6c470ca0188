"""Files that only one writer can create, written by Delta's own log store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamic_tables.store.spark.java_classes import COLLECTIONS, DELTA_LOG, java_class, java_list

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def create_once(spark: SparkSession, folder: str, file: str, text: str) -> bool:
    """Creates a text file as a whole; False if it exists already. Raises the errors of Spark.

    Delta's log store knows how that is done on each kind of storage. `folder`: a folder on that storage.
    """
    log = java_class(spark, DELTA_LOG).forTable(spark._jsparkSession, folder)  # noqa: SLF001
    lines = java_list(spark, text.splitlines())
    iterator = java_class(spark, COLLECTIONS).asScala(lines.iterator())
    place = java_class(spark, "org.apache.hadoop.fs.Path")(file)
    try:
        log.store().write(place, iterator, False, log.newDeltaHadoopConf())
    except Exception as error:
        # The exception classes of py4j are no import of this package.
        if "FileAlreadyExistsException" in str(error):
            return False
        raise
    return True
