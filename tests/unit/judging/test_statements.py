"""An operator is maintained under a statement where an incremental refresh covers the statement."""

from __future__ import annotations

from campaign.judging.statements import statements_met
from tests.in_memory import in_memory
from tests.ir import call, columns, count_star, named, select, table
from workload.dml import Assignment, Delete, Dml, Insert, Merge, Optimize, Update
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario, View
from workload.types import INT

R, S = table("r", k=INT, a=INT), table("s", k=INT)
r = columns(R)
GROUPS = select({"k": r["k"], "n": count_star()}, named("r"), group_by=[r["k"]])
BIG = select({"k": columns(R, "v")["k"]}, named("v"), where=call("gt", columns(R, "v")["k"], 0))
UPDATE = Update("r", (Assignment("a", call("add", r["a"], 1)),), call("eq", r["k"], 1))


def met(*statements: Dml) -> set[str]:
    """What is met by a table of groups and one over a view, refreshed after these statements."""
    view = select({"k": r["k"], "a": r["a"]}, named("r"))
    scenario = Scenario(
        "statements",
        (R, S),
        (DynamicTable("d", GROUPS), View("v", view), DynamicTable("e", BIG)),
        (
            Commit(1, (Insert("r", ((1, 1), (2, 2))), Insert("s", ((1,),)))),
            *(Create(2 + place, name) for place, name in enumerate("dve")),
            Refresh(6, "d", 6),
            Refresh(7, "e", 7),
            Commit(8, statements),
            Refresh(9, "d", 9),
            Refresh(10, "e", 10),
        ),
    )
    return set(statements_met(scenario, in_memory().run(scenario)))


def test_each_statement_of_the_interval_counts_for_each_operator() -> None:
    found = met(UPDATE, Delete("r", call("eq", r["k"], 2)))
    assert found == {
        *("grouped aggregation / update", "grouped aggregation / delete"),
        *("filter / update", "filter / delete"),
    }


def test_a_merge_is_not_what_it_consists_of() -> None:
    assert met(Merge("r", ("k",), ((1, 5), (9, 9)), None, True)) == {
        "grouped aggregation / merge",
        "filter / merge",
    }


def test_statements_before_the_interval_elsewhere_and_without_changes_do_not_count() -> None:
    """The first INSERT is covered by the initialization, and no query reads s."""
    everywhere = columns(S)["k"]
    found = met(UPDATE, Delete("s", call("eq", everywhere, 1)), Optimize("r"))
    assert found == {"grouped aggregation / update", "filter / update"}
    assert met(Delete("s", call("eq", everywhere, 1))) == set(), "a refresh without data maintains nothing"
