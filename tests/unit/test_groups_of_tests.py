"""Tests of one group run on one worker; otherwise each worker would start a JVM and make all fixtures."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

GROUPED = """
import os
import pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(8))
def test_it(number):
    with open("workers", "a") as stream:
        stream.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_a_group_runs_on_one_worker(tmp_path: Path) -> None:
    (tmp_path / "test_grouped.py").write_text(GROUPED, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    workers = (tmp_path / "workers").read_text(encoding="utf-8").split()
    assert len(workers) == 8
    assert len(set(workers)) == 1


def test_tests_and_modules_are_not_searched_for_garbage() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000
