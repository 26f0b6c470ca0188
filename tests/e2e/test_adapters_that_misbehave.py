"""Engines that print, start processes, hang, and change the folder: nothing is left of them after a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.engines.sample import Recomputing

pytestmark = pytest.mark.nightly

MARK = "DVS_TEST_OF_LEFT_PROCESSES"


class Noisy(Recomputing):
    """Prints, also past Python, changes the folder, and starts a process that never ends."""

    def __init__(self) -> None:
        super().__init__()
        print("from Python")  # noqa: T201
        os.write(1, b"past Python\n")
        os.chdir("/")
        subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Hanging(Noisy):
    """Hangs in its first refresh, whatever signal arrives."""

    def create_table(self, table: object, sql: str) -> None:
        Path(os.environ[MARK]).touch()
        while True:
            time.sleep(60)


def command(adapter: str, out: Path, *more: str) -> list[str]:
    tier = f"adapter:tests.e2e.test_adapters_that_misbehave:{adapter}"
    options = ["--tier", tier, "--profile", "quick", "--workers", "1", "--out", str(out), *more]
    return [sys.executable, "-m", "dvs", "fuzz", *options]


def left(mark: str) -> list[str]:
    """The processes that have the mark in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found


def assert_none_left(mark: str) -> None:
    end = time.monotonic() + 60
    while (found := left(mark)) and time.monotonic() < end:
        time.sleep(0.2)
    assert not found


def test_what_an_engine_prints_is_no_part_of_the_result(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    done = subprocess.run(
        command("Noisy", tmp_path / "run", "--scenarios", "2", "--json"),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, MARK: mark, "PYTHONPATH": "."},
    )
    assert json.loads(done.stdout)["outcomes"]["passed"] == 2, done.stdout + done.stderr
    assert done.stderr.count("past Python") >= 2
    assert_none_left(mark)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left(number: signal.Signals, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    running = subprocess.Popen(
        command("Hanging", tmp_path / "run", "--scenarios", "2"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, MARK: str(mark), "PYTHONPATH": "."},
        # A shell that runs the tests in the background ignores Ctrl-C, and all that it starts inherits this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        end = time.monotonic() + 120
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.1)
        assert any("sleep" in each for each in left(str(mark)))
        running.send_signal(number)
        running.wait(60)
        assert_none_left(str(mark))
    finally:
        running.kill()
