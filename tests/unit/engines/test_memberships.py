"""EXISTS, IN and their negations by increments: a row is a member or not, however many matches it has."""

from __future__ import annotations

from collections import Counter

import pytest

from campaign.judging.lane import Lane
from dynamic_tables.errors import DefinitionError
from dynamic_tables.explain import declare, explain
from tests.in_memory import in_memory
from tests.ir import agg, call, columns, derived, join, named, select, table
from workload.dml import Delete, Insert
from workload.outcomes.results import OutcomeClass
from workload.outcomes.trace import Action
from workload.query import JoinKind, Query
from workload.scenario import Commit, Create, DynamicTable, Refresh, Scenario
from workload.schema import Column
from workload.types import INT
from workload.writing import written_query

R, S = table("r", k=INT, a=INT), table("s", k=INT, b=INT)
r, s = columns(R), columns(S)
SAME_KEY = call("eq", r["k"], s["k"])
MAY_BE = call("not", call("is_false", SAME_KEY))
"""The condition of NOT IN: the keys are equal, or one of them is NULL."""


def members(kind: JoinKind, on: Query | object, style: int = 0) -> Scenario:
    """Rows of r by what s holds: a second match, the last one, a NULL, nothing at all."""
    query = select({"k": r["k"]}, join(kind, named("r"), named("s"), on=on))  # type: ignore[arg-type]
    return Scenario("members", (R, S), (DynamicTable("d", query, style=style),), STEPS)


STEPS = (
    Commit(1, (Insert("r", ((1, 1), (1, 1), (2, 2), (None, 3))), Insert("s", ((1, 1),)))),
    Create(2, "d"),
    Commit(3, (Insert("s", ((1, 2), (2, 1))),)),
    Refresh(4, "d", 4),
    Commit(5, (Delete("s", call("eq", s["b"], 1)), Insert("r", ((2, 9),)))),
    Refresh(6, "d", 6),
    Commit(7, (Insert("s", ((None, 1),)),)),
    Refresh(8, "d", 8),
    Commit(9, (Delete("s", call("is_not_null", s["b"])),)),
    Refresh(10, "d", 10),
)


@pytest.mark.parametrize(
    ("kind", "on", "contents"),
    [
        (JoinKind.SEMI, SAME_KEY, [{1: 2}, {1: 2, 2: 1}, {1: 2}, {1: 2}, {}]),
        (
            JoinKind.ANTI,
            SAME_KEY,
            [{2: 1, None: 1}, {None: 1}, {2: 2, None: 1}, {2: 2, None: 1}, {1: 2, 2: 2, None: 1}],
        ),
        (JoinKind.ANTI, MAY_BE, [{2: 1}, {}, {2: 2}, {}, {1: 2, 2: 2, None: 1}]),
    ],
    ids=["IN", "NOT EXISTS", "NOT IN"],
)
def test_members_after_each_refresh(
    kind: JoinKind, on: object, contents: list[dict[int | None, int]]
) -> None:
    for style in range(10):
        scenario = members(kind, on, style)
        refreshes = in_memory().run(scenario).refreshes
        assert [Counter(stored.row[0] for stored in each.contents) for each in refreshes] == contents
        assert {each.action for each in refreshes[1:]} == {Action.INCREMENTAL}
    assert Lane(engine=in_memory(), fresh_percent=100).judge(scenario).outcome is OutcomeClass.PASSED


def test_a_second_match_changes_nothing() -> None:
    refreshes = in_memory().run(members(JoinKind.SEMI, SAME_KEY)).refreshes
    changed = [Counter((c.action.value, c.row[0]) for c in each.change_set or ()) for each in refreshes[1:]]
    assert changed[0] == {("INSERT", 2): 1}


def test_people_write_them_as_joins_and_as_conditions() -> None:
    names = {"r": ["k", "a"], "s": ["k", "b"]}

    def texts(kind: JoinKind, on: object) -> str:
        query = select({"k": r["k"]}, join(kind, named("r"), named("s"), on=on))  # type: ignore[arg-type]
        return "\n".join(written_query(query, style, names) for style in range(1, 200)).lower()

    semi, anti, never = (
        texts(JoinKind.SEMI, SAME_KEY),
        texts(JoinKind.ANTI, SAME_KEY),
        texts(JoinKind.ANTI, MAY_BE),
    )
    assert all(words in semi for words in ("left semi join", "where exists (", " in (select s.k"))
    assert all(words in anti for words in ("anti join", "where not exists ("))
    assert "not in" not in anti, "NOT IN would drop the row whose key is NULL"
    assert "not in (select s.k" in never


def test_people_compare_an_aggregate_with_in_alone() -> None:
    groups = select({"a": r["a"], "top": agg("MAX", r["k"])}, named("r"), group_by=[r["a"]])
    of_groups = columns((Column("a", INT), Column("top", INT)), "q")
    on = call("eq", of_groups["top"], s["k"])
    query = select({"a": of_groups["a"]}, join(JoinKind.SEMI, derived(groups, "q"), named("s"), on=on))
    names = {"r": ["k", "a"], "s": ["k", "b"]}
    texts = [" ".join(written_query(query, style, names).lower().split()) for style in range(1, 200)]
    having = [text.partition(" having ")[2] for text in texts if " having " in text]
    assert having
    plain = [text.replace("`", "").replace(".é", "") for text in having]
    assert all(text.startswith("max(r.k) in (select s.k from s") for text in plain), "not in the query"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM r GROUP BY a HAVING MAX(k) IN (SELECT k FROM s)",
        "SELECT a, MAX(k) AS m FROM r GROUP BY a HAVING (a, m) NOT IN (SELECT k, b FROM s)",
        "SELECT a FROM r GROUP BY a HAVING EXISTS (SELECT 1 FROM s WHERE s.k = r.a)",
        "SELECT COUNT(*) AS n FROM r HAVING COUNT(*) IN (SELECT k FROM s) AND EXISTS (SELECT 1 FROM s)",
        "SELECT a, COUNT(*) FILTER (WHERE k IN (SELECT k FROM s)) AS n FROM r GROUP BY a",
        "SELECT EXISTS (SELECT 1 FROM s WHERE s.k = r.k) AS e, COUNT(*) AS n FROM r GROUP BY e",
    ],
)
def test_memberships_of_groups_are_maintained(query: str) -> None:
    explained = explain(query, declare(("r(k INT, a INT)", "s(k INT, b INT)"), ()))
    assert explained.incremental, explained.reason


@pytest.mark.parametrize(
    "condition",
    [
        "k IN (SELECT k FROM s)",
        "(k, a) NOT IN (SELECT k, b FROM s WHERE s.k > 1)",
        "NOT (EXISTS (SELECT * FROM s WHERE s.k = r.k AND s.b <> r.a)) AND a > 1",
        "k IN (SELECT MAX(k) FROM s GROUP BY b HAVING COUNT(*) > 1)",
        "k IN (SELECT k FROM s UNION SELECT b FROM s)",
        "k IN (WITH c AS (SELECT k FROM s) SELECT k FROM c)",
        "EXISTS (SELECT 1 FROM s WHERE s.k = r.k AND EXISTS (SELECT 1 FROM s t WHERE t.b = s.b))",
    ],
)
def test_conditions_that_are_maintained(condition: str) -> None:
    declared = declare(("r(k INT, a INT)", "s(k INT, b INT)"), ())
    assert explain(f"SELECT k FROM r WHERE {condition}", declared).incremental


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("EXISTS (SELECT 1 FROM s JOIN s AS t ON s.k = t.k WHERE b = a)", "column b is ambiguous"),
        ("EXISTS (SELECT nosuch FROM s)", "unknown column nosuch"),
        ("k IN (SELECT * FROM s)", "IN compares 1 values with a query of 2 columns"),
    ],
)
def test_conditions_that_spark_refuses(condition: str, said: str) -> None:
    declared = declare(("r(k INT, a INT)", "s(k INT, b INT)"), ())
    with pytest.raises(DefinitionError, match=said):
        explain(f"SELECT k FROM r WHERE {condition}", declared)


def test_using_puts_its_columns_first_and_natural_is_refused() -> None:
    declared = declare(("r(k INT, a INT)", "s(k INT, a INT)"), ())
    explained = explain("SELECT * FROM r LEFT SEMI JOIN s USING (a)", declared)
    assert [name for name, _ in explained.columns] == ["a", "k"]
    with pytest.raises(DefinitionError, match="no NATURAL ANTI JOIN in Spark"):
        explain("SELECT * FROM r NATURAL LEFT ANTI JOIN s", declared)
