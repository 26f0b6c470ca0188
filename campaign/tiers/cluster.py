"""Judging on an existing Spark cluster: scenarios are tasks, with engine and oracle in the executors.

Nothing of ours schedules work across machines. The workers' Python needs the libraries of this project; the
project itself travels with the job.
"""

from __future__ import annotations

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
from urllib.parse import urlsplit

from campaign.errors import CampaignError
from dynamic_tables.session import Settings, open_session

if TYPE_CHECKING:
    from pyspark import SparkContext

Result = TypeVar("Result")

PACKAGES = (
    "campaign",
    "dvs_model",
    "dynamic_tables",
    "generators",
    "oracle",
    "protocols",
    "reference",
    "reports",
    "workload",
)
"""What travels: every package of the project."""

PROBE_EVERY = 2.0
"""Seconds between two looks at the master while a task runs."""

SILENT = 3
"""Looks without an answer after which the cluster counts as gone."""


@dataclass(slots=True)
class Cluster:
    """A connection to a cluster, used by several threads."""

    context: SparkContext
    master: str
    gone: threading.Event = field(default_factory=threading.Event)

    @staticmethod
    def join(master: str) -> Cluster:
        """Connects. Raises CampaignError where no master answers, SessionError where Spark does not start."""
        if not answers(master):
            raise CampaignError(
                f"no Spark master answers at {master}; start it, or run here: without --master, "
                "and where a run goes on with --master ''"
            )
        context = open_session(app_name="dvs", settings=Settings.TUNED, master=master).sparkContext
        context.addPyFile(str(packed(Path(tempfile.mkdtemp(prefix="dvs-cluster-")))))
        return Cluster(context, master)

    def call(self, work: Callable[..., Result], *args: object) -> Result:
        """Runs a function of one of our modules as one task.

        Raises CampaignError where the cluster is gone, or the task fails there.
        """
        with self._watched():
            found: list[Result] = (
                self.context.parallelize([args], 1).map(lambda given: work(*given)).collect()
            )
        return found[0]

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Gives up on a job when the master is gone: Spark itself would wait for it for ever."""
        done, tag = threading.Event(), f"chunk-{uuid.uuid4().hex}"

        def watch() -> None:
            silent = 0
            while not done.wait(PROBE_EVERY):
                silent = 0 if answers(self.master) else silent + 1
                if silent >= SILENT:
                    self.gone.set()
                if self.gone.is_set():
                    self.context.cancelJobsWithTag(tag)

        watching = threading.Thread(target=watch, daemon=True)
        self.context.addJobTag(tag)
        watching.start()
        try:
            yield
        except Exception as error:
            if self.gone.is_set() or not answers(self.master):
                self.gone.set()
                raise CampaignError(
                    f"the cluster at {self.master} went away; what was judged is kept, and --resume goes on "
                    "from there"
                ) from error
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            told = next((line for line in reversed(lines) if "Error" in line), (lines or ["no word"])[0])
            raise CampaignError(
                f"a task failed on the cluster at {self.master}: {told[:300]}; its workers' Python needs the "
                "libraries of this project (PYSPARK_PYTHON says which Python that is)"
            ) from error
        finally:
            done.set()
            watching.join()
            self.context.removeJobTag(tag)


def answers(master: str) -> bool:
    """Whether somebody listens at `spark://host:port`. Raises CampaignError for another form."""
    place = urlsplit(master)
    try:
        port = place.port
    except ValueError:
        port = None
    if place.scheme != "spark" or not place.hostname or port is None:
        raise CampaignError(f"--master {master}: it looks like spark://host:7077")
    try:
        with socket.create_connection((place.hostname, port), timeout=5):
            return True
    except OSError:
        return False


def packed(folder: Path) -> Path:
    """The project's packages as one file that Python can import from."""
    root = Path(__file__).resolve().parents[2]
    path = folder / "dvs_harness.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for file in sorted((root / package).rglob("*.py")):
                archive.write(file, file.relative_to(root))
    return path
