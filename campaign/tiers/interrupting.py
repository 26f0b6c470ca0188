"""What a thread does on a Spark that others share is cut when its time is up."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from campaign.tiers.watchdog import cut_after

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def interruptible(spark: SparkSession, seconds: float, *others: Callable[[], None]) -> Iterator[None]:
    """Cuts this thread's Spark jobs when the time is up; `others` interrupt what it does elsewhere.

    A commit that has no job under way is not cut: the next job of the thread is.
    """
    context = spark.sparkContext
    tag = f"scenario-{uuid.uuid4().hex}"

    def interrupt() -> None:
        context.cancelJobsWithTag(tag)
        for other in others:
            other()

    context.addJobTag(tag)
    context.setInterruptOnCancel(True)
    try:
        with cut_after(seconds, interrupt):
            yield
    finally:
        context.removeJobTag(tag)
