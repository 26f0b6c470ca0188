"""The README tells the truth: its matrix is the registry's, its commands exist, its snippet runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import COMMANDS, main

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def between(marker: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n(.*?)<!-- /{marker} -->", README, re.DOTALL)
    assert found is not None, marker
    return found[1].strip()


def test_the_support_matrix_is_the_registry() -> None:
    printed = CliRunner().invoke(main, ["operators", "--markdown"]).stdout
    matrix = "\n".join(line for line in printed.splitlines() if line.startswith("|"))
    assert between("operators") == matrix


def test_every_command_named_exists() -> None:
    named = set(re.findall(r"dvs ([a-z]+)", README))
    assert (
        {"fuzz", "replay", "mutants", "gate", "explain", "operators", "doctor", "check", "verify"}
        <= named
        <= set(COMMANDS)
    )


def test_results_and_demo_are_there() -> None:
    assert between("results").count("|") > 10
    assert "report:" in between("demo")


def test_the_history_is_judged_as_shown() -> None:
    file = "examples/histories/refresh-hides-read-skew.adya"
    printed = CliRunner().invoke(main, ["check", file]).stdout
    assert between("check") == f"```\n{printed.rstrip()}\n```"


@pytest.mark.spark
def test_the_snippet_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    snippet = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert snippet is not None
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet[1], "README.md", "exec"), {})  # noqa: S102  # that is the test
    assert "Action.INCREMENTAL" in capsys.readouterr().out
