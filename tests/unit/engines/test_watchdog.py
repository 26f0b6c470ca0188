"""Queries that hang are cut, and are never taken for something else."""

from __future__ import annotations

import threading
from contextlib import suppress

import duckdb
import pytest

from campaign.judging.lane import Lane
from engines import watchdog
from engines.engine import Engine
from engines.in_memory import InMemory, InMemoryPlatform
from engines.memory.database import own_database
from engines.watchdog import HungQuery, cut_after
from generators.generate import scenario_at
from generators.profiles import QUICK
from workload.outcomes.results import OutcomeClass

ENDLESS = "SELECT SUM(a.range * b.range) FROM range(10000000) a, range(10000000) b"


def run(query: str, seconds: float, swallow: tuple[type[Exception], ...] = ()) -> None:
    """A query under the watchdog; `swallow`: errors that somebody inside catches."""
    with own_database() as connection, cut_after(seconds, connection.interrupt), suppress(*swallow):
        connection.execute(query).fetchall()


def test_a_query_that_hangs_is_cut() -> None:
    with pytest.raises(HungQuery, match=r"cut after 0.3 s"):
        run(ENDLESS, 0.3)


def test_an_error_of_the_query_stays_what_it_is() -> None:
    with pytest.raises(duckdb.CatalogException):
        run("SELECT * FROM nowhere", 60)


def test_the_error_may_have_been_swallowed() -> None:
    with pytest.raises(HungQuery):
        run(ENDLESS, 0.3, swallow=(duckdb.Error,))


def test_a_scenario_that_takes_too_long_is_no_pass_and_no_product_failure() -> None:
    outcome = Lane(engine=Engine.of(InMemory, time_limit_s=0.0)).judge(scenario_at(1, QUICK, 0))
    assert outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE
    assert outcome.reason == "HungQuery: cut after 0 s"
    assert Lane(engine=Engine.of(InMemory)).judge(scenario_at(1, QUICK, 0)).outcome is OutcomeClass.PASSED


def test_every_tier_of_the_built_in_engine_has_a_time_limit() -> None:
    assert 0 < InMemoryPlatform().time_limit_s <= 600


def test_what_is_under_way_is_cut_when_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()
    monkeypatch.setattr(watchdog, "STOPPED", stopped)
    threading.Timer(0.2, stopped.set).start()
    with pytest.raises(HungQuery, match="the run was ended"):
        run(ENDLESS, 60)
    outcome = Lane(engine=Engine.of(InMemory)).judge(scenario_at(1, QUICK, 0))
    assert (outcome.outcome, outcome.reason) == (
        OutcomeClass.INFRASTRUCTURE_FAILURE,
        "HungQuery: the run was ended",
    )
