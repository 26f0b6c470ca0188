"""Every operator of the registry, run through the engine on DuckDB and compared with the oracle.

One hand-written definition per operator and one history for all: rows that appear, change, move between
groups and join partners, go, and come back; NULL keys and equal rows among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import pytest

from campaign.judging.judge import judge
from dynamic_tables.differentiate.differentiation import OperatorRule
from dynamic_tables.differentiate.registry import OPERATORS, RULES
from dynamic_tables.explain import declare, explain
from engines.variant import Variant
from oracle.compare import compare
from oracle.delayed_view import DelayedView
from tests.in_memory import in_memory
from tests.ir import (
    agg,
    call,
    col,
    columns,
    count_star,
    derived,
    except_all,
    intersect_all,
    join,
    named,
    rollup,
    select,
    table,
    union_all,
    window,
)
from workload.dml import Assignment, Delete, Insert, Optimize, Overwrite, Update
from workload.outcomes.results import Check, OutcomeClass
from workload.outcomes.trace import Action, Trace
from workload.query import ColumnRef, Exploded, JoinKind, Limited, Query, SortKey
from workload.scenario import Commit, Create, DynamicTable, Refresh, RefreshMode, Scenario
from workload.schema import Column
from workload.sql import Dialect
from workload.types import BIGINT, INT, STRING, Row
from workload.writing import definition_text, written_query

ORDERS = table("orders", id=INT, city=INT, amount=INT)
CITIES = table("cities", city=INT, name=STRING)
ORDER, CITY = columns(ORDERS), columns(CITIES)
COL = {name: ColumnRef("v", name, INT) for name in ("pos", "col")}
SAME_CITY = call("eq", ORDER["city"], CITY["city"])
CITY_OF_ORDER = {"id": ORDER["id"], "amount": ORDER["amount"], "name": CITY["name"], "key": CITY["city"]}


def joined(kind: JoinKind) -> Query:
    """Orders with their cities."""
    on = None if kind is JoinKind.CROSS else SAME_CITY
    return select(CITY_OF_ORDER, join(kind, named("orders"), named("cities"), on))


BY_CITY = select(
    {
        "city": ORDER["city"],
        "n": count_star(),
        "total": agg("SUM", ORDER["amount"]),
        "top": agg("MAX", ORDER["amount"]),
    },
    named("orders"),
    group_by=[ORDER["city"]],
)

GROUPS = (Column("city", INT), Column("n", BIGINT))
KNOWN = call("is_not_null", columns(GROUPS, "g")["n"])
COUNTED = select({"city": CITY["city"], "n": count_star()}, named("cities"), group_by=[CITY["city"]])
MARKED = select(
    {"id": ORDER["id"], "known": KNOWN},
    join(
        JoinKind.LEFT,
        named("orders"),
        derived(
            select({"city": CITY["city"], "n": count_star()}, named("cities"), group_by=[CITY["city"]]), "g"
        ),
        call("eq", ORDER["city"], columns(GROUPS, "g")["city"]),
    ),
    where=call("or", call("gt", ORDER["amount"], 10), KNOWN),
)
"""Orders with whether their city is known: written with EXISTS, the engine reads a mark join."""

LISTED = select(dict(ORDER), named("orders"), where=call("in", ORDER["city"], 1, 2))
"""Orders of listed cities: written with VALUES, the engine reads constant rows."""

DEFINITIONS: Mapping[str, Query] = {
    "scan": select(dict(ORDER), named("orders")),
    "constant row": LISTED,
    "projection": select({"id": ORDER["id"], "double": call("mul", ORDER["amount"], 2)}, named("orders")),
    "filter": select(dict(ORDER), named("orders"), where=call("gt", ORDER["amount"], 10)),
    "union all": union_all(
        select({"k": ORDER["city"]}, named("orders")),
        select({"k": CITY["city"]}, named("cities")),
        select({"k": ORDER["id"]}, named("orders")),
    ),
    "except all": except_all(
        select({"city": ORDER["city"]}, named("orders")), select({"city": CITY["city"]}, named("cities"))
    ),
    "intersect all": intersect_all(
        select({"city": ORDER["city"]}, named("orders")), select({"city": CITY["city"]}, named("cities"))
    ),
    "inner join": joined(JoinKind.INNER),
    "cross join": joined(JoinKind.CROSS),
    "left join": joined(JoinKind.LEFT),
    "right join": joined(JoinKind.RIGHT),
    "full join": joined(JoinKind.FULL),
    "semi join": select(dict(ORDER), join(JoinKind.SEMI, named("orders"), named("cities"), SAME_CITY)),
    "anti join": select(dict(ORDER), join(JoinKind.ANTI, named("orders"), named("cities"), SAME_CITY)),
    "mark join": MARKED,
    "window": select(
        {
            "city": ORDER["city"],
            "amount": ORDER["amount"],
            "place": window("row_number", partition=[ORDER["city"]], order=[ORDER["amount"]]),
            "total": window("SUM", ORDER["amount"], order=[ORDER["city"]]),
        },
        named("orders"),
    ),
    "limit": Limited(
        select({"id": ORDER["id"], "city": ORDER["city"]}, named("orders")),
        (SortKey("city", descending=True), SortKey("id")),
        3,
        1,
    ),
    "explode": select(
        {"id": ORDER["id"], "place": COL["pos"], "value": COL["col"]},
        Exploded(
            named("orders"), call("array", ORDER["city"], ORDER["amount"]), "v", outer=True, position=True
        ),
    ),
    "distinct": select({"city": ORDER["city"]}, named("orders"), distinct=True),
    "grouped aggregation": BY_CITY,
    "scalar aggregation": select(
        {"n": count_star(), "total": agg("SUM", ORDER["amount"]), "least": agg("MIN", ORDER["amount"])},
        named("orders"),
        group_by=[],
    ),
}

PLACE = col("w", "place", INT)

TOTALS = select(
    {"key": CITY["city"], "name": CITY["name"], "total": agg("SUM", ORDER["amount"])},
    join(JoinKind.FULL, named("orders"), named("cities"), SAME_CITY),
    group_by=[CITY["city"], CITY["name"]],
)
STACKED: Mapping[str, Query] = {
    "statistics": select(
        {
            "city": ORDER["city"],
            "deviation": agg("STDDEV_SAMP", ORDER["amount"]),
            "spread": agg("VAR_POP", ORDER["id"]),
            "together": agg("COVAR_SAMP", ORDER["amount"], ORDER["id"]),
            "middle": agg("PERCENTILE", ORDER["amount"], 0.5),
        },
        named("orders"),
        group_by=[ORDER["city"]],
    ),
    "ordered aggregates": select(
        {
            "city": ORDER["city"],
            "dearest": agg("MAX_BY", ORDER["id"], ORDER["amount"], ORDER["id"]),
            "ids": agg("COLLECT_LIST", ORDER["id"], True),
            "amounts": agg("COLLECT_SET", ORDER["amount"], False),
            "bits": agg("BIT_XOR", ORDER["id"]),
        },
        named("orders"),
        group_by=[ORDER["city"]],
    ),
    "texts of all rows": select(
        {
            "names": agg("LISTAGG", CITY["name"], ", ", True),
            "least": agg("MIN_BY", CITY["name"], CITY["name"]),
        },
        named("cities"),
        group_by=[],
    ),
    "several different": select(
        {
            "city": ORDER["city"],
            "ids": agg("COUNT", ORDER["id"], distinct=True),
            "amounts": agg("SUM", ORDER["amount"], distinct=True),
            "pairs": agg("COUNT", ORDER["id"], ORDER["amount"], distinct=True),
        },
        named("orders"),
        group_by=[ORDER["city"]],
    ),
    "having": replace(BY_CITY, having=call("gt", count_star(), 1)),
    "outer join of a distinct": select(
        {"city": columns(CITIES, "k")["city"], "n": agg("COUNT", ORDER["id"])},
        join(
            JoinKind.LEFT,
            derived(select({"city": CITY["city"]}, named("cities"), distinct=True), "k"),
            named("orders"),
            call("eq", columns(CITIES, "k")["city"], ORDER["city"]),
        ),
        group_by=[columns(CITIES, "k")["city"]],
    ),
    "groups of an outer join": TOTALS,
    "grouping sets": rollup(TOTALS),
    "windows of groups": replace(
        select(
            {
                "city": ORDER["city"],
                "before": window("lag", agg("SUM", ORDER["amount"]), order=[ORDER["city"]]),
            },
            named("orders"),
            group_by=[ORDER["city"]],
        ),
        qualify=call("gt", window("COUNT(*)"), 1),
    ),
    "a window over a window": select(
        {
            "city": columns(CITIES, "w")["city"],
            "best": window("rank", partition=[columns(CITIES, "w")["city"]], order=[PLACE]),
        },
        derived(
            select(
                {"city": ORDER["city"], "place": window("dense_rank", order=[ORDER["amount"]])},
                named("orders"),
            ),
            "w",
        ),
    ),
    "distinct of a union": select(
        {"city": columns(CITIES, "u")["city"]},
        derived(
            union_all(
                select({"city": ORDER["city"]}, named("orders")),
                select({"city": CITY["city"]}, named("cities")),
            ),
            "u",
        ),
        distinct=True,
    ),
}

FIRST: Sequence[Row] = ((1, 1, 10), (2, 1, 20), (3, 2, 30), (4, None, 40), (5, 3, 5), (5, 3, 5))
HISTORY = (
    Commit(10, (Insert("orders", tuple(FIRST)), Insert("cities", ((1, "rome"), (2, "oslo"), (4, "bonn"))))),
    Create(11, "d"),
    # Orders and cities change together; order 3 changes its city, 5 loses one of two equal rows' partners.
    Commit(
        20,
        (
            Insert("orders", ((6, 4, 60), (7, None, 40), (8, 1, 10))),
            Update(
                "orders", (Assignment("city", call("add", ORDER["city"], 1)),), call("eq", ORDER["id"], 3)
            ),
            Delete("orders", call("eq", ORDER["id"], 2)),
            Insert("cities", ((3, "lima"), (None, "none"))),
            Update("cities", (Assignment("name", CITY["name"]),), None),
            Delete("cities", call("eq", CITY["city"], 4)),
        ),
    ),
    Refresh(21, "d", 21),
    Commit(
        30,
        (
            Update(
                "orders",
                (Assignment("amount", call("add", ORDER["amount"], 1)),),
                call("gt", ORDER["amount"], 10),
            ),
            Update(
                "cities", (Assignment("city", call("add", CITY["city"], 1)),), call("le", CITY["city"], 2)
            ),
            Delete("orders", call("is_null", ORDER["city"])),
        ),
    ),
    Refresh(31, "d", 31),
    Commit(40, (Optimize("orders"),)),
    Refresh(41, "d", 41),
    Commit(50, (Overwrite("orders", tuple(FIRST)), Delete("cities", call("gt", CITY["city"], 3)))),
    Refresh(51, "d", 51),
    Commit(60, (Delete("orders", None), Delete("cities", None))),
    Refresh(61, "d", 61),
)


def scenario(query: Query) -> Scenario:
    """The one history with a definition."""
    definition = DynamicTable("d", query, RefreshMode.INCREMENTAL, style=style_of(query))
    return Scenario("by hand", (ORDERS, CITIES), (definition,), HISTORY)


def style_of(query: Query) -> int:
    """A style with the subquery or the rows that the query stands for; 0 where it stands for none."""
    if query is not MARKED and query is not LISTED:
        return 0
    names = {table.name: [column.name for column in table.columns] for table in (ORDERS, CITIES)}
    texts = ((style, written_query(query, style, names).upper()) for style in range(1, 100))
    return next(
        style for style, text in texts if ("OR EXISTS" in text if query is MARKED else "VALUES" in text)
    )


def never(*_: object) -> Sequence[Row]:
    """A vote nobody asks for: contents are right."""
    raise AssertionError("the contents differ from the oracle's")


def operators_of(query: Query) -> Iterable[str]:
    """The operators as the engine sees them."""
    tables = [f"{t.name}({', '.join(f'{c.name} {c.type}' for c in t.columns)})" for t in (ORDERS, CITIES)]
    text = definition_text(scenario(query), scenario(query).definitions[0], Dialect.SPARK)
    return explain(text, declare(tables)).operators


def run(query: Query, operators: Mapping[str, OperatorRule] = OPERATORS) -> Trace:
    """The trace, with a fresh initialization beside every refresh."""
    variant = Variant(rules=replace(RULES, operators=operators))
    return in_memory(variant).run(scenario(query), lambda step, name: True)


def test_every_operator_of_the_registry_is_covered() -> None:
    # Passing time needs a column of times: test_texts_on_duckdb.py has it.
    assert DEFINITIONS.keys() == OPERATORS.keys() - {"passing time"}
    for operator, query in DEFINITIONS.items():
        assert operator in operators_of(query)


EVERY = {**DEFINITIONS, **STACKED}


@cache
def trace_of(name: str) -> Trace:
    """One run for all that is asked of it."""
    return run(EVERY[name])


@pytest.mark.parametrize("name", EVERY)
def test_the_contents_are_the_oracles_after_every_refresh(name: str) -> None:
    query, refreshes = EVERY[name], trace_of(name).refreshes
    assert [refreshed.timestamp for refreshed in refreshes] == [11, 21, 31, 41, 51, 61]
    with DelayedView(scenario(query)) as truth:
        for refreshed in refreshes:
            expected = truth.contents("d", refreshed.timestamp)
            actual = [stored.row for stored in refreshed.contents]
            assert compare(truth.columns("d"), expected, refreshed.columns, actual) is None, (
                refreshed.timestamp
            )


@pytest.mark.parametrize("name", EVERY)
def test_the_change_sets_keep_the_invariants(name: str) -> None:
    trace = trace_of(name)
    outcome = judge(scenario(EVERY[name]), trace, never)
    assert (outcome.outcome, outcome.findings) == (OutcomeClass.PASSED, ())
    actions = [refreshed.action for refreshed in trace.refreshes]
    assert actions == [
        Action.INITIALIZE,
        Action.INCREMENTAL,
        Action.INCREMENTAL,
        Action.NO_DATA,
        Action.INCREMENTAL,
        Action.INCREMENTAL,
    ]
    assert sum(bool(refreshed.change_set) for refreshed in trace.refreshes) >= 2


@pytest.mark.parametrize("operator", DEFINITIONS)
def test_forgetting_an_operator_is_noticed(operator: str) -> None:
    """INCREMENTAL over an operator without a rule is refused, and the judge holds that against the engine."""
    without = {name: rule for name, rule in OPERATORS.items() if name != operator}
    query = DEFINITIONS[operator]
    outcome = judge(scenario(query), run(query, without), never)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert {finding.check for finding in outcome.findings} == {Check.REFRESH_MODE}
    assert f"unsupported: {operator}: " in outcome.findings[0].message


def wrong_rule(of: str, by: str) -> Mapping[str, OperatorRule]:
    """The registry with one operator differentiated by another's rule."""
    return {**OPERATORS, of: replace(OPERATORS[of], delta=OPERATORS[by].delta)}


@pytest.mark.parametrize(
    ("of", "by"),
    [("left join", "inner join"), ("full join", "left join"), ("right join", "left join")],
)
def test_a_wrong_rule_is_noticed(of: str, by: str) -> None:
    outcome = judge(scenario(DEFINITIONS[of]), run(DEFINITIONS[of], wrong_rule(of, by)), lambda *_: ())
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
