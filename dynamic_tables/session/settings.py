"""Presets of Spark's settings: sized to this machine, Spark's own, or made for thousands of tiny refreshes.

`launch` starts the JVM and opens sessions with them.
"""

import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path


class Settings(Enum):
    """The presets of a session's settings.

    SIZED: for tables of any size on this machine. STOCK: Spark's defaults, as clusters run. TUNED: for many
    refreshes of tiny tables. LASTING: as TUNED, for a session of many minutes: slower than it in the first
    two minutes, faster afterwards. TUNED and LASTING interpret queries on one partition, which is another
    code path of Spark: evidence from them alone is no evidence about production.
    """

    SIZED = "sized"
    STOCK = "stock"
    TUNED = "tuned"
    LASTING = "lasting"


DELTA_SESSION: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Otherwise Spark replaces ${...} inside string literals.
    "spark.sql.variable.substitute": "false",
    # Spark's reader of Parquet skips rows with -0.0 where a condition asks for 0.0, by the file's dictionary.
    "spark.hadoop.parquet.filter.dictionary.enabled": "false",
    # And it asks the file for a day ten days later where a condition has a day from 5 to 14 October 1582.
    "spark.sql.datetime.java8API.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""The settings of every session, whatever its preset."""

# Of TUNED and LASTING; `Settings` says what they are for.
_TUNED: Mapping[str, str] = {
    # Each query text is new, so compiled code would be used once: interpreting is 1.8 times faster.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # With tens of rows there is nothing to adapt, to broadcast or to distribute; 200 shuffle partitions,
    # the default, take 13 times as long as one.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.shuffle.partitions": "1",
    # The rule moves a semi or anti join below the step that makes one partition of a source, so that both
    # sides are shuffled again.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushDownLeftSemiAntiJoin",
    # Delta replays a table's log at every commit in this many tasks, by default 50.
    "spark.databricks.delta.snapshotPartitions": "1",
    # VACUUM lists a folder in this many tasks, by default 10,000: half a minute for three files.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}

CORES = os.cpu_count() or 1
GIB = 1 << 30


def memory_of_machine() -> int:
    """Returns the memory of this machine, or of the container that the process runs in, in bytes."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text(encoding="ascii").strip() if limit.exists() else "max"
    return physical if text == "max" else min(physical, int(text))


_SIZED: Mapping[str, str] = {
    # One round of tasks for a shuffle; adaptive execution splits what is skewed. By default a shuffle has 200
    # tasks, and each replay of a Delta log 50, which every commit of a small table pays for.
    "spark.sql.shuffle.partitions": str(max(2, CORES)),
    "spark.databricks.delta.snapshotPartitions": "1",
    # VACUUM lists a folder in this many tasks, by default 10,000: half a minute for three files.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


RUNTIME: Mapping[Settings, Mapping[str, str]] = {
    Settings.SIZED: _SIZED,
    Settings.STOCK: {},
    Settings.TUNED: _TUNED,
    Settings.LASTING: _TUNED,
}
"""Spark SQL settings by preset; sessions of one JVM may have different ones."""

MEMORY: Mapping[Settings, Mapping[str, str]] = {
    # Spark's default is 1 GiB whatever the machine has; the rest is for the operating system's file cache.
    Settings.SIZED: {"spark.driver.memory": f"{min(16, max(1, memory_of_machine() // (2 * GIB)))}g"},
    Settings.STOCK: {},
    Settings.TUNED: {"spark.driver.memory": "2g"},
    Settings.LASTING: {"spark.driver.memory": "2g"},
}
"""Memory of the JVM by preset; the first session of a process decides."""

_PLAIN_FILES: Mapping[str, str] = {
    # Hadoop's local file system keeps a checksum beside each file, and starts a process (chmod, readlink) for
    # each step with either: 24 processes for one commit, a tenth of its time. Files live for seconds here.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # S3A collects what it uploads in files that only the file system with checksums can make.
    "spark.hadoop.fs.s3a.fast.upload.buffer": "bytebuffer",
}

FILES: Mapping[Settings, Mapping[str, str]] = {
    Settings.SIZED: {},
    Settings.STOCK: {},
    Settings.TUNED: _PLAIN_FILES,
    Settings.LASTING: _PLAIN_FILES,
}
"""How files of this machine are written, by preset; the first session of a process decides."""


def s3_settings(env: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the settings by which Hadoop's S3A finds a server that is not Amazon's; none if none is set.

    The variables are those of Amazon's own tools: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, and AWS_REGION.
    S3A finds the credentials by itself.
    """
    endpoint = env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL")
    if not endpoint:
        return {}
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": env.get("AWS_REGION") or "us-east-1",
        # Such a server seldom has a host name for each bucket.
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


JVM_OPTIONS: Mapping[Settings, tuple[str, ...]] = {
    Settings.SIZED: (),
    Settings.STOCK: (),
    # The quick compiler and the small collector need half the memory and start faster. With the quick
    # compiler the code cache has 48 MB by default, which an hour of new queries fills.
    # A third of the heap for what is new: planning makes garbage, and a collection costs what survives it.
    Settings.TUNED: (
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:ReservedCodeCacheSize=256m",
        "-Xmn700m",
    ),
    # The full compiler takes one core for two minutes, and pays off from the third minute on.
    Settings.LASTING: ("-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=256m", "-Xmn700m"),
}
"""Flags of the JVM by preset; the first session of a process decides."""


def overrides(settings: Settings) -> Mapping[str, str | None]:
    """Returns every runtime setting of any preset with its value in this preset, None for Spark's default.

    A new session of a running JVM starts with the first session's settings; after these overrides it has
    its own preset and nothing of the other.
    """
    touched = sorted({name for preset in RUNTIME.values() for name in preset})
    return {name: RUNTIME[settings].get(name) for name in touched}
