"""What all tests share: Hypothesis without a clock, for a busy machine is no bug; and who runs what.

With pytest-xdist (`--dist loadgroup`) the tests of one file run on one worker, so that its fixtures are made
once. Those that use the Spark of their process run on one worker, so that one JVM serves them all; those that
start a JVM in another process run one after the other. Both kinds begin first, since they take longest.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.depth import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def quiet_end() -> None:
    """Drops what is written to stderr after the last test.

    There DuckDB's binding lists, in fifty lines, which of its objects Python has not freed when it ends. It
    would look like a failure.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


atexit.register(quiet_end)


def end_with_all(*_: object) -> None:
    """Ends what this process has started, however deep, and itself: workers, JVMs, commands, their children.

    Without it a JVM would live on until its worker notices, and the processes of a cluster for ever.
    """
    stopped: set[int] = set()
    while new := descendants(os.getpid()) - stopped:
        for process in new:
            # Stopped, a process starts no other while they are looked for.
            sent(process, signal.SIGSTOP)
        stopped |= new
    for process in stopped:
        sent(process, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def sent(process: int, what: signal.Signals) -> None:
    """Sends a signal to a process, if it still runs."""
    with suppress(ProcessLookupError):
        os.kill(process, what)


def descendants(process: int) -> set[int]:
    """The children of a process, and theirs."""
    found: set[int] = set()
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            children = {int(word) for word in file.read_text().split()}
            found |= children.union(*map(descendants, children))
    return found


QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's flags for a JVM of seconds: the full compiler doubles the CPU time of the first minute."""


def pytest_configure() -> None:
    """Gives Hypothesis the depth of this run, and the processes that tests start a quick JVM.

    The depth not before: here pytest shows a bad value in one line. Nothing that is collected is garbage.
    """
    gc.disable()
    settings.register_profile("house", deadline=None, max_examples=examples(100))
    settings.load_profile("house")
    os.environ.setdefault("JAVA_TOOL_OPTIONS", QUICK_JVM)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end_with_all)


LONGEST_FIRST = ("spark", "own JVM", "tests/e2e", "tests/truth", "tests/laws", "tests/conformance")
"""Beginnings of groups: a long file that begins last would keep one worker busy while the others wait."""


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """The Spark session of this process, which many tests use one after the other.

    With the full compiler (LASTING) they take four fifths of the time that they take without it.
    """
    from dynamic_tables.session import Settings, open_session

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JAVA_TOOL_OPTIONS")
        return open_session(settings=Settings.LASTING)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives each test its group, and puts the groups in order."""
    groups = {item: group_of(item) for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: place_of(groups[item]))


def pytest_collection_finish() -> None:
    """Leaves all tests and modules out of what is searched for garbage, and searches less often."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def group_of(item: pytest.Item) -> str:
    """What runs on one worker with a test."""
    if item.get_closest_marker("own_jvm"):
        return "own JVM"
    return "spark" if item.get_closest_marker("spark") else item.nodeid.partition("::")[0]


def place_of(group: str) -> int:
    """Where a group stands in the order."""
    places = (place for place, start in enumerate(LONGEST_FIRST) if group.startswith(start))
    return next(places, len(LONGEST_FIRST))
