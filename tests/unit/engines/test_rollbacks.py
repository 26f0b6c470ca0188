"""Transactions are rolled back on engines that claim it: what one changed must not stay in a table."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from campaign.failures.reproduction import adapter_reproduction
from campaign.lanes.spec import LaneSpec
from engines import Capabilities, Notes, Transaction
from engines.others.duckdb_views import DuckDb
from engines.others.sqlite import Sqlite, SqliteTriggers
from generators.fitting import fit, fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from reports.describe import timeline
from reports.reproduction import reproduce_script
from shrink.reductions.steps import calm
from tests.unit.engines.sample import Recomputing, lane, shop
from workload.limits import Limits
from workload.outcomes.results import Check, OutcomeClass
from workload.scenario import Commit, Scenario
from workload.sql import Dialect

ROLLBACKS = Limits(rollbacks=True)


def rolled_back() -> Scenario:
    """The shop, each of whose transactions is rolled back, and then runs again."""
    scenario = shop()
    steps = (replace(step, rolled_back=True) if isinstance(step, Commit) else step for step in scenario.steps)
    return replace(scenario, steps=tuple(steps))


class RollsBack(Recomputing):
    """Computes its tables in full, and rolls transactions back."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=ROLLBACKS)

    def roll_back(self, transaction: Transaction) -> None:
        for text in ("BEGIN", *transaction.sql, "ROLLBACK"):
            self.db.execute(text)


class SeesThem(RollsBack):
    """Does not refresh tables again that it has refreshed after what was rolled back."""

    def __init__(self) -> None:
        super().__init__()
        self.undone = 0

    def roll_back(self, transaction: Transaction) -> None:
        super().roll_back(transaction)
        self.undone += len(self.queries)

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        if self.undone:
            self.undone -= 1
            return None
        return super().refresh(table, timestamp)


class Unasked(SeesThem):
    """Does not say that it can roll back."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB)


def test_what_was_rolled_back_must_not_show() -> None:
    assert lane(RollsBack).judge(rolled_back()).outcome is OutcomeClass.PASSED
    outcome = lane(SeesThem).judge(rolled_back())
    assert (outcome.outcome, outcome.killer) == (OutcomeClass.PRODUCT_FAILURE, Check.EQUALITY)
    assert lane(SeesThem).judge(shop()).outcome is OutcomeClass.PASSED


def test_an_engine_that_does_not_claim_it_rolls_nothing_back() -> None:
    assert lane(Unasked).judge(rolled_back()).outcome is OutcomeClass.PASSED


@pytest.mark.parametrize("rollbacks", [False, True])
def test_they_are_drawn_for_engines_that_claim_them(rollbacks: bool) -> None:
    profile = fitted(SMOKE, Limits(rollbacks=rollbacks))
    assert ("state: transaction rolled back" in profile.floors) == rollbacks
    scenarios = [scenario_at(1, profile, index) for index in range(20)]
    steps = [step for scenario in scenarios for step in scenario.steps]
    assert any(isinstance(step, Commit) and step.rolled_back for step in steps) == rollbacks
    assert all(fit(scenario, profile.limits) == scenario for scenario in scenarios)


def test_shrinking_leaves_the_rollback_out_where_it_can() -> None:
    assert shop() in list(calm(rolled_back()))


def test_a_page_and_its_program_show_the_rollback() -> None:
    titles = [entry.title for entry in timeline(rolled_back())]
    assert any(title.endswith("after the same transaction was rolled back") for title in titles)
    spec = LaneSpec(tier=f"adapter:{__name__}:SeesThem")
    shown = adapter_reproduction(rolled_back(), lane(SeesThem).judge(rolled_back()), "", spec)
    assert shown is not None
    assert [step.what for step in shown.steps].count("roll back") >= 1
    assert "engine.roll_back(" in reproduce_script(shown)


@pytest.mark.parametrize("adapter", [DuckDb, Sqlite, SqliteTriggers])
def test_engines_pass_with_transactions_that_are_rolled_back(adapter: type[Sqlite]) -> None:
    profile = fitted(SMOKE, adapter.capabilities.limits)
    scenarios = (scenario_at(3, profile, index) for index in range(30))
    undone = [each for each in scenarios if any(getattr(step, "rolled_back", False) for step in each.steps)]
    assert len(undone) > 5
    assert {lane(adapter).judge(each).outcome for each in undone[:6]} == {OutcomeClass.PASSED}
