"""Whatever draws or rewrites a scenario stays within the limits of the engine, for random limits."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from campaign.failures.triage import REDUCTIONS
from generators.fitting import fit, fitted, is_within, query_gap, refused
from generators.generate import scenario_at
from generators.profiles import QUICK
from generators.reshaping import has_key
from oracle.delayed_view import DelayedView
from shrink import shrink
from tests.depth import examples
from workload.dml import Delete, Dml, Insert, Update, WithRows
from workload.limits import FLAGS, PORTABLE, Limits, Timestamps, within_dialect
from workload.operators import OPERATORS
from workload.query import Query
from workload.scenario import Commit, Scenario
from workload.sql import Dialect, render_query
from workload.timeline import due_refreshes
from workload.types import SCALAR, Kind, SqlType, Value
from workload.wellformed import check_scenario


def some(random: Random, given: frozenset[Any]) -> frozenset[Any]:
    return frozenset(each for each in sorted(given, key=str) if random.random() < 0.7)


def stored(seed: int, percent: int, value: Value, type_: SqlType) -> bool:
    return zlib.crc32(f"{seed} {value!r}".encode()) % 100 < percent


def refused_by_chance(seed: int, query: Query) -> str | None:
    return "by chance" if zlib.crc32(f"{seed} {query}".encode()) % 4 == 0 else None


def random_limits(seed: int) -> Limits:
    random = Random(seed)
    flags: dict[str, Any] = {flag: random.random() < 0.5 for flag in FLAGS}
    limits = Limits(
        operators=some(random, OPERATORS) | {"projection", "filter"},
        types=some(random, frozenset(SCALAR)) | {Kind.INT},
        statements=some(random, PORTABLE) | {"insert"},
        timestamps=random.choice(list(Timestamps)),
        stores=partial(stored, seed, random.choice((100, 100, 90, 50))),
        gap=random.choice((lambda query: None, partial(refused_by_chance, seed))),
        lacks=random.choice((frozenset(), frozenset({"upper", "IS DISTINCT FROM", "%"}))),
        **flags,
    )
    return within_dialect(limits, random.choice(list(Dialect)))


def statements(scenario: Scenario) -> Iterator[tuple[Commit, Dml]]:
    return ((step, dml) for step in scenario.steps if isinstance(step, Commit) for dml in step.statements)


def assert_within(scenario: Scenario, limits: Limits) -> None:
    """The limits as their words say, without a look at what cuts scenarios."""
    check_scenario(scenario)
    due_refreshes(scenario)
    assert refused(scenario, limits) == {}
    rows = {table.name: 0 for table in scenario.tables}
    for commit, dml in statements(scenario):
        assert type(dml).__name__.lower() in limits.statements
        given = dml.rows if isinstance(dml, WithRows) else ()
        assert limits.nulls or None not in {value for row in given for value in row}
        assert not limits.single_statements or len(commit.statements) == 1
        if limits.single_rows:
            assert len(given) == 1 if isinstance(dml, Insert) else isinstance(dml, Update | Delete)
        rows[dml.table] += len(given)
    for definition in scenario.definitions:
        for dialect in limits.dialects:
            text = render_query(definition.query, dialect).lower()
            assert not limits.lacks or "upper(" not in text
    assert not limits.keys or all(has_key(table) for table in scenario.tables)
    if any(table.promises.keys for table in scenario.tables):
        with DelayedView(scenario) as truth:
            for commit, dml in statements(scenario):
                assert truth.broken_promise(dml.table, commit.at) == ""
                if limits.single_rows:
                    before, after = (
                        set(map(repr, truth.source_rows(dml.table, at))) for at in (commit.at - 1, commit.at)
                    )
                    assert len(commit.statements) > 1 or max(len(before - after), len(after - before)) <= 1


@pytest.mark.parametrize("seed", range(examples(40)))
def test_generator_and_shrinking_stay_within(seed: int) -> None:
    limits = random_limits(seed)
    profile = replace(fitted(QUICK, limits), recreated_percent=50)
    smallest: Callable[[Scenario], bool] = lambda candidate: is_within(candidate, limits)  # noqa: E731
    for index in range(4):
        scenario = scenario_at(seed, profile, index)
        assert_within(scenario, limits)
        assert is_within(scenario, limits)
        assert fit(scenario, limits) == scenario
    shrunk = shrink(scenario, smallest, attempts=30, reductions=REDUCTIONS).scenario
    assert_within(shrunk, limits)
    assert all(query_gap(each.query, limits) is None for each in shrunk.definitions)
