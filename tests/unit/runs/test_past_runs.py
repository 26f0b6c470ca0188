"""Past runs are listed oldest first, with their trend; what cannot be read is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from campaign.cli import main
from campaign.failures import folders
from campaign.lanes.spec import LaneSpec
from campaign.runs import journal
from campaign.runs.plan import CampaignPlan, JudgedScenario
from generators.profiles import QUICK
from tests.schemas import unlike
from tests.unit.runs.sample import RUN
from workload.outcomes.results import Outcome, OutcomeClass, UnmetFloor


def runs(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["runs", *arguments], catch_exceptions=False)


def listed(folder: Path) -> list[dict[str, Any]]:
    printed = runs(str(folder), "--json").stdout
    assert unlike("runs", printed) == ""
    listing: list[dict[str, Any]] = json.loads(printed)["runs"]
    return listing


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Two nights of one campaign, and another one that failed in between."""
    folders.write_run(
        tmp_path / "b" / "second", replace(RUN, started="2026-11-20T02:00:00+00:00", seconds=80.0)
    )
    folders.write_run(tmp_path / "first", replace(RUN, started="2026-11-19T02:00:00+00:00"))
    failed = replace(
        RUN,
        tier="delta",
        started="2026-11-19T12:00:00+00:00",
        outcomes={"passed": 997, "product_failure": 2, "unsupported": 1},
        coverage=replace(RUN.coverage, unmet={"intent: null keys": UnmetFloor(0, 5)}),
    )
    folders.write_run(tmp_path / "other", failed)
    return tmp_path


def test_oldest_first_with_the_change_of_speed(three: Path) -> None:
    listing = listed(three)
    assert [Path(run["folder"]).name for run in listing] == ["first", "other", "second"]
    assert [run["change"] for run in listing] == [None, None, 0.25]
    assert [run["definitions_per_second"] for run in listing] == [20.0, 20.0, 25.0]
    assert [run["failures"] for run in listing] == [0, 2, 0]
    assert [run["floors_unmet"] for run in listing] == [0, 1, 0]


def test_the_table_says_the_same(three: Path) -> None:
    result = runs(str(three))
    assert result.exit_code == 0
    lines = [line for line in result.stdout.splitlines() if "smoke" in line]
    assert [line.split("│")[-2].strip() for line in lines] == ["first", "other", "b/second"]
    assert "+25%" in lines[2]
    assert "1 not met" in lines[1]


def test_a_run_that_was_killed_is_read_off_its_journal(tmp_path: Path) -> None:
    plan = CampaignPlan(seed=5, profile=QUICK, scenarios=9)
    outcomes = [
        Outcome(scenario="a", outcome=OutcomeClass.PASSED, definitions=3),
        Outcome(scenario="b", outcome=OutcomeClass.DIVERGENCE, definitions=1),
    ]
    with journal.opened(tmp_path, plan, LaneSpec(tier="rules"), "2026-11-21T00:00", resume=False) as opened:
        for index, outcome in enumerate(outcomes):
            opened.add(JudgedScenario(index, outcome, {}), 2.0)
    (run,) = listed(tmp_path)
    assert (run["scenarios"], run["definitions_per_second"], run["failures"]) == (2, 2.0, 1)
    assert run["interrupted"] is True
    assert "interrupted" in runs(str(tmp_path)).stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot read"),
        ('{"format": "dvs-run", "version": 7}', "is of version 7"),
        ("[]", "is no result"),
    ],
)
def test_a_run_that_cannot_be_read_hides_no_other(text: str, message: str, three: Path) -> None:
    (three / "broken").mkdir()
    (three / "broken" / "summary.json").write_text(text, encoding="utf-8")
    result = runs(str(three))
    assert result.exit_code == 3
    assert message in result.stderr
    assert "broken" in result.stderr
    assert result.stdout.count("smoke") == 3


def test_nothing_there(tmp_path: Path) -> None:
    assert "no run below" in runs(str(tmp_path)).stdout
    missing = runs(str(tmp_path / "nowhere"))
    assert missing.exit_code == 2
    assert "no folder" in missing.stderr
