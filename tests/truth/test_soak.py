"""Simulated accounts: nothing is wrong in them, and every planted mistake of a scheduler is noticed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.cli.soak import FAULT_NAMES
from campaign.soak import run
from campaign.soak.faults import FAULTS
from campaign.soak.plan import BASES, plan_of
from campaign.soak.run import Fault, soak
from dynamic_tables.account import Account
from dynamic_tables.journal.events import Dropped, Renamed, Undropped
from dynamic_tables.journal.state import Operations, TableOperations
from dynamic_tables.schedule.failing import FailureRule


def test_nothing_is_wrong_and_what_may_happen_does() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        result = soak(plan_of(seed, 0.5))
        assert result.wrong == []
        seen.update(result.events)
        seen["failed"] += result.failures
        seen.update(result.actions)
    kinds = {
        "Write",
        "Alter",
        "Switch",
        "Group",
        "Ungroup",
        "Redefine",
        "Clone",
        "Rename",
        "Swap",
        "Drop",
        "Undrop",
        "DropBase",
        "BaseBack",
        "Down",
    }
    assert kinds | {"failed", "NO_DATA", "INCREMENTAL"} <= {name for name, count in seen.items() if count}


FIRST = {"diamond-arm-stale": 3, "group-without-shared-snapshot": 1}
"""The first seed of those mistakes that other accounts do not show, so that the test is quick."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_mistake_is_noticed(fault: Fault) -> None:
    first = FIRST.get(fault.name, 0)
    assert any(soak(plan_of(seed, 1), fault, most=1).wrong for seed in range(first, first + 6))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (FailureRule(threshold=7), "is suspended, and was refreshed by the schedule"),
        (FailureRule(threshold=2), "is due at"),
    ],
)
def test_another_number_of_errors_is_noticed(
    rule: FailureRule, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "Account", partial(Account, failure_rule=rule))
    results = (soak(plan_of(seed, 0.7)) for seed in range(8))
    assert any(message in wrong.message for result in results for wrong in result.wrong)


def test_an_undrop_that_forgets_a_suspension_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As this engine did: who was suspended ran again after it had been dropped and brought back."""
    rightly = Operations._apply_to_name

    def forgetful(self: Operations, event: Dropped | Undropped | Renamed) -> None:
        rightly(self, event)
        if isinstance(event, Undropped):
            self.tables[event.table] = TableOperations()

    monkeypatch.setattr(Operations, "_apply_to_name", forgetful)
    results = (soak(plan_of(seed, 0.7), most=1) for seed in range(16, 26))
    messages = [wrong.message for result in results for wrong in result.wrong]
    assert "is suspended, and was refreshed by the schedule" in messages


def test_a_dropped_base_table_that_is_read_on_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rightly = Account.drop

    def late(self: Account, name: str, *, even_if_read: bool = False) -> None:
        if name not in BASES:
            rightly(self, name, even_if_read=even_if_read)

    monkeypatch.setattr(Account, "drop", late)
    results = (soak(plan_of(seed, 0.7), most=1) for seed in range(8))
    message = next(wrong.message for result in results for wrong in result.wrong)
    assert message.endswith("where its query fails")


def test_nothing_refreshed_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Fault("idle", "Nothing is ever due.", schedule=lambda table, states, now: [])
    plan = plan_of(1, 0.1)
    assert soak(plan, nothing).wrong
    idle = replace(soak(plan, nothing), wrong=[])
    monkeypatch.setattr("campaign.soak.run.soak", lambda *args: idle)
    result = CliRunner().invoke(main, ["soak", "--hours", "0.1"])
    assert result.exit_code == 3
    assert "nothing was refreshed" in result.output


def test_a_plan_follows_from_its_seed() -> None:
    assert plan_of(3, 1) == plan_of(3, 1)
    assert plan_of(3, 1) != plan_of(4, 1)


def test_the_command() -> None:
    assert tuple(fault.name for fault in FAULTS) == FAULT_NAMES
    runner = CliRunner()
    well = runner.invoke(main, ["soak", "--hours", "0.3", "--runs", "2", "--json"])
    assert well.exit_code == 0
    assert json.loads(well.stdout)["accounts"] == 2
    bad = runner.invoke(main, ["soak", "--hours", "1", "--runs", "5", "--fault", "skipped-interval-lost"])
    assert bad.exit_code == 1
    assert "WRONG at seed" in bad.output


def test_many_tables_and_what_happens_to_all_of_them_between_two_looks() -> None:
    result = soak(plan_of(3, 0.1, tables=80))
    assert result.wrong == []
    assert result.events["Switch"] > 80
