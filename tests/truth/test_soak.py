"""Simulated accounts: nothing is wrong in them, and every planted mistake of a scheduler is noticed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.cli.verification.soak import FAULT_NAMES
from campaign.soak import run
from campaign.soak.faults import FAULTS
from campaign.soak.file import plan_to_json, read_plan
from campaign.soak.floors import applies, unmet
from campaign.soak.plan import BASES, Happening, plan_of
from campaign.soak.result import Check, Scheduler, Soaked
from campaign.soak.run import soak
from campaign.soak.shrunk import shrink
from campaign.soak.timeline import timeline
from dynamic_tables.account import Account
from dynamic_tables.definition import View
from dynamic_tables.journal.events import Dropped, Renamed, Undropped
from dynamic_tables.journal.state import Operations, TableOperations
from dynamic_tables.schedule.failing import FailureRule
from tests.depth import examples

pytestmark = pytest.mark.nightly


def test_nothing_is_wrong_and_what_may_happen_does() -> None:
    results: list[Soaked] = []
    # Two accounts that together meet everything.
    for seed in range(1, 1 + examples(2)):
        result = soak(plan_of(seed, 0.7))
        assert result.wrong == []
        results.append(result)
    assert unmet(results) == []


def test_floors_apply_to_long_runs() -> None:
    short, long = Soaked(plan_of(1, 2)), Soaked(plan_of(1, 8))
    assert not applies([short])
    assert applies([long])
    assert applies([short] * 4)
    assert "ReplaceView" in unmet([long])
    assert "skipped times" in unmet([long])


FIRST = {"diamond-arm-stale": 3, "group-without-shared-snapshot": 1}
"""The first seed of those mistakes that other accounts do not show, so that the test is quick."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_mistake_is_noticed(name: str) -> None:
    first = FIRST.get(name, 0)
    assert any(soak(plan_of(seed, 1), FAULTS[name].model, most=1).wrong for seed in range(first, first + 6))


@pytest.mark.parametrize(
    ("rule", "message", "first"),
    [
        (FailureRule(threshold=7), "is suspended, and was refreshed by the schedule", 5),
        (FailureRule(threshold=2), " s is due", 12),
    ],
)
def test_another_number_of_errors_is_noticed(
    rule: FailureRule, message: str, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first seed that shows it on."""
    monkeypatch.setattr(run, "Account", partial(Account, failure_rule=rule))
    results = (soak(plan_of(seed, 0.7)) for seed in range(first, first + 8))
    assert any(message in wrong.message for result in results for wrong in result.wrong)


def test_an_undrop_that_forgets_a_suspension_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As this engine did: who was suspended ran again after it had been dropped and brought back."""
    rightly = Operations._apply_to_name

    def forgetful(self: Operations, event: Dropped | Undropped | Renamed) -> None:
        rightly(self, event)
        if isinstance(event, Undropped):
            self.tables[event.table] = TableOperations()

    monkeypatch.setattr(Operations, "_apply_to_name", forgetful)
    assert soak(plan_of(8, 0.7), most=1).wrong != []


def test_a_dropped_base_table_that_is_read_on_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rightly = Account.drop

    def late(self: Account, name: str, *, even_if_read: bool = False) -> None:
        if name not in BASES:
            rightly(self, name, even_if_read=even_if_read)

    monkeypatch.setattr(Account, "drop", late)
    results = (soak(plan_of(seed, 0.7), most=1) for seed in range(1, 9))
    message = next(wrong.message for result in results for wrong in result.wrong)
    assert message.endswith("where its query fails")


def test_a_view_that_stays_as_it_was_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rightly = Account.create_view

    def early(self: Account, name: str, query: str, *, or_replace: bool = False) -> View:
        return View(name, query) if or_replace else rightly(self, name, query)

    monkeypatch.setattr(Account, "create_view", early)
    results = (soak(plan_of(seed, 0.7), most=1) for seed in range(8))
    wrong = next(wrong for result in results for wrong in result.wrong)
    assert wrong.check is Check.CONTENTS


@pytest.mark.parametrize(
    ("name", "most"), [("skipped-interval-lost", 1), ("resume-from-now", 2), ("misaligned-period", 0)]
)
def test_an_account_that_shows_a_mistake_is_made_small(name: str, most: int) -> None:
    fault = FAULTS[name].model
    whole = soak(plan_of(1, 1, tables=5), fault, most=1)
    small = shrink(whole.plan, whole.wrong[0], fault, attempts=200)
    assert small.complete
    assert small.wrong.check is whole.wrong[0].check
    assert len(small.plan.tables) <= 2
    assert sum(map(len, small.plan.ticks)) <= most
    assert soak(small.plan, fault, most=1).wrong == [small.wrong]
    assert soak(small.plan).wrong == []


def test_no_attempts_are_no_search() -> None:
    fault = FAULTS["skipped-interval-lost"].model
    whole = soak(plan_of(1, 1), fault, most=1)
    small = shrink(whole.plan, whole.wrong[0], fault, attempts=0)
    assert (small.attempts, small.complete, small.plan.tables) == (0, False, whole.plan.tables)


def test_nothing_refreshed_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Scheduler(schedule=lambda table, states, now: [])
    plan = plan_of(1, 0.1)
    assert soak(plan, nothing).wrong
    idle = replace(soak(plan, nothing), wrong=[])
    monkeypatch.setattr("campaign.soak.run.soak", lambda *args: idle)
    result = CliRunner().invoke(main, ["soak", "--hours", "0.1"])
    assert result.exit_code == 3
    assert "not shown: refresh" in result.output


def test_below_a_floor_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("campaign.soak.floors.TABLE_HOURS", 0)
    result = CliRunner().invoke(main, ["soak", "--hours", "0.1"])
    assert result.exit_code == 3
    assert "not shown: " in result.output


def test_a_plan_follows_from_its_seed() -> None:
    assert plan_of(3, 1) == plan_of(3, 1)
    assert plan_of(3, 1) != plan_of(4, 1)


def test_the_command(tmp_path: Path) -> None:
    assert tuple(FAULTS) == FAULT_NAMES
    runner = CliRunner()
    well = runner.invoke(main, ["soak", "--hours", "0.1", "--runs", "2", "--json"])
    assert well.exit_code == 0
    assert json.loads(well.stdout)["accounts"] == 2
    file = tmp_path / "made" / "soak.json"
    planted = ["soak", "--fault", "skipped-interval-lost"]
    bad = runner.invoke(
        main, [*planted, "--hours", "1", "--runs", "5", "--attempts", "15", "--out", str(file)]
    )
    assert bad.exit_code == 1
    assert "WRONG at seed" in bad.output
    assert "smallest account, after" in bad.output
    assert f"dvs soak --replay {file} --fault skipped-interval-lost" in bad.output
    again = runner.invoke(main, [*planted, "--replay", str(file)])
    assert again.exit_code == 1
    lines = bad.output.splitlines()
    assert lines[-2] in again.output, "the same is wrong"
    assert runner.invoke(main, ["soak", "--replay", str(file)]).exit_code == 0


def table(name: str = "t") -> dict[str, object]:
    return {"is": "Declared", "name": name, "kind": "FILTER", "sources": ["r"], "lag": 60}


def plan_of_json(*tables: dict[str, object], ticks: Sequence[object] = ()) -> str:
    plan = {"is": "Plan", "seed": 1, "tables": tables, "ticks": ticks}
    return json.dumps({"format": "dvs-account-plan", "plan": plan})


def test_what_cannot_be_run_or_written(tmp_path: Path) -> None:
    runner = CliRunner()
    planted = ["soak", "--fault", "skipped-interval-lost", "--hours", "1", "--attempts", "1"]
    assert "write a number of hours" in runner.invoke(main, ["soak", "--hours", "nan"]).output
    assert runner.invoke(main, ["soak", "--hours", "0.5", "--tables", "1"]).exit_code == 0
    (tmp_path / "file").write_text("")
    shown = runner.invoke(main, [*planted, "--out", str(tmp_path / "file" / "soak.json")])
    assert shown.exit_code == 1
    assert "smallest account" in shown.output
    assert "cannot be written" in shown.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no valid JSON"),
        ("[]", 'lacks "format"'),
        ('{"format": "dvs-account-plan", "plan": {"is": "Plan", "seed": 1, "tables": []}}', "lacks 'ticks'"),
        ('{"format": "dvs-account-plan", "plan": 3}', "expected Plan"),
        (plan_of_json(), "needs tables and ticks"),
        (plan_of_json(table(), ticks=[[]]).replace("FILTER", "JOIN"), "two if its kind is JOIN"),
        (plan_of_json(table("r"), ticks=[[]]), "'r' is no name that is free"),
        (
            plan_of_json(table(), ticks=[[{"is": "Write", "deleted": [["r", "zz", 1]]}]]),
            "other tables or columns",
        ),
        (plan_of_json(table(), ticks=[[{"is": "Swap", "name": "t", "other": "t"}]]), "no other name for t"),
    ],
)
def test_a_file_that_holds_no_plan_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "soak.json"
    file.write_text(text)
    result = CliRunner().invoke(main, ["soak", "--replay", str(file)])
    assert result.exit_code == 2
    assert message in result.output


def test_a_plan_can_be_read_back(tmp_path: Path) -> None:
    plan = plan_of(7, 2)
    (tmp_path / "soak.json").write_text(plan_to_json(plan))
    assert read_plan(tmp_path / "soak.json") == plan


def test_every_event_is_told_in_words() -> None:
    plan = plan_of(3, 2)
    lines = timeline(plan)
    assert {type(each) for tick in plan.ticks for each in tick} == set(get_args(Happening))
    assert len(lines) == len(plan.tables) + sum(map(len, plan.ticks))
    assert all(re.fullmatch(r"(before \d+ s|t\d+): [a-z]?.*\w\W*", line) for line in lines)


def test_many_tables_and_what_happens_to_all_of_them_between_two_looks() -> None:
    result = soak(plan_of(5, 0.1, tables=50))
    assert result.wrong == []
    assert result.events["Switch"] > 80
