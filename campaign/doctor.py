"""Can this machine run everything? Each part of the set-up is tried for real, not looked up."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib import metadata
from pathlib import Path

from campaign.adapters.pglite.packages import needed
from campaign.errors import CampaignError
from dynamic_tables.errors import SessionError
from dynamic_tables.session import Settings, open_session
from dynamic_tables.session.jars import DELTA, JarCache
from dynamic_tables.session.java import find_java
from dynamic_tables.session.probe import DeltaProbe, commit_and_read

DISTRIBUTION = "dvs-harness"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MINIMUM_PYTHON = (3, 11)
CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
SET_UP_AGAIN = "Run `make setup`, and use the `dvs` of its .venv."


class Status(Enum):
    """What came of a check.

    ABSENT: what not every user needs is not there. SKIPPED: something it needs had failed before.
    """

    OK = "ok"
    ABSENT = "absent"
    FAILED = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One part of the set-up: what was found, and what to do if that is wrong."""

    name: str
    status: Status
    found: str
    remedy: str = ""


class Ailment(Exception):
    """A part of the set-up is not as it must be."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(found)
        self.found = found
        self.remedy = remedy


def examine(env: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """Try every part, in the order in which they build on each other; each result as soon as it is known."""
    yield attempt("Python", python)
    yield attempt("Libraries", lambda: libraries(locked_versions(CONSTRAINTS)))
    yield attempt("DuckDB", duckdb)
    yield optional("PGlite", lambda: pglite(env))
    yield optional("Chromium", lambda: chromium(env))
    basics = [attempt("Java", lambda: java(env)), attempt("Delta's jars", lambda: jars(env))]
    yield from basics
    if any(check.status is Status.FAILED for check in basics):
        yield from (Check(name, Status.SKIPPED, "needs the above") for name in ("Spark", "Delta", "delta-rs"))
        return
    yield from spark_and_delta()


def attempt(name: str, part: Callable[[], str]) -> Check:
    """Try one part. Whatever it raises is a finding: a doctor does not faint."""
    try:
        return Check(name, Status.OK, part())
    except (Ailment, SessionError) as error:
        return Check(name, Status.FAILED, error.found, error.remedy)
    except Exception as error:  # noqa: BLE001
        said = (str(error).strip().splitlines() or [""])[0]
        return Check(name, Status.FAILED, f"{type(error).__name__}: {said}", SET_UP_AGAIN)


def optional(name: str, part: Callable[[], str]) -> Check:
    """Try a part that only some need."""
    tried = attempt(name, part)
    return replace(tried, status=Status.ABSENT) if tried.status is Status.FAILED else tried


def python() -> str:
    """The running Python."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < MINIMUM_PYTHON:
        raise Ailment(found, f"Python {'.'.join(map(str, MINIMUM_PYTHON))} or newer is needed.")
    return found


def locked_versions(constraints: Path) -> dict[str, str]:
    """The version of every library in a constraints file; empty if there is none, as outside a checkout."""
    if not constraints.exists():
        return {}
    lines = (line.partition("#")[0].strip() for line in constraints.read_text().splitlines())
    pairs = (line.partition("==") for line in lines if line)
    return {name: version for name, _, version in pairs}


def libraries(locked: Mapping[str, str]) -> str:
    """Installed versions of what the project itself requires; tools of its developers only if installed."""
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
        raise Ailment("; ".join(wrong), SET_UP_AGAIN)
    against = "at the locked versions" if locked else "present, no constraints.txt to compare with"
    shown = ", ".join(
        f"{name} {installed[name]}" for name in ("pyspark", "delta-spark", "duckdb", "deltalake")
    )
    return f"{len(installed)} {against}, among them {shown}"


def duckdb() -> str:
    """DuckDB computes."""
    # Imported here, so that a library that does not load is a finding of this check.
    from oracle.probe import duckdb_answer

    answer = duckdb_answer()
    if answer != 10:
        raise Ailment(f"0 + 1 + 2 + 3 + 4 gave {answer}", SET_UP_AGAIN)
    return "computes"


def pglite(env: Mapping[str, str]) -> str:
    """PostgreSQL with pg_ivm, for its adapter."""
    try:
        return f"in {needed(env).folder}"
    except CampaignError as error:
        raise Ailment(str(error), "Only `--tier adapter:pg_ivm` needs it.") from error


def chromium(env: Mapping[str, str]) -> str:
    """A browser, for the tests of the pages."""
    found = next((path for name in BROWSERS if (path := shutil.which(name, path=env.get("PATH")))), None)
    if found is None:
        remedy = "Only the tests of the pages need it: `apt-get install chromium`."
        raise Ailment("there is none; those tests are skipped", remedy)
    return found


def java(env: Mapping[str, str]) -> str:
    """The Java that Spark will be started with."""
    found = find_java(env)
    return f"{found.major} in {found.home} (by {found.found_by})"


def jars(env: Mapping[str, str]) -> str:
    """Delta's jars are in the cache, so that no session needs a network."""
    cache = JarCache.of(env)
    cached = cache.jars()
    if cached is None:
        raise Ailment(f"{DELTA} is not in {cache.folder}", "Run `make setup` once with a network.")
    return f"{len(cached)} in {cache.folder}"


def spark_and_delta() -> Iterator[Check]:
    """A session starts; Delta commits in it and reads back; delta-rs reads the same rows."""
    session = cache(lambda: open_session(app_name="dvs-doctor", settings=Settings.TUNED))
    with tempfile.TemporaryDirectory(prefix="dvs-doctor-") as scratch:
        table = Path(scratch) / "table"
        spark = attempt("Spark", lambda: f"{session().version}, a session starts")
        yield spark
        if spark.status is Status.OK:
            delta = attempt("Delta", lambda: delta_commits(commit_and_read(session(), table)))
            session().stop()
        else:
            delta = Check("Delta", Status.SKIPPED, "needs a session")
        yield delta
        if delta.status is Status.OK:
            yield attempt("delta-rs", lambda: delta_rs_reads(table))
        else:
            yield Check("delta-rs", Status.SKIPPED, "needs a table")


def delta_commits(probe: DeltaProbe) -> str:
    """Commits land and read back, with row ids that outlive an update and a change feed."""
    if probe.problem:
        raise Ailment(probe.problem, SET_UP_AGAIN)
    return "commits and reads back; row ids outlive an update; the change feed has both images"


def delta_rs_reads(table: Path) -> str:
    """The independent reader sees the rows that Spark committed."""
    from oracle.probe import delta_rows

    rows = sorted(delta_rows(table), key=repr)
    if rows != [(1, "a"), (2, "c")]:
        raise Ailment(f"it reads {rows} where Spark wrote (1, a), (2, c)", SET_UP_AGAIN)
    return "reads the rows that Spark committed"
