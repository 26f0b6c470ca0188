"""The checks of `dvs doctor`: each uses one part of the set-up, instead of only looking for it."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import metadata
from pathlib import Path

from dynamic_tables.errors import SessionError
from dynamic_tables.session import Settings, open_session
from dynamic_tables.session.jars import DELTA, JarCache
from dynamic_tables.session.java import find_java
from dynamic_tables.session.probe import DeltaProbe, commit_and_read
from engines.errors import EngineError
from engines.others.node.packages import needed
from workload.schema import Column
from workload.types import INT, STRING

DISTRIBUTION = "dvs-harness"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MINIMUM_PYTHON = (3, 11)
CONSTRAINTS = Path(__file__).resolve().parents[2] / "constraints.txt"
SET_UP_AGAIN = "Run `make setup`, and use the `dvs` of its .venv."


class Status(Enum):
    """The result of a check.

    ABSENT: a part that only some users need does not work. SKIPPED: another part that it needs has failed.
    """

    OK = "ok"
    ABSENT = "absent"
    FAILED = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """The result for one part of the set-up. `remedy`: what to do where the part does not work."""

    name: str
    status: Status
    message: str
    remedy: str = ""


class CheckFailed(Exception):
    """Raised for a part of the set-up that does not work. `remedy`: what the user can do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def examine(env: Mapping[str, str] = os.environ) -> Iterator[SetupCheck]:
    """Yields the result of every check as soon as it is known; a part comes after the parts that it needs."""
    yield attempt("Python", python)
    yield attempt("Libraries", lambda: libraries(locked_versions(CONSTRAINTS)))
    yield attempt("DuckDB", duckdb)
    # Only some users need these two.
    yield attempt("PGlite", lambda: pglite(env), Status.ABSENT)
    yield attempt("Chromium", lambda: chromium(env), Status.ABSENT)
    basics = [attempt("Java", lambda: java(env)), attempt("Delta's jars", lambda: jars(env))]
    yield from basics
    if any(check.status is Status.FAILED for check in basics):
        yield from (
            SetupCheck(name, Status.SKIPPED, "needs Java and Delta's jars")
            for name in ("Spark", "Delta", "delta-rs")
        )
        return
    yield from spark_and_delta()


def attempt(name: str, part: Callable[[], str], failed: Status = Status.FAILED) -> SetupCheck:
    """Returns the result of checking a part; an exception becomes a check with the status `failed`."""
    try:
        return SetupCheck(name, Status.OK, part())
    except CheckFailed as error:
        return SetupCheck(name, failed, error.message, error.remedy)
    except SessionError as error:
        return SetupCheck(name, failed, error.observed, error.remedy)
    except Exception as error:  # noqa: BLE001  # a broken library may raise anything
        line = (str(error).strip().splitlines() or [""])[0]
        return SetupCheck(name, failed, f"{type(error).__name__}: {line}", SET_UP_AGAIN)


def python() -> str:
    """Returns the version of the running Python. Raises CheckFailed, as each check does: it is too old."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < MINIMUM_PYTHON:
        raise CheckFailed(version, f"Python {'.'.join(map(str, MINIMUM_PYTHON))} or newer is needed.")
    return version


def locked_versions(constraints: Path) -> dict[str, str]:
    """Returns the version of each library in a constraints file; empty without one, as outside a checkout."""
    if not constraints.exists():
        return {}
    lines = (line.partition("#")[0].strip() for line in constraints.read_text().splitlines())
    pairs = (line.partition("==") for line in lines if line)
    return {name: version for name, _, version in pairs}


def libraries(locked: Mapping[str, str]) -> str:
    """Returns a text on the installed libraries, compared with the locked versions.

    A development tool may be missing, but not have another version.
    """
    installed: dict[str, str] = {}
    wrong: list[str] = []
    for requirement in metadata.requires(DISTRIBUTION) or []:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            if "extra ==" not in requirement:
                wrong.append(f"{name} is missing")
            continue
        if locked and installed[name] != locked.get(name):
            wrong.append(f"{name} is {installed[name]}, locked at {locked.get(name, 'no version')}")
    if wrong:
        raise CheckFailed("; ".join(wrong), SET_UP_AGAIN)
    against = "at the locked versions" if locked else "present, no constraints.txt to compare with"
    shown = ", ".join(
        f"{name} {installed[name]}" for name in ("pyspark", "delta-spark", "duckdb", "deltalake")
    )
    return f"{len(installed)} {against}, among them {shown}"


def duckdb() -> str:
    """Returns a text that DuckDB works: it computes a sum."""
    # Imported here, so that a library that cannot be imported fails this check, not the whole command.
    from oracle.duck import run, shared_duckdb

    answer = run(shared_duckdb(), "SELECT CAST(sum(i) AS INT) FROM range(5) AS t(i)").rows[0][0]
    if answer != 10:
        raise CheckFailed(f"0 + 1 + 2 + 3 + 4 gives {answer!r}", SET_UP_AGAIN)
    return "computes a sum"


def pglite(env: Mapping[str, str]) -> str:
    """Returns the folder of PostgreSQL with pg_ivm, which only its adapter needs."""
    try:
        return f"in {needed(env).folder}"
    except EngineError as error:
        raise CheckFailed(str(error), "Only `--tier adapter:pg_ivm` needs it.") from error


def chromium(env: Mapping[str, str]) -> str:
    """Returns the path of a browser, which only the tests of the HTML pages need."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name, path=env.get("PATH")))), None)
    if browser is None:
        remedy = "Only the tests of the HTML pages need it: `apt-get install chromium`."
        raise CheckFailed("no browser; the tests that need it are skipped", remedy)
    return browser


def java(env: Mapping[str, str]) -> str:
    """Returns a text on the Java that starts Spark."""
    located = find_java(env)
    return f"{located.major} in {located.home} (by {located.found_by})"


def jars(env: Mapping[str, str]) -> str:
    """Returns a text on the cache with Delta's jars, with which no session needs a network."""
    cache = JarCache.of(env)
    cached = cache.jars()
    if cached is None:
        raise CheckFailed(f"{DELTA} is not in {cache.folder}", "Run `make setup` once with a network.")
    return f"{len(cached)} in {cache.folder}"


def spark_and_delta() -> Iterator[SetupCheck]:
    """Yields the checks of Spark, Delta and delta-rs: each works on the result of the one before."""
    session = cache(lambda: open_session(app_name="dvs-doctor", settings=Settings.TUNED))
    with tempfile.TemporaryDirectory(prefix="dvs-doctor-") as scratch:
        table = Path(scratch) / "table"
        spark = attempt("Spark", lambda: f"{session().version}, a session starts")
        yield spark
        if spark.status is Status.OK:
            delta = attempt("Delta", lambda: delta_commits(commit_and_read(session(), table)))
            session().stop()
        else:
            delta = SetupCheck("Delta", Status.SKIPPED, "needs Spark")
        yield delta
        if delta.status is Status.OK:
            yield attempt("delta-rs", lambda: delta_rs_reads(table))
        else:
            yield SetupCheck("delta-rs", Status.SKIPPED, "needs Delta")


def delta_commits(probe: DeltaProbe) -> str:
    """Returns a text that Delta works: commits, row ids that an update keeps, and the change data feed."""
    if probe.problem:
        raise CheckFailed(probe.problem, SET_UP_AGAIN)
    return "commits and reads back; an update keeps row ids; the change data feed has both images"


def delta_rs_reads(table: Path) -> str:
    """Returns a text that delta-rs works: it reads the rows that Spark committed."""
    from oracle.delta_reader import newest_version, read_rows

    columns = (Column("k", INT), Column("v", STRING))
    rows = sorted(read_rows(table, newest_version(table), columns), key=repr)
    if rows != [(1, "a"), (2, "c")]:
        raise CheckFailed(f"it reads {rows} where Spark wrote (1, a), (2, c)", SET_UP_AGAIN)
    return "reads the rows that Spark committed"
