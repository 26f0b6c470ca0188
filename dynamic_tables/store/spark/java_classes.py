"""Classes of the JVM of a session, for what pyspark has no function of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLLECTIONS = "scala.jdk.javaapi.CollectionConverters"
"""The class that turns Scala's collections into Java's and back."""

DELTA_LOG = "org.apache.spark.sql.delta.DeltaLog"
"""Delta's view of a table: its log, and the snapshots that the JVM keeps of it."""


def java_class(spark: SparkSession, name: str) -> Any:
    """Returns a class by its full name.

    Not as `jvm.org.apache.hadoop.fs.Path`: for each part of that name the JVM would look through its hundreds
    of jars for a class `org`, a class `org.apache` and so on, every time anew.
    """
    return getattr(spark.sparkContext._jvm, name)  # noqa: SLF001


def java_list(spark: SparkSession, values: Iterable[Any] = ()) -> Any:
    """Returns a list of Java with some values."""
    result = java_class(spark, "java.util.ArrayList")()
    for value in values:
        result.add(value)
    return result


def java_none(spark: SparkSession) -> Any:
    """Returns Scala's None."""
    return java_class(spark, "scala.Option").empty()
