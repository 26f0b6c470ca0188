"""An engine that can be opened again is, before some refreshes: what it kept in memory alone is missed."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from campaign.failures.reproduction import adapter_reproduction
from campaign.lanes.spec import LaneSpec
from engines import Capabilities, Notes, RefreshFailed, Transaction
from engines.engine import Engine
from engines.others.sqlite import Sqlite, SqliteTriggers
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from reports.describe import timeline
from reports.reproduction import reproduce_script
from tests.unit.engines.sample import Recomputing, lane, shop
from workload.limits import Limits
from workload.outcomes.results import Check, OutcomeClass
from workload.outcomes.trace import Disturbance
from workload.scenario import Refresh, Scenario
from workload.sql import Dialect

RESTARTS = Limits(restarts=True)


def restarted() -> Scenario:
    """The shop, whose engine is opened again before the refresh that follows a correction."""
    scenario = shop()
    steps = (replace(step, killed=0) if isinstance(step, Refresh) else step for step in scenario.steps)
    return replace(scenario, steps=tuple(steps))


class Remembers(Recomputing):
    """Refreshes only while it remembers a commit. In memory: the database of the test outlives a restart."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=RESTARTS)

    def __init__(self) -> None:
        super().__init__()
        self.changed: set[str] = set()

    def restart(self) -> None:
        self.changed.clear()

    def create_dynamic_table(self, table: object, query: str) -> bool | None:
        self.changed.add(table.name)  # type: ignore[attr-defined]
        return super().create_dynamic_table(table, query)  # type: ignore[arg-type]

    def commit(self, transaction: Transaction) -> None:
        super().commit(transaction)
        self.changed.update(self.queries)

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        if table not in self.changed:
            return None
        self.changed.discard(table)
        return super().refresh(table, timestamp)


class NeverAgain(Remembers):
    """Cannot be opened again."""

    def restart(self) -> None:
        raise RefreshFailed("the file is no database")


class Unasked(Remembers):
    """Does not say that it can be opened again."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB)


def test_what_an_engine_kept_in_memory_alone_is_missed_after_a_restart() -> None:
    assert lane(Remembers).judge(shop()).outcome is OutcomeClass.PASSED
    outcome = lane(Remembers).judge(restarted())
    assert (outcome.outcome, outcome.killer) == (OutcomeClass.PRODUCT_FAILURE, Check.EQUALITY)
    assert Disturbance.KILL in Engine.of(Remembers).run(restarted()).disturbed


def test_an_engine_that_cannot_be_opened_again_fails() -> None:
    outcome = lane(NeverAgain).judge(restarted())
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert "the file is no database" in outcome.reason


def test_an_engine_that_does_not_claim_it_is_not_opened_again() -> None:
    assert lane(Unasked).judge(restarted()).outcome is OutcomeClass.PASSED
    assert not Engine.of(Unasked).run(restarted()).disturbed


@pytest.mark.parametrize("restarts", [False, True])
def test_restarts_are_drawn_for_engines_that_claim_them(restarts: bool) -> None:
    profile = fitted(SMOKE, Limits(restarts=restarts))
    assert ("state: refresh killed" in profile.floors) == restarts
    steps = [step for index in range(20) for step in scenario_at(1, profile, index).steps]
    assert any(isinstance(step, Refresh) and step.killed == 0 for step in steps) == restarts


def test_a_page_says_that_the_process_began_again() -> None:
    titles = [entry.title for entry in timeline(restarted())]
    assert any(title.endswith("after its process was killed and begun again") for title in titles)


def test_the_program_of_a_failure_opens_the_engine_again() -> None:
    spec = LaneSpec(tier=f"adapter:{__name__}:Remembers")
    outcome = lane(Remembers).judge(restarted())
    shown = adapter_reproduction(restarted(), outcome, "", spec)
    assert shown is not None
    assert [step.what for step in shown.steps if step.at == 60] == ["restart", "refresh", "refresh"]
    assert "engine.restart()" in reproduce_script(shown)


@pytest.mark.parametrize("adapter", [Sqlite, SqliteTriggers])
def test_a_database_in_a_file_has_its_tables_after_a_restart(adapter: type[Sqlite]) -> None:
    profile = fitted(SMOKE, adapter.capabilities.limits)
    scenarios = (scenario_at(3, profile, index) for index in range(40))
    killed = [each for each in scenarios if any(getattr(step, "killed", None) == 0 for step in each.steps)]
    assert any(Disturbance.KILL in Engine.of(adapter).run(each).disturbed for each in killed[:6])
    assert {lane(adapter).judge(each).outcome for each in killed[:6]} == {OutcomeClass.PASSED}
