"""What a Delta commit carries besides data: its metadata and its transaction id, set for one write only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
APPLICATION = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"


@contextmanager
def commit_settings(
    session: SparkSession, metadata: str, txn: tuple[str, int] | None = None
) -> Iterator[None]:
    """Every Delta commit of the block carries `metadata` and, if given, `txn` (application id, version).

    These are session settings, and Delta silently skips a write to a table that has the pair already:
    one left behind would swallow somebody's next write. So they are gone whatever happens.
    """
    settings = {USER_METADATA: metadata}
    if txn is not None:
        settings |= {APPLICATION: txn[0], VERSION: str(txn[1])}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name in settings:
            session.conf.unset(name)
