"""PostgreSQL and DuckDB read one text in the dialect ANSI, and give what the oracle gives."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import pytest

from campaign.judging.lane import Lane
from engines.adapter import Adapter, Capabilities
from engines.engine import Engine
from engines.errors import EngineError
from engines.others.duckdb_views import DuckDb
from engines.others.postgres import LIMITS, Postgres
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.depth import examples
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.outcomes.results import OutcomeClass
from workload.sql import Dialect

try:
    Postgres.ready()
except EngineError as missing:
    pytest.skip(str(missing), allow_module_level=True)

pytestmark = pytest.mark.slow


class PostgresByTheStandard(Postgres):
    """PostgreSQL, which gets texts of the standard; what it lacks of it is a gap."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.ANSI,
        limits=Limits(
            operators=OPERATORS - {Operator.EXPLODE}, drops=True, gap=LIMITS.gap, stores=LIMITS.stores
        ),
    )


class DuckDbByTheStandard(DuckDb):
    """DuckDB, which gets texts of the standard."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.ANSI, limits=Limits(operators=OPERATORS - {Operator.EXPLODE}, drops=True)
    )


@pytest.mark.parametrize("adapter", [PostgresByTheStandard, DuckDbByTheStandard])
def test_both_answer_as_the_oracle_does(adapter: type[Adapter]) -> None:
    limits = adapter.capabilities.limits
    profile, lane = fitted(SMOKE, limits), Lane(engine=Engine.of(adapter), limits=limits)
    seen: Counter[str] = Counter()
    for index in range(examples(16)):
        outcome = lane.judge(scenario_at(1, profile, index))
        seen[outcome.outcome.value] += 1
        assert outcome.outcome in (OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED), (index, outcome.reason)
    assert seen["passed"] > 0.9 * seen.total()
