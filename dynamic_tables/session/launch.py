"""How the JVM of a session is started: its configuration, its environment, its log."""

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
from dynamic_tables.session.jars import DELTA, JarCache, proxy_options, unresolved
from dynamic_tables.session.java import Java, find_java
from dynamic_tables.session.settings import DELTA_SESSION, JVM_OPTIONS, MEMORY, RUNTIME, Settings

if TYPE_CHECKING:
    from pyspark import SparkContext

LOG_NAME = "spark.log"
_LOGGING = Path(__file__).with_name("log4j2.properties")


def launch_conf(
    *, app_name: str, settings: Settings, master: str, scratch: Path, jars: tuple[Path, ...]
) -> dict[str, str]:
    """The whole configuration a session's JVM is started with; every file Spark writes is in `scratch`."""
    options = (
        *JVM_OPTIONS[settings],
        "-Duser.timezone=UTC",
        f"-Djava.io.tmpdir={scratch / 'tmp'}",
        f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
    )
    local = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {
        **DELTA_SESSION,
        **RUNTIME[settings],
        **MEMORY[settings],
        # A machine whose own name does not resolve, such as a container, can still run Spark on itself.
        **(local if on_this_machine(master) else {}),
        "spark.app.name": app_name,
        "spark.master": master,
        "spark.jars": ",".join(map(str, jars)),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": shlex.join(options),
    }


def launch_environment(java: Java, *, master: str) -> dict[str, str]:
    """What Spark's start scripts read from the environment, whatever the user's shell says."""
    pinned = {"JAVA_HOME": str(java.home), "SPARK_HOME": str(spark_home())}
    if on_this_machine(master):
        # Workers run the Python of the driver, with the libraries of the driver.
        return {**pinned, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return pinned


def on_this_machine(master: str) -> bool:
    """Whether Spark's master and workers are here: none of their own, or those of a loopback address."""
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


def spark_home() -> Path:
    """The folder of the installed pyspark, which is a whole Spark; found without loading it.

    Raises:
        SessionError: pyspark is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SessionError(
            "pyspark is not installed", found=sys.executable, remedy="Run `make setup`, then use its .venv."
        )
    return Path(spec.submodule_search_locations[0])


def start_context(conf: Mapping[str, str], java: Java, scratch: Path) -> "SparkContext":
    """Start a JVM with `conf`, and Spark in it; what it says on stderr goes to `scratch / LOG_NAME`.

    Raises:
        SessionError: the JVM ended before it answered.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    # Without the JVM's defaults: there is no JVM yet.
    spark_conf = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    log = scratch / LOG_NAME
    with log.open("ab") as stderr, _environment(launch_environment(java, master=conf["spark.master"])):
        try:
            # A stopped context leaves its JVM, and pyspark would use that one anyway.
            gateway = SparkContext._gateway  # noqa: SLF001
            if gateway is None:
                gateway = launch_gateway(spark_conf, {"stderr": stderr})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise _did_not_start(java, log.read_text(errors="replace")) from error
        return SparkContext(conf=spark_conf, gateway=gateway)


def fetch_jars(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Delta's jars, from the cache if they are there, else downloaded into it; needs no session.

    Safe to call from several processes at once: one downloads, the others wait for it.

    Raises:
        SessionError: no Java, or the jars are neither cached nor downloadable.
    """
    cache = JarCache.of(env)
    if jars := cache.jars():
        return jars
    java = find_java(env)
    with _locked(cache.folder):
        return cache.jars() or _resolve(cache, java, env)


def _resolve(cache: JarCache, java: Java, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Let Spark's own resolver, Ivy, download the coordinate: it submits an empty program."""
    with tempfile.TemporaryDirectory(prefix="dvs-jars-") as folder:
        program = Path(folder) / "nothing.py"
        program.touch()
        command: tuple[str | Path, ...] = (
            spark_home() / "bin" / "spark-submit",
            *("--master", "local[1]", "--packages", DELTA),
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
        raise unresolved(log) or _did_not_start(java, log)
    return cache.seal()


def _did_not_start(java: Java, log: str) -> SessionError:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    told = next(
        (line for line in lines if "Exception" in line or "rror" in line), (lines or ["no output"])[-1]
    )
    return SessionError(
        f"Spark's JVM (Java {java.major} in {java.home}) did not start",
        found=told,
        remedy="Run `dvs doctor` to see which part of the set-up is at fault.",
    )


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """`os.environ` with `changes`, put back afterwards: the launcher of pyspark reads it from there."""
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
    """Hold `folder` against other processes; the lock goes with the process that holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise SessionError(
            "The cache of Delta's jars cannot be written",
            found=str(error),
            remedy="Point DVS_CACHE at a folder that can.",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
