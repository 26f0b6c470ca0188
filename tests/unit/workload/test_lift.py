"""What can be lifted together, and what is told where it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generators.generate import scenario_at
from generators.profiles import SMOKE
from generators.worlds import worlds_of
from tests.ir import call, columns, count_star, join, named, select, table
from workload.dml import Delete, Dml, Insert, Merge, Optimize, Overwrite, Replace, Restore, Truncate
from workload.lift import Interval, Unliftable, intervals, lift, lifted_query
from workload.query import Call, JoinKind, Query
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.sql import Dialect, render_query
from workload.types import INT
from workload.wellformed import check_scenario

R = table("r", k=INT, a=INT)
r = columns(R)
ALL_ROWS = select({"n": count_star()}, named("r"), group_by=[])
PLAIN = select({"k": r["k"]}, named("r"))


def world(*statements: Dml, query: Query = PLAIN) -> Scenario:
    """One table, one definition, rows at 10, some statements at 20."""
    first = Commit(10, (Insert("r", ((1, 1), (2, 2))),))
    steps = (first, Create(11, "d"), Commit(20, statements), Refresh(21, "d", 21))
    return Scenario("world", (R,), (DynamicTable("d", query),), steps)


def lifted(*worlds: Scenario) -> Scenario:
    lifted_scenario = lift(worlds)
    assert isinstance(lifted_scenario, Scenario), lifted_scenario
    check_scenario(lifted_scenario)
    return lifted_scenario


def statements(scenario: Scenario, at: int) -> tuple[Dml, ...]:
    return next(s.statements for s in scenario.steps if isinstance(s, Commit) and s.at == at)


def test_statements_that_differ_in_rows_alone_stay_one() -> None:
    lifted_scenario = lifted(
        world(Insert("r", ((7, 7),))), world(Insert("r", ())), world(Insert("r", ((8, 8), (9, 9))))
    )
    assert statements(lifted_scenario, 20) == (Insert("r", ((7, 7, 0), (8, 8, 2), (9, 9, 2))),)


def test_merge_matches_within_a_world() -> None:
    merge = Merge("r", ("k",), ((1, 5),), None, True)
    lifted_scenario = lifted(world(merge), world(merge))
    assert statements(lifted_scenario, 20) == (
        Merge("r", ("k", "world"), ((1, 5, 0), (1, 5, 1)), None, True),
    )


def test_a_statement_without_rows_serves_all_worlds_at_once() -> None:
    everywhere = (Delete("r", None), Truncate("r"), Restore("r", 10), Optimize("r"))
    assert statements(lifted(world(*everywhere), world(*everywhere)), 20) == everywhere


def test_other_statements_reach_their_world_only() -> None:
    lifted_scenario = lifted(world(Truncate("r")), world(Overwrite("r", ((3, 3),))), world(Delete("r", None)))
    texts = [type(statement).__name__ for statement in statements(lifted_scenario, 20)]
    assert texts == ["Delete", "Delete", "Insert", "Delete"]
    assert all(s.where is not None for s in statements(lifted_scenario, 20) if isinstance(s, Delete))


@pytest.mark.parametrize("statement", [Restore("r", 10), Replace("r", ())])
def test_what_only_some_worlds_restore_or_replace_is_run_one_by_one(statement: Dml) -> None:
    lifted_scenario = lift([world(statement), world(Truncate("r"))])
    assert lifted_scenario == Unliftable(f"{type(statement).__name__.upper()} of r in some worlds only")


def test_worlds_of_different_shape_are_told() -> None:
    other = world(query=ALL_ROWS)
    assert lift([world(), other]) == Unliftable("the worlds have different tables or definitions")
    longer = replace(world(), steps=(*world().steps, Refresh(30, "d", 30)))
    assert lift([world(), longer]) == Unliftable("the worlds have different steps")


def test_names_that_lifting_needs_are_told() -> None:
    named_world = table("r", world=INT)
    query = select({"k": columns(named_world)["world"]}, named("r"))
    taken = Scenario("taken", (named_world,), (DynamicTable("d", query),), (Create(1, "d"),))
    assert lift([taken]) == Unliftable("a column is named world")
    worlds = Scenario("taken", (table("worlds", k=INT),), (), ())
    assert lift([worlds]) == Unliftable("a relation is named worlds")


def test_an_aggregate_over_all_rows_brings_the_table_of_worlds() -> None:
    lifted_scenario = lifted(world(query=ALL_ROWS), world(query=ALL_ROWS))
    assert [t.name for t in lifted_scenario.tables] == ["r", "worlds"]
    assert statements(lifted_scenario, 10)[0] == Insert("worlds", ((0,), (1,)))


def test_queries_keep_worlds_apart() -> None:
    full = select({"k": r["k"]}, join(JoinKind.FULL, named("r"), named("s"), r_is_s()))
    text = render_query(lifted_query(full), Dialect.SPARK)
    assert "coalesce(r.world, s.world)" in text
    assert "r.world = s.world" in text


def r_is_s() -> Call:
    return call("eq", r["k"], columns(table("s", k=INT, b=INT), "s")["k"])


def test_intervals_are_those_of_every_table() -> None:
    steps = (*world().steps, Commit(30, (Truncate("r"),)), Refresh(31, "d", 31))
    assert intervals(replace(world(), steps=steps)) == (Interval(11, 21), Interval(21, 31))
    only_created = replace(world(), steps=world().steps[:2])
    assert intervals(only_created) == (Interval(11, 11),)


def test_other_worlds_are_of_one_shape_and_the_first_is_the_scenario() -> None:
    scenario = scenario_at(1, SMOKE, 4)
    worlds = worlds_of(scenario, 5)
    assert worlds[0] == scenario
    assert worlds == worlds_of(scenario, 5)
    assert len(set(map(repr, worlds))) == 5
    for other in worlds:
        check_scenario(other)
        assert other.definitions == scenario.definitions
