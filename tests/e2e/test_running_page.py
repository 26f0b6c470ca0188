"""The walk-through of docs/running.md, run as it stands: five tables, a group, a process that is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.command.main import command as tables
from dynamic_tables.schedule.clock import WallClock
from tests.e2e.test_page_in_chromium import BROWSER, QUIET

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

PAGE = Path(__file__).parents[2] / "docs" / "running.md"
PATIENCE = 600.0
"""Seconds that a loaded machine may take for what an idle one does in twenty."""

Running = subprocess.Popen[str]


def command(*arguments: str) -> list[str]:
    """Returns the command line of `dvs-tables`."""
    return [sys.executable, "-c", "from dynamic_tables.command.main import main; main()", *arguments]


def start_runner(folder: str) -> Running:
    """Starts the process that keeps an account fresh."""
    return subprocess.Popen(
        command("run", folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def kill(runner: Running) -> None:
    """Kills a process and its JVM, without any chance to tidy up."""
    os.killpg(runner.pid, signal.SIGKILL)
    runner.wait()


def stop(runner: Running) -> None:
    """Ends a process as an operator does; it must end well."""
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(timeout=PATIENCE) == 0, runner.communicate()[0]


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        # Each look is a query; more of them would take the time from what is waited for.
        time.sleep(1.5)


@pytest.fixture
def runners() -> Iterator[list[Running]]:
    started: list[Running] = []
    yield started
    for runner in started:
        if runner.poll() is None:
            kill(runner)


def test_the_walk_through(tmp_path: Path, spark: SparkSession, runners: list[Running]) -> None:
    blocks = re.findall(r"^```python walk\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.M)
    assert len(blocks) == 4
    folder = str(tmp_path / "account")

    def started(folder: str) -> Running:
        runners.append(start_runner(folder))
        return runners[-1]

    names: dict[str, object] = {
        "folder": folder,
        "data": str(tmp_path / "data"),
        "start_runner": started,
        "kill": kill,
        "stop": stop,
        "wait_until": wait_until,
    }
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102  # that is the test
    page = tmp_path / "status.html"
    shown = subprocess.run(
        command("status", folder, "--html", str(page)), capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    for name in ("positions", "prices", "worth", "total", "large"):
        assert name in shown.stdout
    history = subprocess.run(
        command("history", folder, "worth"), capture_output=True, text=True, check=True
    ).stdout
    assert "SCHEDULED" in history
    assert "INCREMENTAL" in history
    _ensure_drawn(page)


def test_ctrl_c_ends_the_process_well(tmp_path: Path, spark: SparkSession, runners: list[Running]) -> None:
    """A terminal sends it to the whole process group, the JVM included."""
    folder = str(tmp_path / "account")
    account = Account.open(folder, spark, WallClock())
    account.create_base_table("r", {"k": "INT"})
    account.create_dynamic_table("d", "SELECT k FROM r", target_lag="1 minute")
    account.store.close()  # type: ignore[attr-defined]
    runner = start_runner(folder)
    runners.append(runner)
    assert runner.stdout is not None
    assert "fresh; stop it with Ctrl-C" in runner.stdout.readline()
    os.killpg(runner.pid, signal.SIGINT)
    assert runner.wait(timeout=PATIENCE) == 0
    assert "stops after the refresh under way" in runner.stdout.read()


def _ensure_drawn(page: Path) -> None:
    """The page holds a box for each table once a browser has laid it out."""
    if BROWSER is None:
        pytest.skip("there is no chromium: `apt-get install chromium`")
    drawn = subprocess.run(
        [BROWSER, *QUIET, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stdout
    boxes = re.findall(r'<g class="(\w+)" data-table="(\w+)">', drawn)
    assert {name for _, name in boxes} == {
        "trades",
        "quotes",
        "positions",
        "prices",
        "worth",
        "total",
        "large",
    }
    assert {name for kind, name in boxes if kind == "base"} == {"trades", "quotes"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["status", "no-such-folder"], "does not exist"),
        (["run"], "Missing argument"),
        (["history", ".", "--limit", "0"], "0 is not in the range"),
    ],
)
def test_misuse_is_one_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(tables, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
