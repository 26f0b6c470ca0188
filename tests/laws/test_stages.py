"""Law: a plan in stages has the rows of the plan, whatever the leaves hold."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest

from campaign.judging.lane import Lane
from dynamic_tables.differentiate.registry import RULES, change_plan
from dynamic_tables.explain import declare
from dynamic_tables.plan.nodes import Join, JoinKind, Leaf, Plan, SemiJoin, walk
from dynamic_tables.plan.rewrites.stages import MOST_OPERATORS, Stages, stages, written_out
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.store.port import Relation
from engines.memory.duck_store import DuckRelation, DuckStore
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.depth import examples
from tests.in_memory import in_memory
from workload.outcomes.results import OutcomeClass

WORLD = declare(["l(a INT, b INT)", "r(c INT, d INT)", "s(e INT)"])


def staged(query: str, *few: str) -> Stages:
    """The changes of a query in stages. `few`: the leaves with few rows."""
    return stages(change_plan(bind_query(query, WORLD), RULES), few)


def leaves(plan: Plan) -> set[str]:
    return {node.name for node in walk(plan) if isinstance(node, Leaf)}


@pytest.mark.nightly
def test_random_scenarios_pass_on_an_engine_that_runs_every_plan_in_stages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Stages] = []

    def in_stages(self: DuckStore, plan: Plan, bound: Mapping[str, Relation]) -> DuckRelation:
        few = {name for name in bound if name.endswith("@delta")}
        made.append(stages(plan, few, most=60))
        known = dict(bound)
        for name, step in made[-1].steps:
            known[name] = self.computed(self.query(step, known))
        return self.computed(self.query(made[-1].last, known))

    monkeypatch.setattr(DuckStore, "materialized", in_stages)
    lane = Lane(engine=in_memory())
    for index in range(examples(32)):
        outcome = lane.judge(scenario_at(11, QUICK, index))
        assert outcome.outcome is OutcomeClass.PASSED, (index, outcome.findings)
    assert sum(len(each.steps) for each in made) > 50
    assert any(len(each.steps) > 2 for each in made)


def test_matched_rows_are_looked_up_once() -> None:
    found = staged("SELECT a, d FROM l LEFT JOIN r ON a = c", "l@delta", "r@delta")
    ((_, matched),) = found.steps
    assert leaves(matched) == {"l@t0", "r@delta"}
    assert "l@t0" not in leaves(found.last)


def test_many_rows_are_reduced_to_those_that_few_rows_match() -> None:
    found = staged("SELECT a, d FROM l LEFT JOIN r ON a = c", "l@delta")
    joins = [node for node in walk(found.last) if isinstance(node, Join) and node.kind is JoinKind.LEFT]
    assert any(isinstance(join.right, SemiJoin) and leaves(join.right.left) == {"r@t1"} for join in joins)


def test_without_few_rows_nothing_is_run_first() -> None:
    query = "SELECT a, d FROM l LEFT JOIN r ON a = c"
    whole = change_plan(bind_query(query, WORLD), RULES)
    assert stages(whole, ()) == Stages((), whole)


def test_each_join_of_a_chain_adds_as_many_stages_and_no_stage_gets_large() -> None:
    """Written out, the changes of eight joins are 200,000 operators: three times as many for each join."""
    world = declare(f"t{i}(k INT, v{i} STRING)" for i in range(9))
    counts, largest = [], []
    for joins in range(1, 9):
        joined = " ".join(f"FULL JOIN t{i} ON t{i - 1}.k = t{i}.k" for i in range(1, joins + 1))
        plan = change_plan(bind_query(f"SELECT v0, v{joins} FROM t0 {joined}", world), RULES)
        made = stages(plan, {f"t{i}@delta" for i in range(9)})
        counts.append(len(made.steps))
        largest.append(max(written_out(each) for each in (*(step for _, step in made.steps), made.last)))
    assert written_out(plan) > 200_000
    assert {after - before for before, after in pairwise(counts[1:])} <= {7, 8}, counts
    assert max(largest) < 150, largest


def test_a_deep_plan_without_few_rows_is_cut_where_its_parts_are_shared() -> None:
    blocks = "SELECT a, b FROM l"
    for depth in range(10):
        key = "ab"[depth % 2]
        blocks = f"SELECT {key} AS a, COUNT(*) + MAX(b) AS b FROM ({blocks}) AS q{depth} GROUP BY {key}"
    plan = change_plan(bind_query(blocks, declare(["l(a BIGINT, b BIGINT)"])), RULES)
    made = stages(plan, ())
    assert written_out(plan) > 20_000
    assert max(written_out(each) for each in (*(step for _, step in made.steps), made.last)) < MOST_OPERATORS
    assert len(made.steps) < 50
    names = [name for name, _ in made.steps]
    assert len(set(names)) == len(names)


def test_a_plan_is_written_out_in_one_query_if_it_is_small() -> None:
    plan = change_plan(bind_query("SELECT a, d FROM l FULL JOIN r ON a = c", WORLD), RULES)
    assert written_out(plan) <= MOST_OPERATORS
    assert stages(plan, ()).steps == ()
