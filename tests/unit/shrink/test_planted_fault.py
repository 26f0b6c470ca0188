"""The real thing: a wrong differentiation rule, found by a random scenario, shrunk on the in-memory tier."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dynamic_tables.differentiate.differentiation import At, Differentiation
from dynamic_tables.differentiate.inner_join import changed_pairs
from dynamic_tables.differentiate.registry import OPERATORS, RULES, Rules
from dynamic_tables.plan.nodes import Join, Plan, UnionAll
from engines.variant import Variant
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from oracle.errors import OracleQueryError
from shrink import shrink, size
from tests.in_memory import in_memory
from tests.unit.shrink.samples import random_scenario, refreshes_of
from workload.failing import may_fail
from workload.outcomes.trace import RefreshRefused
from workload.scenario import Scenario


def both_at_t1(node: Join, ids: bool, d: Differentiation) -> Plan:
    """The rule of inner joins with both sides read at t1: a pair new on both sides counts twice."""
    left = changed_pairs(node, d.delta(node.left, ids), d.state(node.right, At.T1, ids), ids, d)
    right = changed_pairs(node, d.state(node.left, At.T1, ids), d.delta(node.right, ids), ids, d)
    return UnionAll((left, right))


FAULTY = Rules(operators={**OPERATORS, "inner join": replace(OPERATORS["inner join"], delta=both_at_t1)})


def wrong(scenario: Scenario, with_rules: Rules = FAULTY) -> bool:
    """Whether the engine refuses a refresh by its own validation, or stores what the oracle does not say."""
    trace = in_memory(Variant(rules=with_rules)).run(scenario)
    if any(isinstance(event, RefreshRefused) for event in trace.events):
        return True
    with DelayedView(scenario) as truth:
        for refresh in trace.refreshes:
            try:
                expected = truth.contents(refresh.table, refresh.timestamp)
            except OracleQueryError:
                return False
            rows = [stored.row for stored in refresh.contents]
            if compare(truth.columns(refresh.table), expected, refresh.columns, rows) is not None:
                return True
    return False


@pytest.mark.slow
def test_a_wrong_join_rule_shrinks_to_a_join_and_its_rows() -> None:
    # Where the query itself fails on the data, a refresh is refused rightly.
    candidates = (
        scenario
        for scenario in map(random_scenario, range(200))
        if len(scenario.dynamic_tables) >= 3 and not any(may_fail(d.query) for d in scenario.definitions)
    )
    scenario = next(filter(wrong, candidates))
    shrunk = shrink(scenario, wrong, attempts=600)
    small = size(shrunk.scenario)
    assert wrong(shrunk.scenario)
    assert not wrong(shrunk.scenario, RULES)
    assert small.operators <= 3
    assert small.rows <= 4
    assert small.dml <= 2
    assert len(shrunk.scenario.dynamic_tables) == 1
    assert len(refreshes_of(shrunk.scenario)) == 1
    assert shrunk.complete
    assert shrunk.attempts < 300
