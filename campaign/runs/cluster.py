"""`dvs fuzz --master`: judges scenarios on an existing Spark cluster, engine and oracle inside the executors.

Each chunk of scenarios is one Spark task; Spark alone schedules the tasks. The Python of the Spark workers
needs the libraries of this project; the project's own code is sent with the job.
"""

from __future__ import annotations

import atexit
import re
import shutil
import socket
import tempfile
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from campaign.errors import CampaignError
from dynamic_tables.session import Settings, open_session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, Row, SparkSession

Result = TypeVar("Result")

PACKAGES = (
    "campaign",
    "engines",
    "dvs_model",
    "dynamic_tables",
    "generators",
    "oracle",
    "protocols",
    "reference",
    "servers",
    "shrink",
    "reports",
    "workload",
)
"""The packages that are sent with the job: all but `dvs` and `given`, which only this process needs."""

PROBE_EVERY_S = 2.0
"""Seconds between two connections to the master while a task runs."""

MAX_FAILED_PROBES = 3
"""After so many failed connections in a row the cluster counts as lost."""

RESUME = "the scenarios judged so far are kept: start the cluster and continue with --resume"


PACKED = "dvs_harness.zip"
"""The name of the file with the project's packages, which executors fetch."""


@dataclass(slots=True)
class Cluster:
    """A connection to a cluster, used by several threads. `lost`: set once the cluster no longer answers.

    `advice`: what a user can do then.
    """

    session: SparkSession
    master: str
    advice: str = RESUME
    lost: threading.Event = field(default_factory=threading.Event)

    @property
    def context(self) -> SparkContext:
        """The context of the session."""
        return self.session.sparkContext

    @staticmethod
    def join(master: str, settings: Settings = Settings.TUNED, advice: str = RESUME) -> Cluster:
        """Returns a connection to a master. Raises CampaignError: no master answers.

        Raises SessionError where Spark does not start here.
        """
        if not answers(master):
            raise CampaignError(
                f"no Spark master answers at {master}; start it, or run on this machine: without --master, "
                "or with --master '' where you resume a run"
            )
        session = open_session(app_name="dvs", settings=settings, master=master)
        context = session.sparkContext
        # Spark refuses a second file of the same name, and a process has one context for all its runs.
        if not any(file.endswith(f"/{PACKED}") for file in context.listFiles):
            # Executors may fetch the file as long as this process lives.
            folder = Path(tempfile.mkdtemp(prefix="dvs-cluster-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            context.addPyFile(str(packed(folder)))
        return Cluster(session, master, advice)

    def call(self, work: Callable[..., Result], *args: object) -> Result:
        """Runs a function as one Spark task and returns its result; executors must be able to import it.

        Raises CampaignError where the cluster is lost, or the task fails there.
        """
        with self._watched():
            results: list[Result] = (
                self.context.parallelize([args], 1).map(lambda each: work(*each)).collect()
            )
        return results[0]

    def collect(self, asked: DataFrame) -> list[Row]:
        """Returns the rows of a query. Raises CampaignError as `call` does."""
        with self._watched():
            return asked.collect()

    def table(self, asked: DataFrame) -> pa.Table:
        """Returns the rows of a query as a table of Arrow. Raises CampaignError as `call` does."""
        with self._watched():
            return asked.toArrow()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Cancels the block's job when the master is lost: Spark would wait for the master for ever."""
        done, tag = threading.Event(), f"chunk-{uuid.uuid4().hex}"

        def watch() -> None:
            failed = 0
            while not done.wait(PROBE_EVERY_S):
                failed = 0 if answers(self.master) else failed + 1
                if failed >= MAX_FAILED_PROBES:
                    self.lost.set()
                if self.lost.is_set():
                    self.context.cancelJobsWithTag(tag)

        watching = threading.Thread(target=watch, daemon=True)
        self.context.addJobTag(tag)
        watching.start()
        try:
            yield
        except Exception as error:
            if self.lost.is_set() or not answers(self.master):
                self.lost.set()
                raise CampaignError(
                    f"the cluster at {self.master} does not answer any more; {self.advice}"
                ) from error
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            message = next(
                (line for line in reversed(lines) if "Error" in line), (lines or ["no message"])[0]
            )
            raise CampaignError(
                f"a task failed on the cluster at {self.master}: {message[:300]}; install the libraries of "
                "this project in the Python of its workers (PYSPARK_PYTHON names that Python)"
            ) from error
        finally:
            done.set()
            watching.join()
            self.context.removeJobTag(tag)


def answers(master: str) -> bool:
    """Tells whether a process listens at `spark://host:port`. Raises CampaignError: no such address."""
    address = re.fullmatch(r"spark://([^:/@]+):(\d{1,5})", master)
    if address is None:
        raise CampaignError(f"--master {master!r} is no address of a Spark master; write spark://host:7077")
    try:
        with socket.create_connection((address[1], int(address[2])), timeout=5):
            return True
    except (OSError, OverflowError):
        return False


def packed(folder: Path) -> Path:
    """Writes the project's packages to a zip file from which Python can import them; returns its path."""
    root = Path(__file__).resolve().parents[2]
    path = folder / PACKED
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for file in sorted((root / package).rglob("*.py")):
                archive.write(file, file.relative_to(root))
    return path
