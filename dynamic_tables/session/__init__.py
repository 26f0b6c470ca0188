"""Opens Spark sessions with Delta, ready for dynamic tables; only the first call needs the network.

pyspark is imported inside the functions, so that importing this package is fast.
"""

import atexit
import logging
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from dynamic_tables.errors import SessionError
from dynamic_tables.session import dead
from dynamic_tables.session.class_archive import archive_options
from dynamic_tables.session.jars import DELTA, INSTALL_SPARK, S3A
from dynamic_tables.session.java import find_java
from dynamic_tables.session.launch import fetch_jars, launch_conf, spark_home, start_context
from dynamic_tables.session.settings import Settings, overrides, s3_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Settings", "open_session"]

_OPENING = threading.Lock()
"""Held while a session is opened, because a process can have only one JVM."""


def open_session(
    *,
    app_name: str = "dynamic-tables",
    settings: Settings = Settings.SIZED,
    master: str = "local[*]",
    scratch: Path | None = None,
    s3: bool = False,
) -> "SparkSession":
    """Opens a Spark session that has Delta, the time zone UTC and the given settings, and prints nothing.

    The default settings are sized to this machine; docs/engine.md describes them and the others.

    A process has at most one JVM. The first call starts it; a later call returns a new session on it, with
    temporary views and SQL settings of its own, but with the flags, memory and files of the first. If the
    JVM has died, the call starts another. `scratch` is the folder for Spark's own files and the JVM's log;
    the default is a temporary folder that is removed at the end of the process. `s3`: with Hadoop's S3A, for
    accounts at `s3a://...`; see docs/object-stores.md.

    Raises SessionError: if pyspark or a usable Java is missing, Delta's jars cannot be downloaded, the JVM
    does not start, or the process already runs a Spark without Delta or on another master.

    Example: `spark = open_session(settings=Settings.TUNED)` for many refreshes of tiny tables.
    """
    try:
        from pyspark import SparkContext
    except ModuleNotFoundError as error:
        raise SessionError(
            "This needs Spark, which is not installed",
            observed=str(error),
            remedy=f"Install it: {INSTALL_SPARK}.",
        ) from error

    # pyspark prints every error with its Java stack to stderr before it raises it.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    with _OPENING:
        running = SparkContext._active_spark_context  # noqa: SLF001  (pyspark has no public way to ask)
        if running is not None and not dead.answers(running):
            dead.forget()
            running = None
        if running is None:
            return _first_session(app_name, settings, master, scratch or _temporary_folder(), s3=s3)
        return _next_session(settings, master)


def _first_session(
    app_name: str, settings: Settings, master: str, scratch: Path, *, s3: bool
) -> "SparkSession":
    """Starts the JVM and returns its first session; see `open_session`."""
    from pyspark.sql import SparkSession

    (scratch / "tmp").mkdir(parents=True, exist_ok=True)
    java = find_java(os.environ)
    conf = launch_conf(
        app_name=app_name,
        settings=settings,
        master=master,
        scratch=scratch.absolute(),
        jars=tuple(jar for each in (DELTA, S3A)[: 1 + s3] for jar in fetch_jars(os.environ, each)),
        flags=archive_options(java, spark_home(), os.environ),
        s3=s3_settings(os.environ) if s3 else {},
    )
    return SparkSession(start_context(conf, java, scratch))


def _next_session(settings: Settings, master: str) -> "SparkSession":
    """Returns a new session on the JVM that runs. Raises SessionError: another master, or no Delta."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate().newSession()
    running_on = session.sparkContext.master
    if running_on != master:
        raise SessionError(
            f"A process runs only one Spark, and a session on {master} was asked for",
            observed=f"it runs on {running_on}",
            remedy="Stop that session, or ask for the same master.",
        )
    if "io.delta" not in (session.conf.get("spark.sql.extensions", "") or ""):
        raise SessionError(
            "The Spark that runs in this process has no Delta",
            observed="spark.sql.extensions does not name it",
            remedy="Start it with Delta's extension and catalog, or leave it to `open_session`.",
        )
    for name, value in overrides(settings).items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)
    return session


def _temporary_folder() -> Path:
    """Creates a folder that is removed at the end of the process, and returns it."""
    folder = Path(tempfile.mkdtemp(prefix="dvs-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
