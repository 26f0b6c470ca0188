"""What an engine refused is one table by message, and names the limit that would keep it from the engine."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import pytest

from campaign.failures.refusals import limit_for, refusals
from engines import Capabilities, Unsupported
from generators.coverage import features
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.ir import call, case, columns, count_star, named, select, table
from tests.unit.engines.sample import Recomputing, lane
from workload.limits import Limits
from workload.outcomes.results import Outcome, OutcomeClass
from workload.query import Expr, Query
from workload.scenario import DynamicTable, Scenario
from workload.sql import Dialect
from workload.types import INT, STRING


class WithoutUnion(Recomputing):
    """Knows no UNION, and says so in a message with a name in it."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.DUCKDB, limits=Limits(views=False, layered=False)
    )

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        if " UNION SELECT" in query or " UNION (" in query:
            raise Unsupported(f"no union in {table.name}")
        return super().create_dynamic_table(table, query)


def test_the_message_and_the_limit_are_named() -> None:
    profile = fitted(QUICK, WithoutUnion.capabilities.limits)
    outcomes: dict[int, tuple[Scenario, Outcome]] = {}
    passed: Counter[str] = Counter()
    for index in range(60):
        scenario = scenario_at(3, profile, index)
        outcome = lane(WithoutUnion).judge(scenario)
        if outcome.outcome is OutcomeClass.PASSED:
            for each in scenario.definitions:
                passed.update(features(each.query))
        outcomes[index] = scenario, outcome
    (refusal,) = refusals(outcomes, passed, Dialect.DUCKDB)
    assert refusal.message.startswith("no union in d")
    assert refusal.limit == "operators without 'union'"
    assert set(refusal.indices) == {
        i for i, (_, outcome) in outcomes.items() if outcome.outcome is OutcomeClass.UNSUPPORTED
    }


R = columns(table("r", k=INT, a=INT, s=STRING), "t")


def of(expr: Expr) -> Query:
    """A query whose only function is that of an expression."""
    return select({"x": expr}, named("r", "t"))


CASES = of(case((call("gt", R["a"], 1), R["k"]), (call("in", R["a"], 0, 1), R["k"]), otherwise=0))
CANNOT = "Cannot convert LogicalExpr: Case { expr: None, when_then: [(InList { expr: BinaryExpr"


@pytest.mark.parametrize(
    ("query", "message", "taken", "limit"),
    [
        # Of three things that nothing taken has, the message names one.
        (CASES, CANNOT, (), "`lacks` with 'CASE'"),
        # Where `substring` was taken, whose text has CASE, the word would exclude that, too.
        (CASES, CANNOT, ("function: substring",), "asks=True, or a `gap` for queries with CASE"),
        # Nothing is named: "in" is an English word here.
        (
            CASES,
            "not supported in views",
            (),
            "asks=True, or a `gap` for these queries; they alone have CASE, >, IN",
        ),
        # What is named was taken elsewhere, so that its place is at fault, and not the comparison.
        (
            of(call("gt", count_star(), 1)),
            "misuse of aggregate function COUNT()",
            ("function: COUNT(*)", "operator: scalar aggregation"),
            "asks=True, or a `gap` for these queries",
        ),
        (of(count_star()), "no COUNT(*)", ("operator: scalar aggregation",), "`lacks` with 'COUNT(*)'"),
    ],
)
def test_a_limit_is_claimed_only_where_it_is_one(
    query: Query, message: str, taken: tuple[str, ...], limit: str
) -> None:
    """`lacks` was suggested with the harness's own names, and for whatever the queries had in common."""
    reached = {"type: INT": 1, "type: STRING": 1, "type: BIGINT": 1, **dict.fromkeys(taken, 1)}
    assert limit_for([query], reached, message, Dialect.SQLITE) == limit


@pytest.mark.parametrize(
    ("expr", "taken", "limit"),
    [
        (call("substring", R["s"], 1, 2), (), "`lacks` with 'substr'"),
        (call("same", R["a"], 1), (), "`lacks` with 'IS'"),
        (call("same", R["a"], 1), ("function: is_null",), "asks=True, or a `gap` for queries with IS"),
        # A minus is in numbers, too.
        (call("sub", R["a"], 1), (), "asks=True, or a `gap` for queries with sub"),
    ],
)
def test_what_is_left_alone_is_the_cause_where_two_queries_were_refused(
    expr: Expr, taken: tuple[str, ...], limit: str
) -> None:
    reached = {"type: INT": 1, "type: STRING": 1, **dict.fromkeys(taken, 1)}
    assert limit_for([of(expr)] * 2, reached, "no", Dialect.SQLITE) == limit
    alone = limit_for([of(expr)], reached, "no", Dialect.SQLITE)
    assert alone.startswith("asks=True, or a `gap` for these queries; they alone have ")
