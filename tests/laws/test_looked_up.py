"""Law: filters by the keys of few rows change no result, and leave unread what the keys rule out."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from campaign.judging.lane import Lane
from dynamic_tables.differentiate.registry import RULES, change_plan
from dynamic_tables.differentiate.window_first import AGAIN
from dynamic_tables.explain import declare
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.expressions import Scalar
from dynamic_tables.plan.nodes import Filter, Leaf, Plan, walk
from dynamic_tables.plan.rewrites.empty import without_empty
from dynamic_tables.plan.rewrites.looked_up import MOST_LISTED, with_keys
from dynamic_tables.plan.rewrites.stages import stages
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


def filters_above(query: str, **values: Collection[Scalar]) -> dict[str, str]:
    """The filters that keys of `l@delta` add, by the leaf below each. `values`: of the columns of l."""
    plan = change_plan(bind_query(query, WORLD), RULES)
    known = stages(plan, ["l@delta"]).last
    before = {id(node.predicate) for node in walk(known) if isinstance(node, Filter)}
    keyed = with_keys(known, ["l@delta"], lambda _, column: values.get(column))
    return {
        leaf.name: render(node, SPARK).text().partition(" WHERE ")[2]
        for node in walk(keyed)
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


def test_a_running_sum_reads_nothing_before_the_first_changed_row() -> None:
    query = "SELECT a, b, SUM(b) OVER (ORDER BY a) AS s FROM l"
    ends = ("l@t0", "l@t1")
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
