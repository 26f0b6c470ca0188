"""The metadata and the transaction id of a Delta commit, set in a session for one write only."""

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
    """Opens a block whose Delta commits have `metadata` and, if given, `txn` (application id, version).

    Delta silently skips a write to a table that has the pair `txn` already: it fences off a second refresh
    from the same contents, and a part of a transaction that was undone. Both are settings of the session that
    stay until they are unset; one left behind would swallow a later write, so they are unset even after an
    error.
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
