"""Another version of this program, or another engine, on one side of a comparison."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.compare.other_version import source_path

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[3]
EARLY = (
    "dynamic_tables/refresh/versions.py",
    "version.timestamp <= timestamp]",
    "version.timestamp < timestamp]",
)
"""A change of an engine: it overlooks a commit at the data timestamp."""

PACKAGES = (
    "campaign",
    "dynamic_tables",
    "dvs_model",
    "engines",
    "generators",
    "given",
    "oracle",
    "reports",
    "servers",
    "shrink",
    "workload",
)


def dvs(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments, "--json"], catch_exceptions=False)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another version: the same program with one rule that someone has changed."""
    folder = tmp_path_factory.mktemp("other") / "checkout"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def rewritten(checkout: Path, file: str, old: str, new: str, folder: Path) -> Path:
    """A copy of the checkout with a text replaced."""
    shutil.copytree(checkout, folder)
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    return folder


def summary_of(result: Result) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def test_a_version_that_is_the_same(checkout: Path) -> None:
    result = dvs("rules", f"rules+in={checkout}", "--scenarios", "3")
    assert result.exit_code == 0, result.output
    assert summary_of(result)["refreshes"] > 20


@pytest.mark.nightly
def test_a_version_that_reads_another_snapshot(checkout: Path, tmp_path: Path) -> None:
    """Not a word of the other version is loaded here: its own code runs."""
    other = rewritten(checkout, *EARLY, tmp_path / "checkout")
    result = dvs("rules", f"rules+in={other}", "--scenarios", "3")
    assert result.exit_code == 1, result.output
    assert {each["kind"] for each in summary_of(result)["disagreements"]} & {"fewer rows on B", "other rows"}


def test_a_version_that_breaks_is_undecided(checkout: Path, tmp_path: Path) -> None:
    other = rewritten(
        checkout,
        "engines/in_memory.py",
        "        store = DuckStore(",
        "        raise RuntimeError('secret')\n        store = DuckStore(",
        tmp_path / "checkout",
    )
    result = dvs("rules", f"rules+in={other}", "--scenarios", "2")
    assert result.exit_code == 3, result.output
    assert set(summary_of(result)["undecided"].values()) == {"B could not run it: OtherVersionFailed"}
    assert "secret" not in result.output


def test_versions_that_do_not_start(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    newer = rewritten(
        checkout,
        "workload/scenario.py",
        "SCENARIO_VERSION = ",
        "SCENARIO_VERSION = 90 + ",
        tmp_path / "newer",
    )
    old = rewritten(checkout, "campaign/compare/serve.py", "def main()", "def begin()", tmp_path / "old")
    for folder, message in (
        (tmp_path / "empty", "holds no version: give a checkout"),
        (newer, "reads scenarios of version 9"),
        (old, "does not start: ImportError: cannot import name 'main'"),
    ):
        result = dvs("rules", f"rules+in={folder}", "--scenarios", "1")
        assert result.exit_code == 2, result.output
        assert message in result.stderr
    refused = dvs("rules", f"rules+fault=nobody+in={checkout}", "--scenarios", "1")
    assert refused.exit_code == 2
    assert "refuses: no planted fault named 'nobody'" in refused.stderr


@pytest.mark.nightly
def test_what_is_in_pythonpath_is_not_what_runs(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users of adapters set it: it may name this version, and must reach the other one for the adapter."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{tmp_path}")
    assert source_path(checkout, os.environ["PYTHONPATH"]) == f"{checkout}{os.pathsep}{tmp_path}"
    assert source_path(tmp_path, os.environ["PYTHONPATH"]) == str(tmp_path)
    late = rewritten(checkout, *EARLY, tmp_path / "checkout")
    assert dvs("rules", f"rules+in={late}", "--scenarios", "3").exit_code == 1


def test_an_environment_that_has_this_version_is_not_another(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "pyvenv.cfg").write_text(
        (Path(sys.prefix) / "pyvenv.cfg").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "lib").symlink_to(Path(sys.prefix) / "lib")
    result = dvs("rules", f"rules+in={tmp_path}", "--scenarios", "1")
    assert result.exit_code == 2, result.output
    assert "which is not what the folder holds" in result.stderr


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "print('hello'); import time; time.sleep(600)",
            "does not start: its process has ended, or its answer is no JSON",
        ),
        ("print('[]')", "does not start: its answer is no JSON object"),
        ("print('{}')", "is too old to be compared; give a later one"),
        ("raise SystemExit('no such library')", "does not start: no such library"),
    ],
)
def test_one_that_says_something_else_is_not_waited_for(
    checkout: Path, tmp_path: Path, program: str, message: str
) -> None:
    other = tmp_path / "other"
    shutil.copytree(checkout, other)
    server = other / "campaign" / "compare" / "serve.py"
    server.write_text(f"def main():\n    {program}\n", encoding="utf-8")
    result = dvs("rules", f"rules+in={other}", "--scenarios", "1")
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_one_that_dies_leaves_its_scenarios_undecided(checkout: Path, tmp_path: Path) -> None:
    other = rewritten(
        checkout,
        "campaign/compare/serve.py",
        "    for line in scenarios:",
        "    raise SystemExit\n    for line in scenarios:",
        tmp_path / "other",
    )
    scenario_file = "corpus/statement-without-effect.json"
    result = dvs("rules", f"rules+in={other}", "--scenario", scenario_file)
    assert result.exit_code == 3, result.output
    assert set(summary_of(result)["undecided"].values()) == {"B could not run it: OtherVersionFailed"}


def test_a_version_from_before_this_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "campaign").mkdir()
    result = dvs("rules", f"rules+in={tmp_path}", "--scenarios", "1")
    assert result.exit_code == 2
    assert "is too old to be compared" in result.stderr


def test_an_adapter_gets_what_it_can_be_asked() -> None:
    """`Recomputing` has neither layers nor old data timestamps: both sides get scenarios without."""
    adapter = "adapter:tests.unit.engines.sample:Recomputing"
    for chosen in (("--scenarios", "4"), ("--scenario", "corpus")):
        result = dvs("rules", adapter, *chosen)
        assert result.exit_code == 0, result.output
        assert summary_of(result)["refreshes"] > 5
