"""The plugin in real pytest runs: the example, workers of pytest-xdist, and runs that do not use it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.unit.docs.test_adapters_page import between

ROOT = Path(__file__).resolve().parents[2]


def pytest_run(*arguments: str, folder: Path) -> str:
    """What pytest prints in a folder."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    outcome = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return outcome.stdout + outcome.stderr


@pytest.fixture(scope="module")
def example() -> str:
    """What pytest prints of the example."""
    return pytest_run("-rA", "--dvs-budget", "6s", folder=ROOT / "examples" / "toy_engine")


@pytest.mark.nightly
def test_the_example_fails_for_the_toy_with_its_bug_and_passes_for_the_mended_one(example: str) -> None:
    assert re.findall(r"^(PASSED|FAILED) test_toy.py::(\w+)", example, re.MULTILINE) == [
        ("PASSED", "test_mended_toy"),
        ("PASSED", "test_mended_toy_with_hypothesis"),
        ("FAILED", "test_toy"),
    ]


SECTIONS = (
    r"DelayedViewViolated: d\d at data timestamp \d+: oracle equality: the contents are not",
    r"\ndynamic table d\d AS\n  SELECT\s",
    r"\nwhat happened:\n  CREATE TABLE r\d ",
    r"\nexpected \(-\) and found \(\+\):\n  ",
    r"\nincremental bug: the engine's full recomputation agrees with the oracle\n",
    r"engine Toy, scenario quick-1-\d+",
)
"""What stands in a failure's message, in order; which scenario fails first is the generator's affair."""


@pytest.mark.nightly
def test_the_failure_is_printed_as_the_page_on_adapters_shows_it(example: str) -> None:
    lines = [line[1:] for line in example.splitlines() if line.startswith("E ")]
    printed = dedent("\n".join(lines)).replace("campaign.pytest_plugin.assertion.", "")
    for text in (printed, between("failure")):
        assert re.match(".*".join(SECTIONS), text, re.DOTALL), text


def test_the_toy_has_about_25_lines() -> None:
    text = (ROOT / "examples" / "toy_engine" / "toy.py").read_text()
    body = text[text.index("    def __init__") : text.index("class MendedToy")]
    lines = [line for line in body.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) <= 25


RECORDING = """
import os, pathlib, pytest

@pytest.mark.dvs(scenarios=9)
def test_it(dvs_scenarios):
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    for scenario in dvs_scenarios:
        with pathlib.Path("seen").open("a") as file:
            file.write(f"{worker} {scenario.name}\\n")
"""


def seen(folder: Path, *arguments: str) -> list[tuple[str, str]]:
    """(worker, scenario) of a run, in order of the scenarios."""
    (folder / "test_recording.py").write_text(RECORDING)
    (folder / "seen").unlink(missing_ok=True)
    result = pytest_run("-q", *arguments, folder=folder)
    assert "passed" in result, result
    lines = [line.split() for line in (folder / "seen").read_text().splitlines()]
    return sorted([(worker, name) for worker, name in lines], key=lambda each: each[1])


def test_workers_split_the_scenarios_and_none_runs_twice(tmp_path: Path) -> None:
    alone = seen(tmp_path, "-p", "no:xdist", "--dvs-seed", "5")
    split = seen(tmp_path, "-n", "2", "--dvs-seed", "5")
    assert [name for _, name in alone] == [f"quick-5-{index}" for index in range(9)]
    assert [name for _, name in split] == [name for _, name in alone]
    assert {worker for worker, _ in split} == {"gw0", "gw1"}


UNUSED = """
import sys

def test_nothing_heavy_is_loaded():
    assert "dvs.pytest_plugin" in sys.modules
    heavy = {"duckdb", "pyspark", "hypothesis", "numpy", "sqlglot", "click"} | {"generators", "campaign"}
    assert heavy & set(sys.modules) == set()
"""


def test_a_run_that_does_not_use_it_loads_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_unused.py").write_text(UNUSED)
    assert "1 passed" in pytest_run("-q", "-p", "no:xdist", folder=tmp_path)


def test_help_names_the_options_and_the_marker(tmp_path: Path) -> None:
    assert "--dvs-budget=TIME" in pytest_run("--help", folder=tmp_path)
    assert "@pytest.mark.dvs(engine=None" in pytest_run("--markers", folder=tmp_path)
