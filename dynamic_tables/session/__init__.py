"""A Spark session with Delta, ready for dynamic tables: one call, no network after the first.

pyspark is imported by the call and not by the module, so that importing this package is free.
"""

import atexit
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from dynamic_tables.errors import SessionError
from dynamic_tables.session import dead
from dynamic_tables.session.java import find_java
from dynamic_tables.session.launch import fetch_jars, launch_conf, start_context
from dynamic_tables.session.settings import Settings, overrides

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Settings", "open_session"]

_OPENING = threading.Lock()


def open_session(
    *,
    app_name: str = "dynamic-tables",
    settings: Settings = Settings.STOCK,
    master: str = "local[2]",
    scratch: Path | None = None,
) -> "SparkSession":
    """Open a Spark session that has Delta, in UTC, silent, with `settings`.

    A process has at most one JVM. The first call starts it; a later call gives a session of its own
    on it (own temporary views, own SQL settings), while the JVM's flags, memory and files stay those
    of the first. `scratch` takes every file Spark writes on its own account and the JVM's log; by
    default it is a temporary folder that goes with the process. Where the JVM has died, the call
    starts another.

    Raises:
        SessionError: no usable Java, Delta's jars cannot be had, the JVM does not start, or the
            process already runs a Spark without Delta or on another master.
    """
    from pyspark import SparkContext

    with _OPENING:
        running = SparkContext._active_spark_context  # noqa: SLF001  (there is no public question)
        if running is not None and not dead.answers(running):
            dead.forget()
            running = None
        if running is None:
            return _first_session(app_name, settings, master, scratch or _temporary_folder())
        return _next_session(settings, master)


def _first_session(app_name: str, settings: Settings, master: str, scratch: Path) -> "SparkSession":
    from pyspark.sql import SparkSession

    (scratch / "tmp").mkdir(parents=True, exist_ok=True)
    java = find_java(os.environ)
    conf = launch_conf(
        app_name=app_name,
        settings=settings,
        master=master,
        scratch=scratch.absolute(),
        jars=fetch_jars(os.environ),
    )
    return SparkSession(start_context(conf, java, scratch))


def _next_session(settings: Settings, master: str) -> "SparkSession":
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate().newSession()
    found = session.sparkContext.master
    if found != master:
        raise SessionError(
            f"A process runs one Spark, and the session asked for is on {master}",
            found=f"it runs on {found}",
            remedy="Stop that session, or ask for the same master.",
        )
    if "io.delta" not in (session.conf.get("spark.sql.extensions", "") or ""):
        raise SessionError(
            "The Spark that runs in this process has no Delta",
            found="spark.sql.extensions does not name it",
            remedy="Start it with Delta's extension and catalog, or leave it to `open_session`.",
        )
    for name, value in overrides(settings).items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)
    return session


def _temporary_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="dvs-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
