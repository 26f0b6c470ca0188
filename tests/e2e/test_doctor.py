"""`dvs doctor` for real: a JVM, a Delta table, two readers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.schemas import unlike

DVS = Path(sys.executable).with_name("dvs")


def dvs_doctor(cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command in an empty folder, to see what it leaves there."""
    return subprocess.run(
        [DVS, "doctor", "--json"],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.own_jvm
def test_all_is_well_and_nothing_is_left_behind(tmp_path: Path) -> None:
    here, temporary = tmp_path / "here", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    outcome = dvs_doctor(here, TMPDIR=str(temporary))
    assert unlike("doctor", outcome.stdout) == ""
    answer = json.loads(outcome.stdout)
    amiss = [check for check in answer["checks"] if check["status"] != "ok"]
    assert [check["name"] for check in amiss if check["status"] != "absent"] == []
    assert {check["name"] for check in amiss} <= {"PGlite", "Chromium"}
    assert (outcome.returncode, answer["ok"]) == (0, True)
    assert outcome.stderr == ""
    assert list(here.iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_missing_jars_are_named_with_the_remedy_and_the_rest_is_skipped(tmp_path: Path) -> None:
    outcome = dvs_doctor(tmp_path, DVS_CACHE=str(tmp_path / "empty"))
    checks = {check["name"]: check for check in json.loads(outcome.stdout)["checks"]}
    assert outcome.returncode == 2
    assert checks["Delta's jars"]["status"] == "fail"
    assert "make setup" in checks["Delta's jars"]["remedy"]
    assert {checks[name]["status"] for name in ("Spark", "Delta", "delta-rs")} == {"skipped"}
    # In the same cache.
    assert checks["PGlite"]["status"] == "absent"
    assert "adapter:pg_ivm" in checks["PGlite"]["remedy"]
