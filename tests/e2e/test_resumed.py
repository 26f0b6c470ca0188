"""A run that was killed goes on: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.lanes.spec import LaneSpec
from campaign.runs.campaign import run_plan
from campaign.runs.lock import locked
from campaign.runs.plan import CampaignPlan
from engines.registry import TIERS
from generators.profiles import QUICK

pytestmark = pytest.mark.nightly

PROGRAM = "from campaign.cli import main; main()"
ARGUMENTS = ("--profile", "quick", "--seed", "3", "--scenarios", "10", "--workers", "2")


def dvs(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def start(out: Path, **options: Any) -> subprocess.Popen[str]:
    """The campaign in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "fuzz", *ARGUMENTS, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def judged(out: Path) -> int:
    path = out / "journal.jsonl"
    return max(0, len(path.read_bytes().splitlines()) - 1) if path.exists() else 0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def summary(out: Path) -> dict[str, Any]:
    """The summary without what depends on when it ran and how fast."""
    content: dict[str, Any] = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return {**content, "seconds": 0, "time_split": {}, "started": ""}


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("whole")
    assert dvs("fuzz", *ARGUMENTS, "--out", str(out)).exit_code == 0
    return summary(out)


@pytest.mark.parametrize("whole_group", [True, False], ids=["process group", "parent alone"])
def test_after_sigkill(whole_group: bool, tmp_path: Path, uninterrupted: dict[str, Any]) -> None:
    run = start(tmp_path)
    until(lambda: judged(tmp_path) >= 3)
    workers = children(run.pid)
    (os.killpg if whole_group else os.kill)(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)
    before = judged(tmp_path)
    assert 3 <= before < 10
    assert not (tmp_path / "summary.json").exists()
    until(lambda: not any(alive(worker) for worker in workers))
    result = dvs("fuzz", "--resume", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert judged(tmp_path) == 10
    assert summary(tmp_path) == uninterrupted
    again = dvs("fuzz", "--resume", "--out", str(tmp_path))
    assert again.exit_code == 0
    assert judged(tmp_path) == 10
    assert summary(tmp_path) == uninterrupted


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_after_a_disk_that_was_full(tmp_path: Path, uninterrupted: dict[str, Any]) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, resource.RLIM_INFINITY))

    run = start(tmp_path, preexec_fn=small)
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == 2, stderr
    (line,) = [line for line in stderr.splitlines() if line.startswith("error: ")]
    assert "journal.jsonl: File too large; the scenarios judged before are kept" in line
    assert "Traceback" not in stderr
    assert judged(tmp_path) > 1
    assert dvs("fuzz", "--resume", "--out", str(tmp_path)).exit_code == 0
    assert summary(tmp_path) == uninterrupted


def test_a_run_may_be_made_longer(tmp_path: Path) -> None:
    options = ("--profile", "quick", "--workers", "1", "--out", str(tmp_path))
    assert dvs("fuzz", *options, "--scenarios", "4").exit_code == 0
    assert dvs("fuzz", *options, "--scenarios", "8", "--resume").exit_code == 0
    assert summary(tmp_path)["scenarios"] == judged(tmp_path) == 8
    spent = dvs("fuzz", "--out", str(tmp_path), "--budget", "0.01s", "--resume")
    assert spent.exit_code == 3, "a budget that is spent starts nothing more, and 8 scenarios are few"
    assert judged(tmp_path) == 8


@pytest.mark.nightly
def test_a_run_goes_on_with_its_faults_and_without_validations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TIERS, "rules", replace(TIERS["rules"], attempts=5))
    planted = ("--fault", "update-becomes-insert", "--no-validations", "--shrink", "1", "--workers", "1")
    # Of these scenarios some of the first four and some of the others fail.
    options = ("--profile", "quick", "--seed", "3", "--out", str(tmp_path))
    assert dvs("fuzz", *options, *planted, "--scenarios", "4").exit_code == 1
    failures = summary(tmp_path)["outcomes"]["product_failure"]
    assert dvs("fuzz", "--resume", "--scenarios", "8", "--shrink", "1", "--out", str(tmp_path)).exit_code == 1
    assert judged(tmp_path) == 8
    assert summary(tmp_path)["outcomes"]["product_failure"] > failures


def test_two_campaigns_on_one_folder(tmp_path: Path) -> None:
    with locked(tmp_path):
        result = dvs("fuzz", "--scenarios", "1", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path} is in use by another campaign (process {os.getpid()})" in result.stderr
    assert not (tmp_path / "journal.jsonl").exists()


@pytest.fixture(scope="module")
def of_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of one scenario."""
    out = tmp_path_factory.mktemp("one")
    assert dvs("fuzz", "--profile", "quick", "--scenarios", "1", "--out", str(out)).exit_code == 0
    return out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seed", "4"), "its seed is 1, now it is 4"),
        (("--profile", "smoke"), "its profile is 'quick', now it is 'smoke'"),
        (("--tier", "delta"), "its lane is"),
    ],
)
def test_another_plan_is_refused(arguments: tuple[str, ...], message: str, of_one: Path) -> None:
    result = dvs("fuzz", "--resume", "--out", str(of_one), *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert judged(of_one) == 1


def test_a_profile_of_ones_own_is_found_again_and_must_be_the_same(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text('base = "quick"\ncolumns = 3\n', encoding="utf-8")
    options = ("--out", str(tmp_path / "run"), "--workers", "1")
    assert dvs("fuzz", "--profile", str(profile), "--scenarios", "2", *options).exit_code == 0
    assert dvs("fuzz", "--resume", "--scenarios", "4", *options).exit_code == 0
    assert judged(tmp_path / "run") == 4
    for text, message in (
        ('base = "quick"\ncolumns = 4\n', "its profile_digest is"),
        ('base = "quick"\ncolumns = 3\n[floors]\n"operator: filter" = 1\n', "its floors_digest is"),
    ):
        profile.write_text(text, encoding="utf-8")
        changed = dvs("fuzz", "--resume", *options)
        assert changed.exit_code == 2
        assert message in changed.stderr
    profile.unlink()
    resumed = dvs("fuzz", "--resume", *options)
    assert resumed.exit_code == 2
    assert f"no profile '{profile}'" in resumed.stderr


def test_a_run_over_several_tiers_goes_on_as_it_was_asked_for(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text('base = "quick"\ntiers = { rules = 1 }\n', encoding="utf-8")
    options = (
        "--tier",
        "all",
        "--profile",
        str(profile),
        "--seed",
        "4",
        "--scenarios",
        "9",
        "--workers",
        "1",
    )
    assert dvs("fuzz", *options, "--out", str(tmp_path / "whole")).exit_code == 0
    part = tmp_path / "part" / "rules"
    part.mkdir(parents=True)
    lines = (tmp_path / "whole" / "rules" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (part / "journal.jsonl").write_bytes(b"".join(lines[:4]))
    assert dvs("fuzz", "--resume", "--out", str(tmp_path / "part")).exit_code == 0
    assert summary(part) == summary(tmp_path / "whole" / "rules")


def test_a_run_that_a_gate_began_is_the_gates(tmp_path: Path) -> None:
    run_plan(CampaignPlan(seed=1, profile=QUICK, scenarios=1, workers=1), LaneSpec(tier="rules"), tmp_path)
    result = dvs("fuzz", "--resume", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "holds a run that `dvs fuzz` did not begin" in result.stderr


def test_nothing_to_go_on_with(tmp_path: Path) -> None:
    result = dvs("fuzz", "--resume", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "nothing to resume" in result.stderr
