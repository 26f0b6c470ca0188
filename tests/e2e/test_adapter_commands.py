"""The command line on an engine behind an adapter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.exit_codes import ExitCode

TESTED = "adapter:tests.unit.engines.sample:Recomputing"
WRONG = "adapter:tests.unit.engines.test_adapter_tier:Forgetful"


def dvs(*arguments: str) -> Result:
    """A command in this process."""
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_what_is_not_shown_is_in_every_report(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = dvs("fuzz", "--tier", TESTED, "--scenarios", "4", "--workers", "1", "--out", str(out))
    assert "not checked" in result.stdout
    assert "frontier invariant" in result.stdout
    not_checked = json.loads((out / "summary.json").read_text())["not_checked"]
    assert not_checked["frontier invariant"] == not_checked["DSG phenomenon"] > 0
    assert "Not checked, because the engine does not show it" in (out / "report.html").read_text()


def test_the_built_in_engine_leaves_nothing_out(tmp_path: Path) -> None:
    result = dvs(
        "fuzz",
        "--tier",
        "adapter:built-in",
        "--profile",
        "quick",
        "--scenarios",
        "4",
        "--json",
        "--out",
        str(tmp_path),
    )
    assert json.loads(result.stdout.splitlines()[-1])["not_checked"] == {}


@pytest.mark.nightly
def test_a_failure_is_kept_and_its_command_replays_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = dvs(
        *("fuzz", "--tier", WRONG, "--profile", "quick", "--scenarios", "3", "--workers", "1"),
        *("--shrink", "1", "--shrink-budget", "1s", "--out", str(out)),
    )
    assert result.exit_code == ExitCode.FAILED
    (command, *_) = [line.strip() for line in result.stdout.splitlines() if line.startswith("  dvs replay")]
    _, _, folder, option, tier = command.split()
    assert (option, tier) == ("--tier", WRONG)
    assert command in (Path(folder) / "README.md").read_text()
    assert command in (out / "report.html").read_text()
    assert dvs(*command.split()[1:]).exit_code == ExitCode.FAILED
    assert dvs("replay", folder, "--tier", TESTED).exit_code == ExitCode.OK
    assert dvs("shrink", folder, "--tier", WRONG, "--attempts", "5").exit_code == ExitCode.OK


SQLITE = "adapter:tests.unit.engines.sample:WrongOnSqlite"


@pytest.mark.nightly
def test_pages_and_programs_have_the_text_that_this_engine_got(tmp_path: Path) -> None:
    """`reproduce.py` gives the engine that text, and shows the wrong rows; the mended engine passes it."""
    result = dvs(
        *("fuzz", "--tier", SQLITE, "--profile", "quick", "--scenarios", "6", "--workers", "1"),
        *("--shrink", "1", "--shrink-budget", "20s", "--out", str(tmp_path / "run")),
    )
    assert result.exit_code == ExitCode.FAILED
    folder = next(each for each in sorted((tmp_path / "run" / "failures").iterdir()))
    texts = [
        *((folder / name).read_text() for name in ("README.md", "reproduce.py")),
        (tmp_path / "run" / "report.html").read_text(),
    ]
    # SQLite's words for types, where Spark says INT and STRING.
    assert all("INTEGER" in text or "TEXT" in text for text in texts)
    program = [sys.executable, str(folder / "reproduce.py")]
    shown = subprocess.run(program, capture_output=True, text=True, check=False, env={"PYTHONPATH": "."})
    assert (shown.returncode, shown.stderr) == (1, "")
    assert "the engine's rows are WRONG" in shown.stdout
    mended = (folder / "reproduce.py").read_text().replace("WrongOnSqlite", "OnSqlite")
    (tmp_path / "mended.py").write_text(mended)
    program = [sys.executable, str(tmp_path / "mended.py")]
    assert subprocess.run(program, check=False, env={"PYTHONPATH": "."}).returncode == 0


@pytest.mark.parametrize("command", ["fuzz", "replay"])
def test_an_unknown_adapter_is_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "scenario.json").write_text("{}")
    arguments = [str(tmp_path / "scenario.json")] if command == "replay" else []
    result = dvs(command, *arguments, "--tier", "adapter:nope")
    assert result.exit_code == ExitCode.MISUSE
    assert result.stderr.count("\n") == 1


def test_an_unknown_tier_names_adapters_too() -> None:
    assert (
        "rules, spark, spark-stock, delta, delta-stock, all, engines or adapter:NAME"
        in dvs("fuzz", "--tier", "nope").stderr
    )
    assert "adapter:NAME" in dvs("fuzz", "--help").stdout
