"""Tags the Spark jobs of one scenario, so that they can be cancelled while other threads go on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


@dataclass(frozen=True, slots=True)
class JobTag:
    """The tag that every Spark job of the thread carries."""

    context: SparkContext
    name: str

    def cancel(self) -> None:
        """Cancels the tagged jobs that run. A commit that runs no job goes on until the thread's next job."""
        self.context.cancelJobsWithTag(self.name)


@contextmanager
def job_tag(context: SparkContext) -> Iterator[JobTag]:
    """Tags the Spark jobs of this thread until the end of the block."""
    tag = JobTag(context, f"scenario-{uuid.uuid4().hex}")
    context.addJobTag(tag.name)
    context.setInterruptOnCancel(True)
    try:
        yield tag
    finally:
        context.removeJobTag(tag.name)
