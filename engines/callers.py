"""What the built-in engine's results must not depend on: settings of callers' sessions, sizes, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from dynamic_tables.refresh.choice import Choice, Past, Work, choose
from dynamic_tables.store.port import Action
from dynamic_tables.store.sizes import SIZES, Sizes
from workload.outcomes.trace import CHOSEN_FULL
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
"""The probability of each setting or size, in percent: some do harm only together."""


def drawn(scenario: Scenario, process: int) -> Mapping[str, str]:
    """Returns the settings of the session that a process of a scenario gives to the engine."""
    choices = _choices(scenario, f"process {process}")
    return {name: value for name, value in SETTINGS.items() if choices.randrange(100) < PERCENT}


SMALL: Mapping[str, tuple[int, ...]] = {
    "literal_rows": (0, 3, 8),
    "changed_rows": (0, 3, 8),
    "changed_bytes": (0, 100),
    "arrow_bytes": (0,),
    "ids_read_here": (0, 5),
    "positions": (0, 1),
    "ranges": (0, 1),
    "named_files": (0, 1),
    "named_bytes": (0, 1000),
    "small_files": (0, 2),
    "small_file": (0, 4),
    "statistics": (0, 1, 5),
    "kept_tables": (0, 1),
    "kept_results": (1,),
}
"""Sizes of the store that the few rows of a scenario go beyond."""


def drawn_sizes(scenario: Scenario, process: int) -> Sizes:
    """Returns the sizes of a process's store: in half of the processes each is small with PERCENT."""
    choices = _choices(scenario, f"sizes of process {process}")
    if choices.randrange(2):
        return SIZES
    return replace(
        SIZES,
        **{
            name: choices.choice(values) for name, values in SMALL.items() if choices.randrange(100) < PERCENT
        },
    )


def drawn_choice(scenario: Scenario, process: int) -> Callable[[Sequence[Past], Work], Choice]:
    """Returns the function that chooses between INCREMENTAL and FULL in a process.

    In half of the processes one refresh of three is FULL by chance. The engine itself chooses nothing in a
    scenario: its tables are small, and its time is simulated.
    """
    choices = _choices(scenario, f"choice of process {process}")
    if choices.randrange(2):
        return choose

    def drawn_by(past: Sequence[Past], work: Work) -> Choice:
        full = Choice(Action.FULL, f"{CHOSEN_FULL}: it was drawn")
        return choose(past, work) if choices.randrange(3) else full

    return drawn_by


def _choices(scenario: Scenario, use: str) -> Random:
    # Of all parts of a scenario the types of its tables change least while it is shrunk.
    types = [[str(column.type) for column in table.columns] for table in scenario.tables]
    return Random(f"{types}, {use}")
