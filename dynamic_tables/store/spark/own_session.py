"""The session in which the engine works: it has those settings of the caller that are in a short list."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dynamic_tables.store.spark.java_classes import COLLECTIONS, java_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TAKEN_OVER = (
    # How much is done at once.
    "spark.sql.shuffle.partitions",
    "spark.sql.adaptive.enabled",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes",
    "spark.sql.adaptive.coalescePartitions.",
    "spark.sql.adaptive.skewJoin.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.files.openCostInBytes",
    "spark.databricks.delta.snapshotPartitions",
    # How it is done: by compiled code or not, without some steps of the optimizer.
    "spark.sql.codegen.wholeStage",
    "spark.sql.codegen.factoryMode",
    "spark.sql.optimizer.excludedRules",
    "spark.sql.artifact.",
    # Where tables are, and who may read them: catalogs, Hadoop's file systems and credentials.
    "spark.sql.catalog.",
    "fs.",
    "dfs.",
    "ipc.",
    "hadoop.",
    "google.cloud.",
)
"""The settings that are taken over, by their names or the beginnings of names: speed and access alone."""

FIXED: Mapping[str, str] = {
    # Otherwise Spark would replace ${...} in a text, even in a literal, after the text was checked.
    "spark.sql.variable.substitute": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    # Old dates are written as they are, whatever the defaults say for old versions of Spark.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    # As the engine's own files have them. In Spark's default form, nanoseconds in 96 bits, other readers take
    # the year 9999 for 1816, without an error.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark's reader of Parquet skips rows with -0.0 where a condition asks for 0.0, by the file's dictionary.
    "parquet.filter.dictionary.enabled": "false",
    # Else a condition on a day from 5 to 14 October 1582 asks the file for a day ten days later.
    "spark.sql.datetime.java8API.enabled": "true",
}
"""Settings on which the meaning of a query or statement depends. Every other one has Spark's default."""

SESSION_PREFIXES = ("spark.sql.", "spark.databricks.", "spark.delta.")
"""Settings of sessions. Others that begin with `spark.` are of the process, and a session repeats them."""

WRITING = (
    *("spark.databricks.", "spark.delta.", "parquet."),
    "spark.sql.parquet.outputTimestampType",
    "spark.sql.parquet.writeLegacyFormat",
    "spark.sql.parquet.fieldId.write.enabled",
    "spark.sql.parquet.datetimeRebaseModeInWrite",
    "spark.sql.parquet.int96RebaseModeInWrite",
    "spark.sql.sources.partitionOverwriteMode",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.caseSensitive",
    "spark.sql.charAsVarchar",
    "spark.sql.legacy.charVarcharAsString",
)
"""Settings that say how rows are written, by their names or the beginnings of names, not which rows."""


def own_session(spark: SparkSession) -> SparkSession:
    """Returns a new session with TAKEN_OVER from `spark`, FIXED, and Spark's defaults for all the rest.

    It has none of the temporary views, functions and variables of `spark`. The defaults are those of Spark's
    code: what a file of defaults or the start of the process says for one session counts as that session's.
    """
    from pyspark.sql import SparkSession

    session = SparkSession(spark.sparkContext, spark._jsparkSession.newSession())  # noqa: SLF001
    conf = _conf(session)
    for name in _settings(session):
        if not _stays(session, name):
            conf.unsetConf(name)
    for name, value in _settings(spark).items():
        if name.startswith(TAKEN_OVER):
            conf.setConfString(name, value)
    for name, value in FIXED.items():
        session.conf.set(name, value)
    # pyspark prints every error with its Java stack to stderr before it raises it.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return session


def writing_session(spark: SparkSession) -> SparkSession:
    """Returns a copy of a caller's session that computes as that does, and writes as the engine does.

    The rows of a frame that is not computed yet depend on the settings of its session.
    """
    session = copy_of(spark)
    conf = _conf(session)
    for name in _settings(session):
        if name.startswith(WRITING):
            conf.unsetConf(name)
    for name, value in FIXED.items():
        if name.startswith(WRITING):
            conf.setConfString(name, value)
    return session


def copy_of(spark: SparkSession) -> SparkSession:
    """Returns a new session with all that a session has: settings, temporary views, functions."""
    from pyspark.sql import SparkSession

    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())  # noqa: SLF001


def in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """Returns a data frame, as its own session has understood it, that is computed in another session."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    # pyspark ties a frame to its session for good.
    dataset = java_class(session, "org.apache.spark.sql.classic.Dataset")
    moved = dataset.ofRows(session._jsparkSession, plan)  # noqa: SLF001
    return type(frame)(moved, session)


def _stays(session: SparkSession, name: str) -> bool:
    """Tells whether a setting of a new session is one of the process, of which there is only one value."""
    if name.startswith("spark.") and not name.startswith(SESSION_PREFIXES):
        return True
    return bool(java_class(session, "org.apache.spark.sql.internal.SQLConf").isStaticConfigKey(name))


def _settings(session: SparkSession) -> Mapping[str, str]:
    """Returns the settings that a session has, without the defaults of Spark's code."""
    return dict(java_class(session, COLLECTIONS).asJava(_conf(session).getAllConfs()))


def _conf(session: SparkSession) -> Any:
    """Returns the settings of a session in the JVM: Python's interface refuses those of the process."""
    return session._jsparkSession.sessionState().conf()  # noqa: SLF001
