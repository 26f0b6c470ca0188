"""Law: a plan in stages has the rows of the plan, whatever the leaves hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from random import Random

import duckdb
import pytest

from campaign.judging.lane import Lane
from dynamic_tables.differentiate.registry import RULES, change_plan
from dynamic_tables.explain import declare
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.nodes import Join, JoinKind, Leaf, Plan, SemiJoin, walk
from dynamic_tables.plan.rewrites.stages import MOST_OPERATORS, Stages, stages, written_out
from dynamic_tables.plan.written.render import render
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


GROUPED = "(SELECT c, MAX(d) AS x FROM r GROUP BY c)"

BESIDE_GROUPS = [
    f"SELECT a, x FROM l JOIN {GROUPED} AS m ON a = c",
    f"SELECT a, x FROM l JOIN {GROUPED} AS m ON a = c AND b = x",
    f"SELECT a, x FROM l JOIN {GROUPED} AS m ON a <=> c",
    f"SELECT a, x FROM l LEFT JOIN {GROUPED} AS m ON a = c",
    f"SELECT a, x FROM {GROUPED} AS m RIGHT JOIN l ON a = c AND x > b",
    f"SELECT a FROM l WHERE EXISTS (SELECT 1 FROM {GROUPED} AS m WHERE a = c AND x <> b)",
    f"SELECT a FROM l WHERE NOT EXISTS (SELECT 1 FROM {GROUPED} AS m WHERE a = c AND x > b)",
    f"SELECT a, x FROM l JOIN (SELECT c, x FROM {GROUPED} AS g WHERE x > 1) AS m ON a = c",
    "SELECT a, k FROM l JOIN (SELECT c, d AS k, COUNT(*) AS n FROM r GROUP BY c, d) AS m ON a = c AND b = k",
    "SELECT a, d FROM l JOIN (SELECT DISTINCT c, d FROM r) AS m ON a = c",
    "SELECT a, n FROM l JOIN (SELECT c, SUM(d) OVER (PARTITION BY c) AS n FROM r) AS m ON a = c",
    "SELECT a, n FROM l JOIN (SELECT c, COUNT(*) n FROM (SELECT DISTINCT c, d FROM r) GROUP BY c) ON a = c",
    f"SELECT a, x FROM l JOIN (SELECT c, x FROM {GROUPED} AS g UNION ALL SELECT e, 0 FROM s) AS m ON a = c",
    f"SELECT a, x FROM l JOIN (SELECT e, x FROM s JOIN {GROUPED} AS g ON e = c) AS m ON a = e",
    f"SELECT a, x FROM l JOIN (SELECT e, x FROM s LEFT JOIN {GROUPED} AS g ON e = c) AS m ON a = e",
    f"SELECT a, x FROM l JOIN (SELECT c, x, e FROM {GROUPED} AS g LEFT JOIN s ON x = e) AS m ON a = c",
]


def ends_of(random: Random, table: str, columns: int) -> Iterator[str]:
    """The statements that make a table at both ends and its changes, of random rows, NULLs among them."""

    def row() -> tuple[int | None, ...]:
        return tuple(random.choice([None, 1, 2, 3]) for _ in range(columns))

    before = {f"i{number}": row() for number in range(12)}
    after = {
        key: row() if random.random() < 0.3 else old for key, old in before.items() if random.random() < 0.8
    }
    after |= {f"n{number}": row() for number in range(2)}
    names = ", ".join(f"{name} INT" for name in WORLD_COLUMNS[table])
    for end, rows in (("t0", before), ("t1", after)):
        yield f'CREATE TABLE "{table}@{end}" ({names}, "$ROW_ID" VARCHAR)'
        for key, values in rows.items():
            yield f'INSERT INTO "{table}@{end}" VALUES ({", ".join(map(literal, (*values, key)))})'
    changes = [
        f'SELECT * EXCLUDE ("$ROW_ID"), \'{action}\' AS "$ACTION", "$ROW_ID" '
        f'FROM (FROM "{table}@{first}" EXCEPT FROM "{table}@{second}")'
        for action, first, second in (("DELETE", "t0", "t1"), ("INSERT", "t1", "t0"))
    ]
    yield f'CREATE TABLE "{table}@delta" AS {" UNION ALL ".join(changes)}'


WORLD_COLUMNS = {"l": "ab", "r": "cd", "s": "e"}


def literal(value: int | str | None) -> str:
    return "NULL" if value is None else str(value) if isinstance(value, int) else f"'{value}'"


COMPUTED = [
    "SELECT a, n FROM l JOIN (SELECT d, SUM(c) AS n FROM r GROUP BY d) AS m ON a + 1 = d",
    f"SELECT a, x FROM l JOIN {GROUPED} AS m ON a = c % 2",
    f"SELECT a, x FROM l JOIN (SELECT c + 1 AS k, x FROM {GROUPED} AS g) AS m ON a = k",
    "SELECT a, d FROM l JOIN (SELECT DISTINCT c, d FROM r) AS m ON a = c % 2",
]
"""Joins by what may fail on a row, or may tell keys apart that are one group, as -0.0 and 0.0 are."""

WHOLE_GROUPS = [
    f"SELECT a, e, x FROM l JOIN (SELECT e, c, x FROM s LEFT JOIN {GROUPED} AS g ON e = c) AS m ON a <=> c",
    f"SELECT a, e, x FROM l JOIN (SELECT e, c, x FROM {GROUPED} AS g RIGHT JOIN s ON e = c) AS m ON a <=> c",
    f"SELECT a, e, x FROM l JOIN (SELECT e, c, x FROM s FULL JOIN {GROUPED} AS g ON e = c) AS m ON a <=> c",
    f"SELECT a, e, x FROM l JOIN (SELECT e, c, x FROM {GROUPED} AS g FULL JOIN s ON e = c) AS m ON a <=> c",
    "SELECT a, n FROM l JOIN (SELECT d, SUM(c) OVER (PARTITION BY c) AS n FROM r) AS m ON a = d",
    f"SELECT a, x FROM l JOIN (SELECT c, x FROM {GROUPED} AS g ORDER BY x, c OFFSET 1) AS m ON a = c",
    "SELECT a, c FROM l JOIN (SELECT c, d FROM r ORDER BY c, d LIMIT 4) AS m ON a = d",
    f"SELECT a, x FROM l JOIN {GROUPED} AS m ON a = x",
    f"SELECT a, x FROM l JOIN {GROUPED} AS m ON a < c",
    *COMPUTED,
]


@pytest.mark.parametrize(
    "few",
    [["l@delta", "s@delta"], ["l@t0", "s@t0", "r@t0"], ["r@t0", "r@t1", "r@delta"]],
    ids=lambda few: few[0],
)
@pytest.mark.parametrize("query", [*BESIDE_GROUPS, *WHOLE_GROUPS])
def test_groups_beside_few_rows_are_those_that_these_ask_for(query: str, few: list[str]) -> None:
    """Also where the old rows are few and the changes many, as in the first load of an empty table."""
    plan = change_plan(bind_query(query, WORLD), RULES)
    made = stages(plan, few)
    parts = [*made.steps, ("result", made.last)]
    reduced = [
        node
        for _, part in parts
        for node in walk(part)
        if isinstance(node, SemiJoin) and "r@t1" in leaves(node.left) and "r@delta" not in leaves(node)
    ]
    assert reduced or query in WHOLE_GROUPS or few[0] != "l@delta"
    assert not reduced or query not in COMPUTED
    random = Random(7)
    for _ in range(examples(5)):
        with duckdb.connect(":memory:") as database:
            for table, names in WORLD_COLUMNS.items():
                for statement in ends_of(random, table, len(names)):
                    database.execute(statement)
            due = database.execute(render(plan, DUCKDB).text()).fetchall()
            for name, part in parts:
                text = render(part, DUCKDB).text()
                database.execute(f'CREATE TABLE "{name}" AS {text}')
            found = database.execute("FROM result").fetchall()
        assert Counter(found) == Counter(due)


def test_what_a_grouping_makes_of_few_rows_runs_before_the_join_with_many() -> None:
    found = staged(f"SELECT a, x FROM l JOIN {GROUPED} AS m ON a = c AND b = x", "r@delta")
    assert any(leaves(step) == {"r@t0", "r@t1", "r@delta"} for _, step in found.steps)
    assert "r@delta" not in leaves(found.last)


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
