"""The adapter of Turso finds its bugs, and what it declares is within the dialect of SQLite."""

from __future__ import annotations

import pytest

from campaign.judging.lane import Lane
from engines import RefreshFailed, Transaction
from engines.engine import Engine, opened
from engines.others.turso import Turso
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import QUICK
from workload.dml import Insert
from workload.outcomes.results import OutcomeClass
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import INT, Kind

pytest.importorskip("turso")


def test_wrong_rows_are_found_and_nothing_else_goes_wrong() -> None:
    limits = Turso.capabilities.limits
    profile, lane = fitted(QUICK, limits), Lane(engine=Engine.of(Turso), limits=limits)
    outcomes = [lane.judge(scenario_at(1, profile, index)) for index in range(60)]
    kinds = {outcome.outcome for outcome in outcomes}
    assert OutcomeClass.PRODUCT_FAILURE in kinds
    assert kinds <= {OutcomeClass.PRODUCT_FAILURE, OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED}


def test_a_transaction_that_fails_without_views_too_is_no_failure_of_a_view() -> None:
    table = Table("r", (Column("a", INT),))
    with opened(Turso) as adapter:
        adapter.create_table(table, "CREATE TABLE r (a INTEGER PRIMARY KEY)")
        rows = Transaction(1, (Insert("r", ((1,), (1,))),), {"r": table}, Dialect.SQLITE)
        with pytest.raises(Exception, match="UNIQUE") as failed:
            adapter.commit(rows)
        assert not isinstance(failed.value, RefreshFailed)


def test_the_limits_are_those_of_the_dialect() -> None:
    limits = Turso.capabilities.limits
    assert limits.dialects == {Dialect.SQLITE}
    assert "merge" not in limits.statements
    assert Kind.DECIMAL not in limits.types
