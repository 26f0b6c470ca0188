"""What reductions offer makes sense, whatever they start from."""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice, pairwise

import pytest

from oracle.delayed_view import DelayedView
from oracle.errors import OracleQueryError
from shrink.reduction import Reduction
from shrink.registry import REDUCTIONS
from shrink.search import shrink
from tests.depth import examples
from tests.unit.shrink.samples import SAMPLES, offered, random_scenario
from workload.codec import scenario_from_json, scenario_to_json
from workload.dml import Merge, Restore
from workload.query import blocks
from workload.scenario import Commit, Scenario
from workload.sql import Dialect, render_query
from workload.timeline import due_refreshes
from workload.types import BOOLEAN
from workload.wellformed import check_scenario


@pytest.fixture(scope="module")
def more() -> tuple[Scenario, ...]:
    """Further scenarios for a reduction that is of use for no sample, the longest first."""
    return (with_history(), *(random_scenario(index) for index in range(6, 40)))


def with_history() -> Scenario:
    """A scenario in which tables were written in several ways before anything was created."""
    create_later = next(reduction for reduction in REDUCTIONS if reduction.name == "create later")
    moved = [next(offered(scenario, create_later), None) for scenario in SAMPLES]
    return max((scenario for scenario in moved if scenario is not None), key=lambda s: len(s.steps))


def make_sense(scenario: Scenario) -> None:
    check_scenario(scenario)
    due_refreshes(scenario)
    assert all(one.at < two.at for one, two in pairwise(scenario.steps))
    assert scenario_from_json(scenario_to_json(scenario)) == scenario or "nan" in repr(scenario)
    written: dict[str, set[int]] = {}
    for step in scenario.steps:
        if isinstance(step, Commit):
            assert step.statements
            for statement in step.statements:
                if isinstance(statement, Restore):
                    assert statement.to in written[statement.table]
                if isinstance(statement, Merge):
                    assert statement.rows
            for statement in step.statements:
                written.setdefault(statement.table, set()).add(step.at)
    for definition in scenario.definitions:
        render_query(definition.query, Dialect.SPARK)


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda reduction: reduction.name)
def test_every_offered_candidate_makes_sense(reduction: Reduction) -> None:
    for scenario in SAMPLES:
        for candidate in islice(offered(scenario, reduction), examples(2)):
            make_sense(candidate)


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda reduction: reduction.name)
def test_every_reduction_is_of_use_for_some_sample(reduction: Reduction, more: tuple[Scenario, ...]) -> None:
    assert any(next(offered(scenario, reduction), None) for scenario in (*SAMPLES, *more))


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda reduction: reduction.name)
def test_the_types_of_a_candidate_are_those_that_an_engine_finds(reduction: Reduction) -> None:
    """The oracle raises where DuckDB types a query otherwise than the scenario says."""
    candidates = chain.from_iterable(offered(scenario, reduction) for scenario in SAMPLES[1:5])
    for candidate in islice(candidates, examples(1)):
        with DelayedView(candidate) as truth:
            for table in candidate.dynamic_tables:
                try:
                    truth.contents(table.name, candidate.steps[-1].at)
                except OracleQueryError:
                    continue  # fails on its data, as any query may


@pytest.mark.parametrize("scenario", SAMPLES, ids=lambda scenario: scenario.name)
def test_candidates_make_sense_deep_in_a_search_too(scenario: Scenario) -> None:
    """A search that goes wherever a coin says, so that candidates of candidates of ... are seen."""
    tried: Counter[str] = Counter()

    def fails(candidate: Scenario) -> bool:
        make_sense(candidate)
        tried["all"] += 1
        return tried["all"] % 3 != 0 and bool(candidate.dynamic_tables)

    assert shrink(scenario, fails, attempts=100).attempts == tried["all"]


def test_conditions_stay_conditions() -> None:
    for reduction in REDUCTIONS:
        for candidate in offered(SAMPLES[0], reduction):
            for definition in candidate.definitions:
                for block in blocks(definition.query):
                    assert block.where is None or block.where.type == BOOLEAN
