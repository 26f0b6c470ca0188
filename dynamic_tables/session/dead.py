"""A JVM that died under its sessions: told from one that lives, and forgotten, so that another can start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


def answers(context: SparkContext) -> bool:
    """Whether the JVM of a context still answers; a JVM that was killed leaves its context behind."""
    try:
        context._jsc.sc().isStopped()  # noqa: SLF001  (there is no public question)
    except Exception:  # noqa: BLE001  # whatever is raised, it is no answer
        return False
    return True


def forget() -> None:
    """Lets pyspark forget its JVM. Every session on it is lost; files and Delta tables are not."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001
