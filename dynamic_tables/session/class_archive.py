"""An archive of loaded classes, from which the JVM of a session starts about a quarter faster.

Java calls it application class-data sharing. The JVM compares the archive with its own version and class
path and starts without it, silently, if they differ: an archive changes only how fast a session starts.
"""

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dynamic_tables.session.jars import DELTA
from dynamic_tables.session.java import Java

QUIET = ("-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
"""Options of a JVM that uses or writes an archive: without a usable one it starts too, and prints nothing."""

MAKING = "DVS_CLASS_ARCHIVE"
"""The variable that names the archive to write, in the process that makes one."""

LIMIT_S = 300
"""Seconds after which the program that writes the archive is ended."""

WARM_UP = """
import sys, tempfile
from pathlib import Path
from pyspark import SparkContext
from dynamic_tables.session import open_session
from dynamic_tables.session.probe import commit_and_read

with tempfile.TemporaryDirectory(prefix="dvs-classes-") as folder:
    session = open_session(scratch=Path(folder) / "spark")
    commit_and_read(session, Path(folder) / "table")
    session.sql("SELECT id % 3 AS k, count(*) AS n, sum(id) AS s FROM range(9) GROUP BY ALL").toArrow()
    session.stop()
    # The JVM writes the archive when it ends.
    jvm = SparkContext._gateway.proc
    jvm.stdin.close()
    sys.exit(jvm.wait())
"""
"""A program that uses the parts of Spark and Delta that every refresh uses."""


def archive_folder(java: Java, spark_home: Path, prefix: Path = Path(sys.prefix)) -> Path:
    """Returns the folder of the archive for a Java and a Spark, in the environment of this Python.

    Each environment has its own, because Java accepts an archive only with the very paths of its jars.
    """
    release = java.home / "release"
    parts = (str(java.home), release.read_text() if release.is_file() else "", str(spark_home), DELTA)
    key = hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]
    return prefix / "share" / "dvs-harness" / f"classes-{key}"


def archive_in(folder: Path) -> Path | None:
    """Returns the archive in a folder, whose name is its size in bytes; None if there is none in full.

    A JVM with an archive that is cut short would crash.
    """
    archives = (path for path in folder.glob("*.jsa") if path.stem == str(path.stat().st_size))
    return next(archives, None)


def archive_options(java: Java, spark_home: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the JVM's options that use the archive; none if there is no archive."""
    if making := env.get(MAKING):
        return (*QUIET, f"-XX:ArchiveClassesAtExit={making}")
    path = archive_in(archive_folder(java, spark_home))
    return (*QUIET, f"-XX:SharedArchiveFile={path}") if path else ()


def make_archive(java: Java, spark_home: Path, env: Mapping[str, str]) -> bool:
    """Writes the archive unless it exists; it takes half a minute. Returns whether it is there.

    A failure is no error: sessions then start without an archive.
    """
    folder = archive_folder(java, spark_home)
    if archive_in(folder):
        return True
    written = folder / "new"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-c", WARM_UP],
            env={**env, MAKING: str(written)},
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
        )
        written.rename(folder / f"{written.stat().st_size}.jsa")
    except (OSError, subprocess.SubprocessError):
        return False
    return True
