"""`dvs shrink` of a failure folder: in place, and on from where the last search ended."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.failures.folders import read_scenario, write_failure
from campaign.lanes.spec import LaneSpec
from shrink import Size, size
from tests.unit.failures.test_triage import FAULT, LINGERS
from workload.outcomes.results import Failure

SPEC = LaneSpec(tier="rules", faults=(FAULT,), fresh_percent=100)


def dvs(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def folder_of(place: Path) -> Path:
    outcome = SPEC.build().judge(LINGERS)
    write_failure(place, Failure(index=0, scenario=LINGERS, shrunk=LINGERS, outcome=outcome, folder=""), SPEC)
    return place


def test_a_folder_is_shrunk_in_place_in_several_sittings(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "failure")
    first = dvs("shrink", str(folder), "--fault", FAULT, "--attempts", "3")
    assert first.exit_code == 0
    assert "not finished: run it again to continue" in first.stdout
    tried = json.loads((folder / "shrinking.json").read_text(encoding="utf-8"))
    assert (tried["lane"], len(tried["tried_for_check"])) == (["--fault", FAULT], 3)
    second = dvs("shrink", str(folder), "--fault", FAULT)
    assert "nothing is left to remove" in second.stdout
    assert f"dvs replay {folder} --fault {FAULT}" in second.stdout
    assert read_scenario(folder / "original.json") == LINGERS
    assert size(read_scenario(folder)) == Size(operators=1, rows=1, dml=2)
    assert dvs("replay", str(folder), "--fault", FAULT).exit_code == 1
    assert dvs("replay", str(folder)).exit_code == 0


def test_what_another_lane_tried_or_a_broken_note_is_not_believed(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "failure")
    of_another_lane = '{"lane": ["--tier", "delta"], "tried_for_check": ["00"], "tried_for_class": []}'
    for note in (of_another_lane, "{", "[]", '{"lane": 3}'):
        (folder / "shrinking.json").write_text(note, encoding="utf-8")
        assert dvs("shrink", str(folder), "--fault", FAULT).exit_code == 0


def test_a_bad_ignore_file_stops_a_run_before_it_starts(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text('[[ignore]]\nfingerprint = "00000000"\n', encoding="utf-8")
    result = dvs("fuzz", "--scenarios", "1", "--ignore", str(file), "--out", str(tmp_path / "run"))
    assert result.exit_code == 2
    assert "rule 1: it names no issue" in result.stderr
    assert not (tmp_path / "run" / "summary.json").exists()
