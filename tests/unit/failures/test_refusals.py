"""What an engine refused is one table by message, and names the limit that would keep it from the engine."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from campaign.failures.refusals import refusals
from engines import Capabilities, Unsupported
from generators.coverage import features
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.unit.engines.sample import Recomputing, lane
from workload.limits import Limits
from workload.outcomes.results import Outcome, OutcomeClass
from workload.scenario import DynamicTable, Scenario
from workload.sql import Dialect


class WithoutUnion(Recomputing):
    """Knows no UNION, and says so in a message with a name in it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits(views=False, layered=False)
    )

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        if " UNION SELECT" in query or " UNION (" in query:
            raise Unsupported(f"no union in {table.name}")
        return super().create_dynamic_table(table, query)


def test_the_message_and_the_limit_are_named() -> None:
    profile = fitted(QUICK, WithoutUnion.capabilities.limits)
    outcomes: dict[int, tuple[Scenario, Outcome]] = {}
    passed: Counter[str] = Counter()
    for index in range(60):
        scenario = scenario_at(3, profile, index)
        outcome = lane(WithoutUnion).judge(scenario)
        if outcome.outcome is OutcomeClass.PASSED:
            for each in scenario.definitions:
                passed.update(features(each.query))
        outcomes[index] = scenario, outcome
    (refusal,) = refusals(outcomes, passed)
    assert refusal.message.startswith("no union in d")
    assert refusal.limit == "operators without 'union'"
    assert set(refusal.indices) == {
        i for i, (_, outcome) in outcomes.items() if outcome.outcome is OutcomeClass.UNSUPPORTED
    }
