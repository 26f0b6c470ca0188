"""Scalar subqueries by increments: the aggregate of a group, of no group, and of all rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from campaign.judging.lane import Lane
from dynamic_tables.explain import declare, explain
from tests.in_memory import in_memory
from tests.ir import agg, call, columns, count_star, derived, join, named, select, table
from workload.dml import Delete, Insert
from workload.outcomes.results import OutcomeClass
from workload.outcomes.trace import Action
from workload.query import JoinKind, Query
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Column
from workload.types import BIGINT, INT, Row
from workload.writing import written_query

R, S = table("r", k=INT), table("s", k=INT, b=INT)
r, s = columns(R), columns(S)
g = columns((Column("k", INT), Column("top", INT), Column("n", BIGINT)), "g")
BY_KEY = select({"k": s["k"], "top": agg("MAX", s["b"]), "n": count_star()}, named("s"), group_by=[s["k"]])
GROUPS = join(JoinKind.LEFT, named("r"), derived(BY_KEY, "g"), call("eq", r["k"], g["k"]))
TOP = select({"k": r["k"], "top": g["top"]}, GROUPS)
NAMES = {"r": ["k"], "s": ["k", "b"]}

STEPS = (
    Commit(1, (Insert("r", ((1,), (2,), (None,))), Insert("s", ((1, 5), (None, 9))))),
    Create(2, "d"),
    Commit(3, (Insert("s", ((1, 7), (2, 1))),)),
    Refresh(4, "d", 4),
    Commit(5, (Delete("s", call("eq", s["k"], 1)), Insert("r", ((2,),)))),
    Refresh(6, "d", 6),
)


def texts(query: Query) -> set[str]:
    """The query in two hundred styles, in lower case."""
    return {written_query(query, style, NAMES).lower() for style in range(1, 200)}


def test_the_greatest_value_of_each_group_is_maintained_in_every_style() -> None:
    expected: Sequence[set[Row]] = [
        {(1, 5), (2, None), (None, None)},
        {(1, 7), (2, 1), (None, None)},
        {(1, None), (2, 1), (None, None)},
    ]
    for style in range(12):
        scenario = Scenario("top", (R, S), (DynamicTable("d", TOP, style=style),), STEPS)
        refreshes = in_memory().run(scenario).refreshes
        assert [{stored.row for stored in each.contents} for each in refreshes] == expected
        assert {each.action for each in refreshes[1:]} == {Action.INCREMENTAL}
    assert Lane(engine=in_memory(), fresh_percent=100).judge(scenario).outcome is OutcomeClass.PASSED


def test_people_write_it_as_a_subquery_but_not_a_count() -> None:
    assert any("(select max(s.b) from s where s.k = r.k)" in text for text in texts(TOP))
    counted = select({"k": r["k"], "n": g["n"]}, GROUPS)
    assert all("(select count(*) from s where" not in text for text in texts(counted)), "0 there, here NULL"
    unread = select({"k": r["k"]}, GROUPS)
    assert all(re.search(r"\bs\b", text) for text in texts(unread)), "the text names every relation"
    keys = select({"k": g["k"], "top": g["top"]}, GROUPS)
    assert all("group by" in text for text in texts(keys)), "a key of the groups is no value"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM r WHERE k > (SELECT MAX(b) FROM s)",
        "SELECT k, (SELECT COUNT(*) + 1 FROM s WHERE r.k = s.k AND s.b > 2) AS n FROM r",
        "SELECT k FROM r WHERE k > (SELECT MAX(b) FROM s) OR k = (SELECT MIN(b) FROM s WHERE s.k <=> r.k)",
        "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING COUNT(*) > (SELECT MAX(b) FROM s)",
        "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING COUNT(*) > (SELECT MAX(b) FROM s WHERE s.k = r.k)",
        "SELECT k, SUM(k) - (SELECT MAX(b) FROM s) AS n FROM r GROUP BY ROLLUP (k)",
        "SELECT COUNT(*) AS n, (SELECT COUNT(*) FROM s) AS m FROM r",
        "SELECT COUNT(*) AS n FROM r HAVING COUNT(*) > (SELECT COUNT(*) FROM s)",
        "SELECT SUM(k + (SELECT MAX(b) FROM s WHERE s.k = r.k)) AS n FROM r",
        "SELECT (SELECT MAX(b) FROM s WHERE s.k = r.k) AS m, COUNT(*) AS n FROM r GROUP BY m",
        "SELECT k, (SELECT MAX(b) FROM s WHERE s.k = r.k) AS m, COUNT(*) AS n FROM r GROUP BY ALL",
        "SELECT k, rank() OVER (ORDER BY SUM(k) - (SELECT COUNT(*) FROM s)) AS n FROM r GROUP BY k",
        "SELECT k FROM r WHERE k IN (SELECT k FROM s WHERE b > (SELECT SUM(t.b) FROM s t WHERE t.k = s.k))",
    ],
)
def test_texts_that_are_maintained(query: str) -> None:
    explained = explain(query, declare(("r(k INT)", "s(k INT, b INT)"), ()))
    assert explained.incremental, explained.reason


TOTAL = select({"n": agg("MAX", s["b"])}, named("s"), group_by=[])
OF_ALL = select({"k": r["k"], "n": count_star()}, named("r"), group_by=[r["k"]])
q = columns((Column("k", INT), Column("n", BIGINT)), "q")
t = columns((Column("n", INT),), "t")
ABOVE = select(
    {"k": q["k"], "n": q["n"]},
    join(JoinKind.CROSS, derived(OF_ALL, "q"), derived(TOTAL, "t")),
    where=call("lt", t["n"], q["n"]),
)


def test_people_compare_groups_with_a_value_in_having() -> None:
    having = [" ".join(text.split()).partition(" having ")[2] for text in texts(ABOVE)]
    assert "(select max(s.b) from s) < count(*)" in having
    for style in range(12):
        scenario = Scenario("above", (R, S), (DynamicTable("d", ABOVE, style=style),), STEPS)
        refreshes = in_memory().run(scenario).refreshes
        assert {each.action for each in refreshes[1:]} == {Action.INCREMENTAL}
    assert Lane(engine=in_memory(), fresh_percent=100).judge(scenario).outcome is OutcomeClass.PASSED


def test_the_output_of_a_subquery_without_a_name_has_the_number_of_its_place() -> None:
    explained = explain("SELECT k, (SELECT MAX(b) FROM s) FROM r", declare(("r(k INT)", "s(b INT)"), ()))
    assert [name for name, _ in explained.columns] == ["k", "_c1"]
