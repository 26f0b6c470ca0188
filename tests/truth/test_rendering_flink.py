"""Flink's batch mode gives for a text in the dialect FLINK what the oracle gives, over the same rows.

The streaming mode, which maintains tables, is not right everywhere: see docs/found-bugs.md.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import pytest

from campaign.judging.lane import Lane
from engines.adapter import Capabilities
from engines.engine import Engine
from engines.errors import EngineError
from engines.others.flink import LIMITS, Flink
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.depth import examples
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.outcomes.results import OutcomeClass
from workload.sql import Dialect

try:
    Flink.ready()
except EngineError as missing:
    pytest.skip(str(missing), allow_module_level=True)

pytestmark = pytest.mark.nightly


class FlinkInBatches(Flink):
    """A refresh computes a table in full, in batch mode, which has all windows and aggregates of all rows."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.FLINK,
        limits=Limits(operators=OPERATORS - {Operator.EXPLODE}, types=LIMITS.types, stores=LIMITS.stores),
    )

    def refresh(self, table: str, timestamp: int) -> None:
        self._rows[table] = list(self.evaluate(self._queries[table], ()))

    def _plan(self, query: str) -> None:
        self._show(query)


def test_flink_answers_as_the_oracle_does() -> None:
    limits = FlinkInBatches.capabilities.limits
    profile, lane = fitted(SMOKE, limits), Lane(engine=Engine.of(FlinkInBatches), limits=limits)
    seen: Counter[str] = Counter()
    for index in range(examples(8)):
        outcome = lane.judge(scenario_at(1, profile, index))
        seen[outcome.outcome.value] += 1
        assert outcome.outcome in (OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED), (index, outcome.reason)
    assert seen["passed"] > 0.9 * seen.total()
