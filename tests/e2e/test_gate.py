"""`dvs gate` opens, shuts, and says why."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.exit_codes import ExitCode
from campaign.gate import Stage, verdict_of

SWIFT = ("--budget", "4s", "--fault-budget", "20s", "--workers", "1", "--fault", "update-becomes-insert")


def gate(out: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["gate", "--out", str(out), *SWIFT, *arguments])


def test_an_open_gate(tmp_path: Path) -> None:
    result = gate(tmp_path)
    assert result.exit_code == ExitCode.OK, result.output
    assert "1 of 1 killed" in " ".join(result.output.split())
    suites = ET.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["kept scenarios", "smoke campaign", "core faults"]
    assert suites.get("failures") == suites.get("errors") == "0"
    assert int(suites[0].get("tests", "0")) == len(list(Path("corpus").glob("**/*.json"))) > 0


def test_a_fault_that_stays_alive_shuts_the_gate(tmp_path: Path) -> None:
    result = gate(tmp_path, "--fault-budget", "0.001s")
    assert result.exit_code == ExitCode.FAILED, result.output
    assert "alive: update-becomes-insert" in " ".join(result.output.replace("│", " ").split())


def test_a_kept_scenario_that_no_longer_reads(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "old.json").write_text("{}", encoding="utf-8")
    result = gate(tmp_path / "out", "--corpus", str(corpus))
    assert result.exit_code == ExitCode.MISUSE
    assert "old.json" in result.output
    assert "Traceback" not in result.output


def test_a_failure_comes_before_a_doubt_before_a_pass() -> None:
    stages = [Stage("", code, "", ()) for code in (ExitCode.OK, ExitCode.UNKNOWN, ExitCode.FAILED)]
    assert verdict_of(stages) is ExitCode.FAILED
    assert verdict_of(stages[:2]) is ExitCode.UNKNOWN
    assert verdict_of(stages[:1]) is ExitCode.OK
