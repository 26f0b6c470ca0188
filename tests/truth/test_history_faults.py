"""Bugs of checkers, planted in ours: the comparison with the definitions sees each, in a few events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.faults.histories import HISTORY_FAULTS, Checker
from campaign.mutants.cases import hunt_cases
from campaign.mutants.histories import first_difference
from campaign.mutants.kinds import KINDS
from dvs_model.checking.check import check
from dvs_model.histories.history import History
from dvs_model.notation import parse
from reference.histories import Reference

HISTORIES = KINDS["histories"]

EVENTS = 11
"""The longest of the shrunk reproductions."""


def disagrees(history: History, checker: Checker) -> bool:
    return first_difference(history, checker, Reference(history).verdicts()) is not None


def test_every_fault_is_killed_and_its_history_shrunk() -> None:
    # Of this seed 700 histories show them all, where others take thousands for the rarest.
    results = hunt_cases(HISTORIES, tuple(HISTORY_FAULTS), seed=3, budget=7200, attempts=300)
    assert [result.fault for result in results] == list(HISTORY_FAULTS)
    for result in results:
        assert result.reproduction is not None, f"{result.fault} survives {result.cases} histories"
        again = parse(result.reproduction.text)
        assert disagrees(again, HISTORY_FAULTS[result.fault].model)
        assert not disagrees(again, check)
        assert len(again.shown_events()) == result.reproduction.size["events"]
        assert len(again.shown_events()) <= EVENTS, result.reproduction.text


def test_the_command_tells_killed_from_survived(tmp_path: Path) -> None:
    def mutants(fault: str, *arguments: str) -> tuple[int, dict[str, object]]:
        options = ("mutants", "--kind", "histories", "--fault", fault, "--json", *arguments)
        result = CliRunner().invoke(main, options, catch_exceptions=False)
        (verdict,) = json.loads(result.stdout)["faults"]
        return result.exit_code, verdict

    code, fault = mutants("aborted-read-ignored", "--out", str(tmp_path))
    assert (code, fault["verdict"], fault["killer"]) == (0, "killed", "G1a")
    text = (tmp_path / "aborted-read-ignored.adya").read_text(encoding="utf-8")
    assert disagrees(parse(text), HISTORY_FAULTS["aborted-read-ignored"].model)
    code, fault = mutants("refresh-order-for-version-order", "--budget", "0.01s")
    assert (code, fault["verdict"], fault["reproduction"]) == (3, "undecided", None)
    code, fault = mutants("refresh-order-for-version-order", "--scenarios", "2")
    assert (code, fault["verdict"], fault["reproduction"]) == (1, "survived", None)


def test_names_of_the_other_kinds_are_refused_here() -> None:
    result = CliRunner().invoke(main, ["mutants", "--kind", "histories", "--fault", "join-both-at-t1"])
    assert result.exit_code == 2
    assert "no planted fault named 'join-both-at-t1' in analysis of histories" in result.stderr
    listed = CliRunner().invoke(main, ["mutants", "--kind", "histories", "--list"]).stdout
    assert [line.split(":")[0] for line in listed.splitlines()] == list(HISTORY_FAULTS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("derivation-edges-missing", "w1(x1) d3(v3 | x1) c3 w2(y2) d4(u4 | y2) c4 r1(u4) r2(v3) c1 c2"),
        ("derivation-edges-missing", "w1(x1) c1 d3(y3 | x1) c3 w2(x2) c2 r5(x2) r5(y3) c5 [x1 << x2]"),
        ("version-order-by-events", "w1(x1) w2(x2) w2(y2) c2 w1(y1) c1 [x1 << x2, y2 << y1]"),
        ("version-order-by-events", "r1(x0) w1(x1) w2(x2) c2 c1 [x0 << x1 << x2]"),
        ("predicate-read-vacuous", "r1(P: y_init;) w2(y2) w2(z2) c2 r1(z2) c1 [P matches y2]"),
        ("aborted-read-ignored", "w1(x1) r2(x1) a1 c2"),
        ("aborted-read-direct-only", "w1(x1) d3(y3 | x1) c3 r4(y3) a1 c4"),
        ("aborted-refresh-ignored", "w1(x1) c1 d3(y3 | x1) r4(y3) a3 c4"),
    ],
)
def test_the_trigger_of_the_list_of_faults(name: str, text: str) -> None:
    history = parse(text)
    assert disagrees(history, HISTORY_FAULTS[name].model)
    assert not disagrees(history, check)
