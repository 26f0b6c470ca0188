"""Sessions of callers: Spark sessions with settings that the built-in engine must not depend on."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from workload.scenario import Scenario

SETTINGS: Mapping[str, str] = {
    # What SQL means.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.integralDivide.returnBigint": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.groupByOrdinal": "false",
    # How values are written.
    "spark.sql.storeAssignmentPolicy": "LEGACY",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.files.maxRecordsPerFile": "1",
    # What Delta commits, and when.
    "spark.databricks.delta.autoCompact.enabled": "true",
    "spark.databricks.delta.autoCompact.minNumFiles": "2",
    "spark.databricks.delta.commitInfo.enabled": "false",
    "spark.databricks.delta.commitInfo.userMetadata": "a caller's",
    "spark.databricks.delta.write.txnAppId": "a caller",
    "spark.databricks.delta.write.txnVersion": "1",
    "spark.databricks.delta.schema.autoMerge.enabled": "true",
    "spark.databricks.delta.properties.defaults.columnMapping.mode": "name",
    "spark.databricks.delta.properties.defaults.enableRowTracking": "false",
    "spark.databricks.delta.delete.deletionVectors.persistent": "false",
    # How queries run, which is taken over.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.autoBroadcastJoinThreshold": "10MB",
}
"""Settings with values that are not Spark's defaults; each has changed rows or commits of some engine."""

PERCENT = 50
"""How likely a session has each of them: some do harm only together."""


def drawn(scenario: Scenario, process: int) -> Mapping[str, str]:
    """Returns the settings of the session that a process of a scenario gives to the engine."""
    # Of all parts of a scenario the types of its tables change least while it is shrunk.
    types = [[str(column.type) for column in table.columns] for table in scenario.tables]
    choices = Random(f"{types}, process {process}")
    return {name: value for name, value in SETTINGS.items() if choices.randrange(100) < PERCENT}
