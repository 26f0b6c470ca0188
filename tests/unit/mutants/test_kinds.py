"""Every kind of planted fault: all are found case by case, and a kill proves something."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.errors import CampaignError
from campaign.mutants.cases import hunt_cases, known
from campaign.mutants.kinds import KINDS, FaultKind
from campaign.mutants.verdict import HuntVerdict
from tests.schemas import unlike

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_a_fault_of_each_kind_is_found(kind: FaultKind) -> None:
    """The first of its kind: that all are found is tested beside what they are planted in."""
    (result,) = hunt_cases(kind, known(kind, ())[:1], seed=1, budget=7200, attempts=0)
    assert result.verdict is HuntVerdict.KILLED


def test_names_are_in_one_kind_only() -> None:
    names = [name for kind in KINDS.values() for name in kind.faults]
    assert len(names) == len({*names})


def test_a_kill_means_nothing_where_the_right_one_is_wrong_too() -> None:
    broken = replace(KINDS["intents"], wrong=lambda fault, seed, number: "always")
    with pytest.raises(
        CampaignError, match="set 0 of seed 1: always, without a fault too; mend the data-plane intents"
    ):
        hunt_cases(broken, known(broken, ()), seed=1, budget=60, attempts=0)


@pytest.mark.parametrize(
    ("kind", "fault", "suffix"),
    [
        ("schedule", "resume-from-now", ".json"),
        ("protocol", "published-one-by-one", ".txt"),
        ("intents", "intents-one-pass", ".adya"),
        ("read-committed", "ddl-rolls-back", ".txt"),
    ],
)
def test_the_command_shows_the_smallest_case(kind: str, fault: str, suffix: str, tmp_path: Path) -> None:
    command = [
        "mutants",
        "--kind",
        kind,
        "--fault",
        fault,
        "--attempts",
        "60",
        "--json",
        "--out",
        str(tmp_path),
    ]
    result = CliRunner().invoke(main, command, catch_exceptions=False)
    (score,) = json.loads(result.stdout)["faults"]
    assert (result.exit_code, score["verdict"], score["most"] > 1) == (0, "killed", True)
    assert score["reproduction"]
    assert (tmp_path / f"{fault}{suffix}").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kind", "schedule", "--tier", "delta"), "--tier is about the engine"),
        (("--kind", "intents", "--profile", "quick"), "--profile is about the engine"),
        (("--kind", "intents", "--out", "{file}"), "cannot make the folder"),
        (
            ("--kind", "intents", "--fault", "no-locks"),
            "no planted fault named 'no-locks' in data-plane intents",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_hunt(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    result = CliRunner().invoke(main, ["mutants", *(each.format(file=file) for each in arguments)])
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_the_list_is_data_as_well() -> None:
    printed = CliRunner().invoke(main, ["mutants", "--kind", "schedule", "--list", "--json"]).stdout
    assert [fault["fault"] for fault in json.loads(printed)["faults"]] == list(KINDS["schedule"].faults)
    assert unlike("mutants", printed) == ""


def test_time_over_is_undecided() -> None:
    (result,) = hunt_cases(KINDS["intents"], ("intents-one-pass",), seed=1, budget=0.0, attempts=0)
    assert (result.cases, result.verdict) == (0, HuntVerdict.UNDECIDED)
