"""Law: filters by the keys of few rows change no result, and leave unread what the keys rule out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping

import pytest

from campaign.judging.lane import Lane
from dynamic_tables.differentiate.differentiation import CONTENTS
from dynamic_tables.differentiate.registry import RULES, change_plan
from dynamic_tables.differentiate.window_first import AGAIN
from dynamic_tables.explain import declare
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.expressions import Scalar
from dynamic_tables.plan.nodes import Filter, Leaf, Plan, walk
from dynamic_tables.plan.rewrites.empty import without_empty
from dynamic_tables.plan.rewrites.looked_up import MOST_LISTED, with_keys
from dynamic_tables.plan.rewrites.stages import stages
from dynamic_tables.plan.types import INT, TIMESTAMP_NTZ, Columns, Type
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.store.port import Relation
from engines.memory.duck_store import DuckRelation, DuckStore
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.depth import examples
from tests.in_memory import in_memory
from workload.outcomes.results import OutcomeClass

WORLD = declare(["l(a INT, b BIGINT)", "r(c INT, d INT)", "s(e INT)"])


EVENTS = declare(["e(at TIMESTAMP_NTZ, day DATE, n INT, v INT)", "f(x INT, t DATE, u TIMESTAMP)"])
"""Rows of a time and a number, whose groups are read by rounding these."""


def rounding_of_spark(text: str, columns: Columns) -> Type | None:
    """The types of the expressions that only Spark evaluates here."""
    return INT if " DIV " in text else TIMESTAMP_NTZ if "TRUNC" in text else None


def filters_above(query: str, few: str = "l@delta", **values: Collection[Scalar]) -> dict[str, str]:
    """The filters that keys of changed rows add, by the leaf below each. `values`: of the columns."""
    plan = change_plan(bind_query(query, {**WORLD, **EVENTS}, rounding_of_spark), RULES)
    staged = stages(plan, [few])
    parts = [*(step for _, step in staged.steps), staged.last]
    before = {id(node.predicate) for part in parts for node in walk(part) if isinstance(node, Filter)}
    keyed = [with_keys(part, [few], lambda _, column: values.get(column)) for part in parts]
    return {
        leaf.name: render(node, SPARK).text().partition(" WHERE ")[2]
        for part in keyed
        for node in walk(part)
        if isinstance(node, Filter) and id(node.predicate) not in before
        for leaf in walk(node.child)
        if isinstance(leaf, Leaf)
    }


@pytest.mark.nightly
def test_random_scenarios_pass_on_an_engine_that_filters_by_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Plan] = []

    def keyed(self: DuckStore, plan: Plan, bound: Mapping[str, Relation]) -> DuckRelation:
        few = [name for name in bound if name.endswith("@delta") or "/" in name]

        def keys_of(leaf: str, column: str) -> Collection[Scalar] | None:
            relation = bound[leaf]
            assert isinstance(relation, DuckRelation)
            if number % 3 == 0 and column.endswith("a"):
                return None
            read = f'SELECT DISTINCT "{column}" FROM "{relation.name}"'
            return [value for (value,) in self.connection.execute(read).fetchall()]

        number = len(added)
        filtered = with_keys(plan, few, keys_of)
        added.extend([filtered] if filtered is not plan else [])
        return self.computed(self.query(filtered, bound))

    monkeypatch.setattr(DuckStore, "materialized", keyed)
    lane = Lane(engine=in_memory())
    for index in range(examples(20)):
        outcome = lane.judge(scenario_at(12, QUICK, index))
        assert outcome.outcome is OutcomeClass.PASSED, (index, outcome.findings)
    assert len(added) > 40


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT b, d FROM l JOIN r ON a = c", {"r@t1": "(`c` IN (1, 3))"}),
        ("SELECT b, d FROM l JOIN r ON a <=> c", {"r@t1": "((`c` IN (1, 3)) OR (`c` IS NULL))"}),
        ("SELECT b, d FROM l LEFT JOIN r ON a = c AND d > 0", {"r@t1": "(`c` IN (1, 3))"}),
        ("SELECT b, d FROM l JOIN r ON a = c AND a = d", {"r@t1": "((`c` IN (1, 3)) AND (`d` IN (1, 3)))"}),
        ("SELECT b, d FROM l JOIN r ON a < c", {}),
        ("SELECT b, d FROM l JOIN r ON c >= a", {"r@t1": "(`c` >= 1)"}),
        ("SELECT b, d FROM l JOIN r ON c <= a", {"r@t1": "(`c` <= 3)"}),
        ("SELECT b, d FROM l JOIN r ON c >= a OR d <= a", {"r@t1": "((`c` >= 1) OR (`d` <= 3))"}),
        ("SELECT b, d FROM l JOIN r ON c >= a OR d > b", {}),
        ("SELECT b, d FROM l JOIN r ON b = c", {}),
        ("SELECT b, d FROM l JOIN r ON a + 1 = c", {}),
        ("SELECT a, MIN(b) AS m FROM l GROUP BY a", {"l@t0": "*", "l@t1": "*"}),
        (
            "SELECT n FROM (SELECT a, COUNT(*) AS n FROM l GROUP BY a) q JOIN s ON n = e",
            {"l@t0": "*", "l@t1": "*"},
        ),
    ],
)
def test_columns_that_must_be_equal_are_filtered(query: str, expected: dict[str, str]) -> None:
    found = filters_above(query, a=[3, None, 1])
    assert found.keys() == expected.keys()
    for leaf, text in expected.items():
        if text == "*":
            assert "IN (1, 3)" in found[leaf]
            assert "IS NULL" in found[leaf]
        else:
            assert found[leaf].replace("`r@t1`.", "") == text


def test_many_keys_are_bounds_and_no_key_is_no_row() -> None:
    query = "SELECT b, d FROM l JOIN r ON a = c"
    assert "BETWEEN 0 AND 100" in filters_above(query, a=range(MOST_LISTED + 1))["r@t1"]
    assert filters_above(query, a=[None])["r@t1"] == "FALSE"
    assert filters_above(query) == {}


AT, DAY = dt.datetime(2024, 3, 1, 10, 7), dt.date(2024, 3, 1)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (
            "CAST(at AS DATE)",
            "(`at` BETWEEN TIMESTAMP_NTZ '2024-02-29 10:07:00' AND TIMESTAMP_NTZ '2024-03-02 10:07:00')",
        ),
        (
            "date_trunc('WEEK', at)",
            "(`at` BETWEEN TIMESTAMP_NTZ '2024-02-23 10:07:00' AND TIMESTAMP_NTZ '2024-03-08 10:07:00')",
        ),
        (
            "window(at, '10 minutes')",
            "(`at` BETWEEN TIMESTAMP_NTZ '2024-03-01 09:57:00' AND TIMESTAMP_NTZ '2024-03-01 10:17:00')",
        ),
        ("year(day)", "(`day` BETWEEN DATE '2023-03-01' AND DATE '2025-03-02')"),
        ("n DIV 5", "(`n` BETWEEN CAST('-8' AS INT) AND 17)"),
        ("n DIV 2000000000", ""),
        ("date_trunc(CAST(v AS STRING), at)", ""),
        ("n + 5", ""),
        # NULL for each row.
        ("trunc(day, 'DD')", ""),
    ],
)
def test_rows_that_a_key_rounds_together_lie_near_to_each_other(key: str, expected: str) -> None:
    query = f"SELECT COUNT(DISTINCT v) AS c FROM e GROUP BY {key}"
    found = filters_above(query, "e@delta", at=[AT], day=[DAY], n=[2, 7])
    ends = ("e@t0", "e@t1")
    assert [found.get(leaf, "").removeprefix("(NOT (`at` IS NULL)) AND ") for leaf in ends] == [expected] * 2
    if expected:
        name = expected.split("`")[1]
        unknown = filters_above(query, "e@delta", **{name: [None]})
        assert all(leaf not in unknown for leaf in ends)
        first = [dt.datetime.min, AT] if name == "at" else [dt.date.min, DAY]  # noqa: DTZ901
        assert name == "n" or all(
            leaf not in filters_above(query, "e@delta", **{name: first}) for leaf in ends
        )


@pytest.mark.parametrize(
    ("key", "results", "expected"),
    [
        ("n DIV 5", [3, None, -1], "((`n` BETWEEN CAST('-15' AS INT) AND 25) OR (`n` IS NULL))"),
        (
            "CAST(at AS DATE)",
            [DAY],
            "`at` BETWEEN TIMESTAMP_NTZ '2024-02-29 00:00:00' AND TIMESTAMP_NTZ '2024-03-02",
        ),
        ("year(day)", [2024], ""),
        (
            "window(day, '12 hours', '12 hours', '3 hours').start",
            [AT],
            "`day` BETWEEN DATE '2024-02-29' AND DATE '2024-03-02'",
        ),
        ("day", [DAY], ""),
    ],
)
def test_groups_of_known_keys_are_made_of_the_rows_near_to_them(
    key: str, results: list[Scalar], expected: str
) -> None:
    groups = f"SELECT {key} AS k, COUNT(DISTINCT v) AS c FROM e GROUP BY {key}"
    column = "t" if DAY in results else "u" if AT in results else "x"
    query = f"SELECT g.c FROM f JOIN ({groups}) g ON f.{column} <=> g.k"
    found = filters_above(query, "f@delta", **{column: results})
    assert expected in found["e@t1"]
    assert bool(expected) == ("BETWEEN" in found["e@t1"])


def test_a_running_sum_reads_nothing_before_the_first_changed_row() -> None:
    query = "SELECT a, b, SUM(b) OVER (ORDER BY a) AS s FROM l"
    ends = (CONTENTS, "l@t1")
    found = filters_above(query, a=[7, 5])
    assert [found[leaf] for leaf in ends if leaf in found] == ["(`a` >= 5)"] * 2
    # A changed row whose key is NULL stands before all others, or after them.
    assert filters_above(query, a=[7, None]) == {}
    last = query.replace("ORDER BY a", "ORDER BY a DESC")
    found = filters_above(last, a=[7, None])
    assert [found[leaf] for leaf in ends if leaf in found] == ["((`a` IS NULL) OR (`a` <= 7))"] * 2


def test_the_source_of_first_rows_is_read_only_where_one_has_gone() -> None:
    """The flag of the partitions to read is known before the last stage, and is mostly true in no row."""
    query = "SELECT a, b FROM l QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) = 1"
    staged = stages(change_plan(bind_query(query, WORLD), RULES), ["l@delta"])
    ((name, ranked),) = staged.steps
    assert {leaf.name for leaf in walk(ranked) if isinstance(leaf, Leaf)} == {"contents@t0", "l@delta"}

    def read(again: bool) -> set[str]:
        known = with_keys(staged.last, [name], lambda _, column: {again} if column == AGAIN else None)
        plan = without_empty(known, ())
        assert plan is not None
        return {leaf.name for leaf in walk(plan) if isinstance(leaf, Leaf)}

    assert read(False) == {name}
    assert read(True) == {name, "l@t1"}
