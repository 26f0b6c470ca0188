"""Simulated accounts: nothing is wrong in them, and every planted mistake of a scheduler is noticed."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.cli.soak import FAULT_NAMES
from campaign.soak.faults import FAULTS
from campaign.soak.plan import plan_of
from campaign.soak.run import Fault, soak


def test_nothing_is_wrong_and_what_may_happen_does() -> None:
    seen: Counter[str] = Counter()
    for seed in range(3):
        result = soak(plan_of(seed, 0.5))
        assert result.wrong == []
        seen.update(result.events)
        seen["failed"] += result.failures
        seen.update(result.actions)
    kinds = {"Write", "Alter", "Switch", "Group", "Ungroup", "Redefine", "Down"}
    assert kinds | {"failed", "NO_DATA", "INCREMENTAL"} <= {name for name, count in seen.items() if count}


FIRST = {"diamond-arm-stale": 3, "group-without-shared-snapshot": 1}
"""The first seed of those mistakes that other accounts do not show, so that the test is quick."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_mistake_is_noticed(fault: Fault) -> None:
    first = FIRST.get(fault.name, 0)
    assert any(soak(plan_of(seed, 1), fault, most=1).wrong for seed in range(first, first + 6))


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
