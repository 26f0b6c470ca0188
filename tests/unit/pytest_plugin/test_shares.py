"""A budget split over workers: every share has scenarios of its own, and together they are the whole."""

from __future__ import annotations

from itertools import chain, count, pairwise

import pytest

from campaign.pytest_plugin.scenarios import Share, judge_project, marked_scenarios, seeded
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.unit.engines.sample import Recomputing


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("scenarios", [1, 2, 10])
def test_a_number_of_scenarios_is_split_without_rest_and_nothing_runs_twice(
    workers: int, scenarios: int
) -> None:
    shares = [Share(number, workers).indices(scenarios) for number in range(workers)]
    assert list(chain.from_iterable(shares)) == list(range(scenarios))


def test_shares_of_a_time_budget_do_not_meet_and_add_up() -> None:
    shares = [Share(number, 3) for number in range(3)]
    ranges = [share.indices(None) for share in shares]
    assert all(not set(one) & set(two) for one, two in pairwise(ranges))
    assert sum(share.seconds(60.0) for share in shares) == 60.0


def test_scenarios_come_until_the_time_is_spent() -> None:
    clock = count()
    drawn = list(seeded(1, QUICK, range(100), 3.0, lambda: float(next(clock))))
    assert drawn == [scenario_at(1, QUICK, index) for index in range(3)]


def test_one_scenario_comes_in_any_case() -> None:
    assert len(list(seeded(1, QUICK, range(5, 100), 0.0, lambda: 0.0))) == 1
    assert list(seeded(1, QUICK, range(0), 10.0)) == []


def test_a_test_gets_what_its_marker_asks_for() -> None:
    drawn = list(marked_scenarios({"engine": Recomputing, "scenarios": 4}, Share(1, 2), 9, "1s"))
    assert [scenario.name for scenario in drawn] == ["quick-9-2", "quick-9-3"]
    assert all(table.target_lag == 1 for scenario in drawn for table in scenario.dynamic_tables)


@pytest.mark.parametrize(
    ("marker", "budget", "message"),
    [
        ({"engin": 1}, "1s", "unknown 'engin'; known: definitions, engine, profile, scenarios"),
        ({"scenarios": 0}, "1s", "scenarios=0 is no number above 0"),
        ({"profile": "nope"}, "1s", "no profile 'nope'"),
        ({"engine": "nope"}, "1s", "engine='nope' is no class derived from Adapter"),
        ({}, "soon", "--dvs-budget: 'soon' is no duration; write 90s, 10m or 2h"),
    ],
)
def test_what_makes_no_sense_is_refused(marker: dict[str, object], budget: str, message: str) -> None:
    with pytest.raises(pytest.UsageError, match=message):
        marked_scenarios(marker, None, 1, budget)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ({"trails": 5}, "unknown 'trails'; known beside dbt: python, schema"),
        ({"kinds": ["late"]}, "'late' is not a valid ChangeKind"),
        ({"python": "/no/such/python"}, "/no/such/python does not start"),
    ],
)
def test_a_dbt_project_that_cannot_be_judged_fails_its_test(marker: dict[str, object], message: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=message):
        judge_project({"dbt": "shop", **marker}, 1)
