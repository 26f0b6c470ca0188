"""Recognises a JVM that died under its sessions, and lets pyspark start another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


def answers(context: SparkContext) -> bool:
    """Tells whether the JVM of a context still answers; if it was killed, pyspark keeps its context."""
    try:
        context._jsc.sc().isStopped()  # noqa: SLF001  (pyspark has no public way to ask)
    except Exception:  # noqa: BLE001  # any error of py4j means that the JVM does not answer
        return False
    return True


def forget() -> None:
    """Makes pyspark forget its JVM. Every session on it is lost; files and Delta tables remain."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001
