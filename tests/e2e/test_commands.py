"""The command line as a user meets it: results, exit statuses, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.failures.folders import write_failure
from campaign.faults import FAULTS
from campaign.faults.histories import HISTORY_FAULTS
from campaign.faults.missing import MISSING
from campaign.lanes.spec import LaneSpec
from campaign.mutants.hunt import hunt_all
from generators.generate import scenario_at
from generators.profiles import QUICK, SMOKE
from tests.failing import SEARCHED
from tests.schemas import unlike
from workload.codec import scenario_to_json
from workload.outcomes.results import Failure, OutcomeClass


def dvs(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def one_line(result: Result) -> str:
    """The error message: one line, no traceback."""
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in lines[0]
    return lines[0]


def test_fuzz_ends_with_one_object_whose_outcomes_add_up(tmp_path: Path) -> None:
    result = dvs(
        "fuzz", "--scenarios", "6", "--seed", "4", "--profile", "quick", "--out", str(tmp_path), "--json"
    )
    summary = json.loads(result.stdout)
    assert result.exit_code == 0
    assert summary["scenarios"] == 6 == sum(summary["outcomes"].values()) == summary["outcomes"]["passed"]
    assert summary["coverage"]["floors_met"] is True
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["seed"] == 4


def test_lifted_databases_are_counted_and_resumed_as_they_were(tmp_path: Path) -> None:
    options = ("--profile", "quick", "--out", str(tmp_path), "--json")
    lifted = dvs("fuzz", "--scenarios", "3", "--lift", "databases", "--worlds", "7", *options)
    first = json.loads(lifted.stdout)
    assert lifted.exit_code == 0
    assert first["tier"] == "rules, 7 databases lifted"
    assert first["refreshes"] < first["judgements"] <= 7 * first["refreshes"]
    # Nothing but the folder is said again.
    again = json.loads(dvs("fuzz", "--resume", "--scenarios", "4", *options[2:]).stdout)
    assert (again["tier"], again["scenarios"]) == (first["tier"], 4)
    assert again["judgements"] > first["judgements"]


def test_all_tiers_are_those_of_the_profile(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text('base = "quick"\n[tiers]\nrules = 1\n', encoding="utf-8")
    out = tmp_path / "run"
    options = ("--tier", "all", "--profile", str(profile), "--out", str(out), "--json")
    (summary,) = json.loads(dvs("fuzz", "--scenarios", "2", *options).stdout)
    assert (summary["tier"], summary["scenarios"]) == ("rules", 2)
    assert (out / "rules" / "report.html").exists()


def test_floors_that_are_not_met_are_no_pass(tmp_path: Path) -> None:
    profile = tmp_path / "impossible.toml"
    profile.write_text('base = "quick"\n[floors]\n"state: group refilled" = 9000\n', encoding="utf-8")
    result = dvs("fuzz", "--scenarios", "2", "--profile", str(profile), "--out", str(tmp_path / "run"))
    assert result.exit_code == 3
    assert "floor not met: state: group refilled:" in result.stdout


@pytest.mark.nightly
def test_a_failure_folder_is_replayed_with_and_without_its_fault(tmp_path: Path) -> None:
    (verdict,) = hunt_all(
        ["join-both-at-t1"], tier="rules", seed=1, profile=QUICK, budget=120, workers=1, attempts=20
    )
    kill = verdict.kill
    assert kill is not None
    outcome = (
        LaneSpec(tier="rules", faults=("join-both-at-t1",), validations=False)
        .build()
        .judge(kill.reproduction)
    )
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    failure = Failure(
        index=kill.index, scenario=kill.reproduction, shrunk=kill.reproduction, outcome=outcome, folder=""
    )
    spec = LaneSpec(tier="rules", faults=("join-both-at-t1",), validations=False)
    write_failure(tmp_path / "failure", failure, spec)
    folder = str(tmp_path / "failure")
    failing = dvs("replay", folder, "--fault", "join-both-at-t1", "--no-validations")
    assert failing.exit_code == 1
    assert kill.killer.value in failing.stdout
    assert dvs("replay", folder).exit_code == 0
    as_json = dvs("replay", folder, "--fault", "join-both-at-t1", "--no-validations", "--json")
    assert unlike("replay", as_json.stdout) == ""
    page = (tmp_path / "failure" / "README.md").read_text(encoding="utf-8")
    assert "FAILS HERE" in page
    assert "CREATE DYNAMIC TABLE" in page
    assert f"dvs replay {folder} --fault join-both-at-t1 --no-validations" in page


def test_the_engines_own_validations_catch_a_fault_too() -> None:
    lane = LaneSpec(tier="rules", faults=("delete-listed-twice",)).build()
    outcomes = (lane.judge(scenario_at(1, SMOKE, index)) for index in range(40))
    failed = next(outcome for outcome in outcomes if outcome.outcome is not OutcomeClass.PASSED)
    assert failed.killer is not None
    assert failed.killer.value == "validation"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fuzz", "--profile", "nowhere"), "no profile 'nowhere'"),
        (("replay", "nowhere.json"), "no scenario at nowhere.json"),
        (("mutants", "--fault", "nobody"), "no planted fault named 'nobody'"),
    ],
)
def test_misuse_is_one_line_and_status_2(arguments: tuple[str, ...], message: str) -> None:
    result = dvs(*arguments)
    assert result.exit_code == 2
    assert message in one_line(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:100], "no valid JSON"),
        (lambda text: text.replace('"version": 1', '"version": 99'), "version 99"),
        (lambda text: text.replace("dvs-scenario", "dvs-history"), "dvs-scenario"),
        (lambda text: text.replace('"name": "r0"', '"name": "r0; DROP TABLE x"'), "is no name"),
        (lambda text: text.replace('"is": "Table"', '"is": "Chair"', 1), "expected Table"),
        (lambda text: "", "no valid JSON"),
    ],
)
def test_a_bad_scenario_file_is_one_line_and_status_2(tmp_path: Path, change, message: str) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "scenario.json"
    file.write_text(change(scenario_to_json(scenario_at(1, QUICK, 0))), encoding="utf-8")
    result = dvs("replay", str(file))
    assert result.exit_code == 2
    assert message in result.stderr + result.stdout


def test_an_output_folder_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    result = dvs("fuzz", "--scenarios", "1", "--out", str(blocked / "run"))
    assert result.exit_code == 2
    assert str(blocked) in one_line(result)


def test_a_bad_profile_key(tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text("tabels = [1, 2]\n", encoding="utf-8")
    assert "unknown key 'tabels'" in one_line(dvs("fuzz", "--profile", str(profile)))


def test_the_same_seed_gives_the_same_run(tmp_path: Path) -> None:
    runs = [
        json.loads(
            dvs(
                "fuzz",
                "--scenarios",
                "4",
                "--seed",
                "8",
                "--profile",
                "quick",
                "--workers",
                str(n),
                "--out",
                str(tmp_path / str(n)),
                "--json",
            ).stdout
        )
        for n in (1, 2)
    ]
    first, second = ({**run, "seconds": 0, "time_split": {}, "started": ""} for run in runs)
    assert first == second


@pytest.mark.nightly
def test_shrink_makes_a_failing_scenario_small(tmp_path: Path) -> None:
    lane = LaneSpec(tier="rules", faults=("filter-drops-old-half",), validations=False).build()
    drawn_scenarios = (scenario_at(2, QUICK, index) for index in range(SEARCHED))
    failing = next(s for s in drawn_scenarios if lane.judge(s).outcome is OutcomeClass.PRODUCT_FAILURE)
    file = tmp_path / "found.json"
    file.write_text(scenario_to_json(failing), encoding="utf-8")
    options = ("--fault", "filter-drops-old-half", "--no-validations")
    result = dvs("shrink", str(file), *options, "--attempts", "60")
    assert result.exit_code == 0
    small = tmp_path / "shrunk.json"
    assert len(small.read_text(encoding="utf-8")) < len(file.read_text(encoding="utf-8"))
    assert dvs("replay", str(small), *options).exit_code == 1
    assert dvs("replay", str(small)).exit_code == 0
    fine = dvs("shrink", str(small))
    assert fine.exit_code == 2
    assert "nothing to shrink: the outcome is passed" in one_line(fine)


def test_the_list_of_faults_hides_nothing() -> None:
    lines = dvs("mutants", "--list").stdout.splitlines()
    planted = {line.split(":")[0] for line in lines if not line.startswith("not planted: ")}
    missing = {line.split(": ")[1] for line in lines if line.startswith("not planted: ")}
    assert planted == set(FAULTS)
    assert missing == set(MISSING)
    assert not missing & (planted | set(HISTORY_FAULTS))
    assert all(MISSING.values())


@pytest.mark.nightly
def test_a_score_names_its_area_and_what_is_missing() -> None:
    result = dvs(
        "mutants",
        "--fault",
        "update-becomes-insert",
        "--budget",
        "25s",
        "--attempts",
        "20",
        "--workers",
        "1",
        "--json",
    )
    data = json.loads(result.stdout)
    (fault,) = data["faults"]
    assert (fault["verdict"], fault["area"]) == ("killed", "changes")
    assert data["missing"] == {}
