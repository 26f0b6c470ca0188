"""Starts the JVM of a session: its configuration, its environment, its log."""

import fcntl
import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dynamic_tables.errors import SessionError
from dynamic_tables.session.class_archive import make_archive
from dynamic_tables.session.jars import BESIDE, DELTA, LEFT_OUT, JarCache, proxy_options, unresolved
from dynamic_tables.session.java import Java, find_java
from dynamic_tables.session.settings import DELTA_SESSION, FILES, JVM_OPTIONS, MEMORY, RUNTIME, Settings

if TYPE_CHECKING:
    from pyspark import SparkContext

LOG_NAME = "spark.log"
"""The file in `scratch` to which the JVM's stderr goes."""

_LOGGING = Path(__file__).with_name("log4j2.properties")
"""The configuration of the JVM's log: errors only."""


def launch_conf(
    *,
    app_name: str,
    settings: Settings,
    master: str,
    scratch: Path,
    jars: tuple[Path, ...],
    flags: tuple[str, ...] = (),
    s3: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Returns the whole configuration of a session's JVM; every file that Spark writes is in `scratch`.

    `flags`: options of the JVM besides those of the settings. `s3`: settings of Hadoop's S3A.
    """
    options = (
        *JVM_OPTIONS[settings],
        *flags,
        "-Duser.timezone=UTC",
        f"-Djava.io.tmpdir={scratch / 'tmp'}",
        f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
    )
    local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {
        **DELTA_SESSION,
        **RUNTIME[settings],
        **MEMORY[settings],
        **FILES[settings],
        **(s3 or {}),
        # So Spark also runs on a machine whose host name does not resolve, such as a container.
        **(local if on_this_machine(master) else {}),
        "spark.app.name": app_name,
        "spark.master": master,
        "spark.jars": ",".join(map(str, jars)),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": shlex.join(options),
    }


def launch_environment(java: Java, *, master: str) -> dict[str, str]:
    """Returns the variables for Spark's start scripts; they replace those of the user's shell."""
    pinned = {"JAVA_HOME": str(java.home), "SPARK_HOME": str(spark_home())}
    if on_this_machine(master):
        # Workers run the Python of the driver, with the libraries of the driver.
        return {**pinned, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return pinned


def on_this_machine(master: str) -> bool:
    """Tells whether Spark's master runs on this machine: in the JVM itself, or at a loopback address."""
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


def spark_home() -> Path:
    """Returns the folder of the installed pyspark, which contains Spark, without importing pyspark.

    Raises SessionError: if pyspark is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SessionError(
            "pyspark is not installed",
            observed=sys.executable,
            remedy="Run `make setup`, then use its .venv.",
        )
    return Path(spec.submodule_search_locations[0])


def start_context(conf: Mapping[str, str], java: Java, scratch: Path) -> "SparkContext":
    """Starts a JVM with Spark and the configuration `conf`; its stderr goes to `scratch / LOG_NAME`.

    Raises SessionError: if the JVM ends before it answers.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    # There is no JVM yet from which defaults could be loaded.
    spark_conf = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    log = scratch / LOG_NAME
    with log.open("ab") as stderr, _environment(launch_environment(java, master=conf["spark.master"])):
        try:
            # After a context is stopped its JVM still runs, and pyspark would use that JVM again.
            gateway = SparkContext._gateway  # noqa: SLF001
            if gateway is None:
                gateway = launch_gateway(spark_conf, {"stderr": stderr})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise _did_not_start(java, log.read_text(errors="replace")) from error
        return SparkContext(conf=spark_conf, gateway=gateway)


def fetch_jars(env: Mapping[str, str], coordinate: str = DELTA) -> tuple[Path, ...]:
    """Returns jars from the cache, after downloading them into it if needed; needs no session.

    Several processes may call it at once: one downloads, the others wait.

    Raises SessionError: if there is no Java, or the jars are neither cached nor downloadable.
    """
    cache = JarCache.of(env, coordinate)
    if jars := cache.jars():
        return jars
    java = find_java(env)
    with _locked(cache.folder):
        return cache.jars() or _resolve(cache, java, env, coordinate)


def prepare(env: Mapping[str, str]) -> None:
    """Fills the cache with Delta's jars, and with the archive of classes from which sessions start faster.

    Raises SessionError: if there is no Java, or the jars are neither cached nor downloadable.
    """
    cache = JarCache.of(env)
    fetch_jars(env)
    with _locked(cache.folder):
        make_archive(find_java(env), spark_home(), env)


def _resolve(cache: JarCache, java: Java, env: Mapping[str, str], coordinate: str) -> tuple[Path, ...]:
    """Submits an empty program to Spark, so that its resolver, Ivy, downloads the coordinate."""
    packages = ",".join((coordinate, *BESIDE.get(coordinate, ())))
    left_out = LEFT_OUT.get(coordinate, ())
    with tempfile.TemporaryDirectory(prefix="dvs-jars-") as folder:
        program = Path(folder) / "nothing.py"
        program.touch()
        command: tuple[str | Path, ...] = (
            spark_home() / "bin" / "spark-submit",
            *("--master", "local[1]", "--packages", packages),
            *(("--exclude-packages", ",".join(left_out)) if left_out else ()),
            *("--conf", f"spark.jars.ivy={cache.folder}"),
            *("--conf", f"spark.driver.extraJavaOptions={shlex.join(proxy_options(env))}"),
            program,
        )
        outcome = subprocess.run(
            command,
            env={**env, **launch_environment(java, master="local[1]")},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if outcome.returncode != 0:
        log = outcome.stdout + outcome.stderr
        raise unresolved(log, coordinate) or _did_not_start(java, log)
    return cache.seal()


def _did_not_start(java: Java, log: str) -> SessionError:
    """Returns the error of a JVM that ended at once, with the first line of its log that names an error."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    message = next(
        (line for line in lines if "Exception" in line or "rror" in line), (lines or ["no output"])[-1]
    )
    return SessionError(
        f"Spark's JVM (Java {java.major} in {java.home}) did not start",
        observed=message,
        remedy="Run `dvs doctor` to see which part of the set-up is at fault.",
    )


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Opens a block in which `os.environ` has `changes`, because the launcher of pyspark reads it there."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Opens a block in which a folder is locked against other processes; a lock ends with its process.

    Raises SessionError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise SessionError(
            "The cache of Delta's jars cannot be written",
            observed=str(error),
            remedy="Point DVS_CACHE at a folder that can.",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
