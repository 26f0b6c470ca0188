"""The built-in engine's plans and refresh protocol on Spark, over snapshots in memory: the tiers `spark*`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dynamic_tables.session import Settings, open_session
from dynamic_tables.session.dead import answers
from dynamic_tables.store.spark.own_session import own_session
from engines.engine import Platform
from engines.memory.adapter import MemoryAdapter
from engines.memory.applier import Applier
from engines.memory.database import own_database
from engines.memory.spark_store import SparkStore
from engines.rows import columns_of, rows_of
from engines.spark.spark_jobs import JobTag, job_tag
from engines.variant import Variant
from workload.schema import Column
from workload.types import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class OnSpark(MemoryAdapter):
    """An account whose plans run on a Spark session of its own."""

    def __init__(self, spark: SparkSession, variant: Variant) -> None:
        self._spark = spark
        self._resources = ExitStack()
        # Without a call site Spark walks the stack for every step of every query, which takes an eighth of
        # the time here.
        for form in ("short", "long"):
            spark.sparkContext.setLocalProperty(f"callSite.{form}", "dvs")
        connection = self._resources.enter_context(own_database())
        self._jobs: JobTag = self._resources.enter_context(job_tag(spark.sparkContext))
        store = SparkStore(own_session(spark))
        store.version_rules = variant.versions
        self._resources.callback(store.close)
        super().__init__(store, Applier(connection, store), variant)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns Spark's own answer to the query text, without a plan or a frontier of the engine."""
        return rows_of(own_session(self._spark).sql(query))

    def columns_of(self, query: str) -> Sequence[Column]:
        """Returns the columns that Spark gives a query. Raises EngineError."""
        return columns_of(own_session(self._spark), query)

    def interrupt(self) -> None:
        """Cancels this scenario's Spark jobs and the query that DuckDB runs."""
        self._jobs.cancel()
        self.applier.connection.interrupt()

    def close(self) -> None:
        """Drops the views, the job tag and the database."""
        self._resources.close()


@dataclass(frozen=True)
class SparkPlatform(Platform):
    """One Spark that several threads share; each scenario has a session of its own."""

    spark: SparkSession
    variant: Variant = field(default_factory=Variant)

    @staticmethod
    def start(settings: Settings = Settings.TUNED, variant: Variant | None = None) -> SparkPlatform:
        """Returns the platform on the Spark of this process. Raises SessionError."""
        return SparkPlatform(open_session(settings=settings), variant or Variant())

    def open(self) -> OnSpark:
        """Opens an empty database."""
        return OnSpark(self.spark, self.variant)

    def alive(self) -> bool:
        """Tells whether the JVM still answers."""
        return answers(self.spark.sparkContext)
