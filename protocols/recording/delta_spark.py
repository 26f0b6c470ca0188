"""Delta tables, by Spark: transactions that read pinned versions and write by one commit of a table.

delta-rs makes the tables: the open Delta of Spark obeys a table that is WriteSerializable, and makes none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
)
from deltalake import DeltaTable
from pyspark.errors import PySparkException

from dvs_model.errors import first_line
from protocols.fenced_delta.writers.on_spark import overwrite_if_unchanged
from protocols.recording.database import Aborted, Promise, RecordingError
from protocols.recording.delta_rs import DeltaRs, DeltaRsConnection, Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

REFUSALS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
)
"""After these, nothing of a commit was done. Delta has given them no common class."""


class DeltaSparkConnection(DeltaRsConnection):
    """A client, with a session of its own in one JVM. `pinned`: by table the version."""

    def __init__(self, spark: SparkSession, tables: tuple[str, ...], schema: Any) -> None:
        """Takes the session, the folders of the tables, and what their rows are."""
        self.spark = spark
        super().__init__(tables, schema)

    def _read(self, folder: str) -> tuple[int, Rows]:
        # DESCRIBE HISTORY would be a job of Spark.
        version = DeltaTable(folder).version()
        table = self.spark.read.format("delta").option("versionAsOf", version).load(folder)
        return version, {row["k"]: (row["v"], row["n"]) for row in _asked(table.collect)}

    def _append(self, table: int, rows: Rows) -> None:
        _asked(partial(self._frame(rows).write.format("delta").mode("append").save, self.tables[table]))

    def _replace(self, table: int, changed: Mapping[int, tuple[object, int] | None]) -> None:
        # MERGE reads the newest version when it runs, so it would not notice that the pinned one is old.
        replaced = partial(overwrite_if_unchanged, self.spark, self.tables[table])
        _asked(partial(replaced, self._frame(self.rows[table]), self.pinned[table]))

    def _frame(self, rows: Rows) -> DataFrame:
        # A list of rows instead of Arrow's table would start processes of Python.
        return self.spark.createDataFrame(self._arrow(rows))


@dataclass(slots=True)
class DeltaSpark(DeltaRs):
    """A new folder with tables as of delta-rs, which Spark reads and writes."""

    name: ClassVar[str] = "Delta by Spark"
    # A delete does not look at blind appends that it has not seen.
    levels: ClassVar[Mapping[str, Promise]] = MappingProxyType(
        {**DeltaRs.levels, "write-serializable": Promise.SNAPSHOT}
    )

    @abstractmethod
    def spark(self) -> SparkSession:
        """Returns a session for a client."""

    def session(self) -> DeltaSparkConnection:
        return DeltaSparkConnection(self.spark(), self.tables, self.schema)


def _asked(does: Callable[[], T]) -> T:
    """Returns what Spark answers. Raises Aborted: another commit has changed what was read."""
    try:
        return does()
    except REFUSALS as error:
        raise Aborted(type(error).__name__) from error
    except PySparkException as error:
        reason = first_line(error)
        raise RecordingError(f"Spark refuses what the recorder asks: {reason}") from error
