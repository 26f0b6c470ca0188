"""A journal gives back what was written, and nothing that was not."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from campaign.runs import journal
from campaign.runs.lock import locked
from campaign.runs.plan import CampaignPlan, JudgedScenario
from generators.profiles import QUICK, SMOKE
from workload.outcomes.results import Check, Difference, DifferenceKind, Finding, Outcome, OutcomeClass
from workload.schema import Column
from workload.types import DOUBLE, INT

PLAN = CampaignPlan(seed=7, profile=QUICK, scenarios=9)
SPEC = LaneSpec(tier="rules")

PASSED = JudgedScenario(
    4,
    Outcome(
        scenario="quick-7-4",
        outcome=OutcomeClass.PASSED,
        definitions=2,
        refreshes=5,
        checks=40,
        seconds=0.25,
        states={"state: retraction": 3},
        times={"run": 0.125, "judge": 0.1},
    ),
    {"operator: filter": 2},
)
FAILED = JudgedScenario(
    0,
    Outcome(
        scenario="quick-7-0",
        outcome=OutcomeClass.PRODUCT_FAILURE,
        reason="oracle equality: contents differ \ud800\n",
        findings=(
            Finding(
                check=Check.EQUALITY,
                table="d1",
                step=3,
                timestamp=40,
                message="contents differ",
                difference=Difference(
                    kind=DifferenceKind.WRONG_VALUE,
                    columns=(Column("a", INT), Column("b", DOUBLE)),
                    missing=(((1, -0.0), 2),),
                    extra=(((None, 0.5), 1),),
                    expected_rows=3,
                    actual_rows=2,
                ),
                votes={"verdict": "incremental bug"},
            ),
        ),
    ),
    {},
)


def write(folder: Path, *judged: JudgedScenario, plan: CampaignPlan = PLAN, resume: bool = False) -> None:
    with journal.opened(folder, plan, SPEC, "2026-11-21T00:00:00+00:00", resume=resume) as opened:
        for number, one in enumerate(judged):
            opened.add(one, opened.elapsed + number + 1.0)


def entries(folder: Path) -> tuple[JudgedScenario, ...]:
    content = journal.read(folder / journal.JOURNAL_FILE)
    return tuple(entry.judged for entry in content.entries)


def test_what_was_judged_comes_back_with_its_evidence(tmp_path: Path) -> None:
    write(tmp_path, FAILED, PASSED)
    assert repr(entries(tmp_path)) == repr((FAILED, PASSED))  # not ==: -0.0


def test_a_run_that_goes_on_has_its_start_and_its_time(tmp_path: Path) -> None:
    write(tmp_path, FAILED)
    with journal.opened(tmp_path, PLAN, SPEC, "later", resume=True) as opened:
        assert opened.started == "2026-11-21T00:00:00+00:00"
        assert opened.elapsed == 1.0
        opened.add(PASSED, 2.5)
    assert [judged.index for judged in entries(tmp_path)] == [0, 4]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_dropped_and_what_follows_is_whole(cut: int, tmp_path: Path) -> None:
    write(tmp_path, FAILED, PASSED)
    path = tmp_path / journal.JOURNAL_FILE
    path.write_bytes(path.read_bytes()[:-cut])
    assert [judged.index for judged in entries(tmp_path)] == [0]
    write(tmp_path, PASSED, resume=True)
    assert [judged.index for judged in entries(tmp_path)] == [0, 4]


def test_a_scenario_written_twice_counts_once(tmp_path: Path) -> None:
    write(tmp_path, PASSED, FAILED, PASSED)
    assert [judged.index for judged in entries(tmp_path)] == [4, 0]


def test_how_far_a_run_goes_may_change(tmp_path: Path) -> None:
    write(tmp_path, PASSED)
    write(tmp_path, FAILED, plan=dataclasses.replace(PLAN, scenarios=None, budget=60.0), resume=True)
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (dataclasses.replace(PLAN, seed=8), "its seed is 7, now it is 8"),
        (dataclasses.replace(PLAN, first=1), "its first is 0, now it is 1"),
        (dataclasses.replace(PLAN, profile=SMOKE), "its profile is 'quick', now it is 'smoke'"),
        *(
            (dataclasses.replace(PLAN, profile=profile), "its profile_digest is")
            for profile in (
                dataclasses.replace(QUICK, columns=9),
                dataclasses.replace(QUICK, concurrent_percent=9),
                dataclasses.replace(QUICK, recreated_percent=9),
                dataclasses.replace(QUICK, styled_percent=9),
                dataclasses.replace(QUICK, timed_percent=9),
            )
        ),
    ],
)
def test_another_plan_is_refused_and_nothing_is_lost(
    plan: CampaignPlan, message: str, tmp_path: Path
) -> None:
    write(tmp_path, PASSED)
    with pytest.raises(CampaignError, match=message):
        write(tmp_path, FAILED, plan=plan, resume=True)
    assert len(entries(tmp_path)) == 1


def test_another_lane_is_refused(tmp_path: Path) -> None:
    write(tmp_path, PASSED)
    other = dataclasses.replace(SPEC, validations=False)
    with (
        pytest.raises(CampaignError, match="its lane is"),
        journal.opened(tmp_path, PLAN, other, "", resume=True),
    ):
        pass


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"version":3', '"version":99', "written with version 99, this program has 3"),
        ('"generator":', '"generator":1000', "written with generator 1000"),
        ("dvs-journal", "dvs-scenario", "is no journal of a run"),
        (
            '"outcome":"PRODUCT_FAILURE"',
            '"outcome":"MIRACLE"',
            "line 2: entry.judged.outcome.outcome: expected one of",
        ),
        ('"index":0', '"index":"zero"', "line 2: entry.judged.index: expected int"),
    ],
)
def test_a_journal_that_makes_no_sense_is_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, FAILED, PASSED)
    path = tmp_path / journal.JOURNAL_FILE
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CampaignError, match=message):
        entries(tmp_path)


def test_there_must_be_something_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="nothing to resume"):
        write(tmp_path, PASSED, resume=True)


def test_a_new_run_puts_the_old_journal_aside(tmp_path: Path) -> None:
    write(tmp_path, PASSED)
    old = (tmp_path / journal.JOURNAL_FILE).read_bytes()
    write(tmp_path, FAILED)
    assert (tmp_path / journal.PREVIOUS_FILE).read_bytes() == old
    assert [judged.index for judged in entries(tmp_path)] == [0]


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    write(tmp_path, PASSED)
    with journal.opened(tmp_path, PLAN, SPEC, "", resume=True) as opened:
        full_disk = os.open("/dev/full", os.O_WRONLY)
        full = dataclasses.replace(opened, file=full_disk)
        with pytest.raises(
            CampaignError, match="No space left on device; the scenarios judged before are kept"
        ):
            full.add(FAILED, 1.0)
        os.close(full_disk)


def test_a_folder_has_one_campaign_at_a_time(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(CampaignError, match=r"in use by another campaign \(process \d+\)"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        assert (tmp_path / ".lock").exists()


@pytest.mark.parametrize(
    ("old", "new"), [('"index":4', '"index":5'), ('"scenario":"quick-7-4"', '"scenario":"quick-8-4"')]
)
def test_a_line_of_another_run_is_refused(old: str, new: str, tmp_path: Path) -> None:
    write(tmp_path, FAILED, PASSED)
    path = tmp_path / journal.JOURNAL_FILE
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(CampaignError, match=r"a line of another run: scenario quick-[78]-4 as number [45]"):
        write(tmp_path, PASSED, resume=True)
