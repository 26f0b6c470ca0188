"""The ways a session may be set: as production runs, and as thousands of tiny refreshes like it."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Settings(Enum):
    """Which settings a session has. LASTING: TUNED for a session of many minutes, slower in its first two.

    STOCK and the others run different code paths of Spark: interpreted and on one partition is not what
    production does. Evidence from them alone is therefore not evidence about production.
    """

    STOCK = "stock"
    TUNED = "tuned"
    LASTING = "lasting"


DELTA_SESSION: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        # Else Spark replaces ${...} inside string literals.
        "spark.sql.variable.substitute": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
)
"""What every session has, whatever its settings."""

_TINY: Mapping[str, str] = MappingProxyType(
    {
        # Each query text is new, so compiled code would be used once: interpreting is 1.8x faster.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # Tens of rows: there is nothing to adapt, to broadcast or to spread.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "1",
        # It moves a semi or anti join below the step that makes one partition of a source, so that
        # both sides are shuffled again.
        "spark.sql.optimizer.excludedRules": (
            "org.apache.spark.sql.catalyst.optimizer.PushDownLeftSemiAntiJoin"
        ),
        # Delta replays a table's log in this many tasks, 50 by default, at every commit.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
)

RUNTIME: Mapping[Settings, Mapping[str, str]] = MappingProxyType(
    {Settings.STOCK: MappingProxyType({}), Settings.TUNED: _TINY, Settings.LASTING: _TINY}
)
"""Spark SQL settings by preset; they may differ between sessions of one JVM."""

MEMORY: Mapping[Settings, Mapping[str, str]] = MappingProxyType(
    {
        Settings.STOCK: MappingProxyType({}),
        Settings.TUNED: MappingProxyType({"spark.driver.memory": "2g"}),
        Settings.LASTING: MappingProxyType({"spark.driver.memory": "2g"}),
    }
)
"""Memory of the JVM; fixed by the first session of a process."""

JVM_OPTIONS: Mapping[Settings, tuple[str, ...]] = MappingProxyType(
    {
        Settings.STOCK: (),
        # The quick compiler and the small collector: half the memory and a faster start.
        # Compiling lightly, the JVM takes a code cache of 48 MB, which an hour of new queries fills.
        Settings.TUNED: (
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:ReservedCodeCacheSize=256m",
        ),
        # The full compiler takes a core for two minutes, and pays from the third on.
        Settings.LASTING: ("-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=256m"),
    }
)
"""Flags of the JVM; fixed by the first session of a process."""


def overrides(settings: Settings) -> Mapping[str, str | None]:
    """Every runtime setting that any preset touches: its value here, or None for Spark's default.

    Applied to a new session of a running JVM, which starts from the first session's settings, this
    gives the session its own preset and nothing of the other.
    """
    touched = sorted({name for preset in RUNTIME.values() for name in preset})
    return {name: RUNTIME[settings].get(name) for name in touched}
