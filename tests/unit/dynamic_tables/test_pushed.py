"""Conditions stand as near to the sources as they can, and no nearer."""

from __future__ import annotations

import pytest

from dynamic_tables.differentiate.registry import RULES, change_plan
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.expressions import Col, Fn, Lit
from dynamic_tables.plan.nodes import Filter, Leaf, Plan, Project, Scan, UnionAll, children, walk
from dynamic_tables.plan.rewrites.pushed import pushed
from dynamic_tables.plan.types import BOOLEAN, INT
from dynamic_tables.plan.written.render_expression import render_expression
from dynamic_tables.refresh.plans import Plans
from tests.unit.dynamic_tables.reading import read


def conditions(plan: Plan) -> list[str]:
    """The conditions of a plan, the topmost first, each with what it stands over."""
    return [
        f"{render_expression(node.predicate, SPARK).replace('`', '')} over {shown(node.child)}"
        for node in walk(plan)
        if isinstance(node, Filter)
    ]


def shown(plan: Plan) -> str:
    return plan.source if isinstance(plan, Scan) else type(plan).__name__


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT y FROM (SELECT a AS y, n FROM r) AS p WHERE y > 1", ["(a > 1) over r"]),
        (
            "SELECT r.b FROM r JOIN s ON r.a = s.a WHERE c = 'x' AND n > 1",
            ["(n > 1) over r", "(c = 'x') over s"],
        ),
        (
            "SELECT r.b FROM r JOIN s ON r.a = s.a WHERE c > b AND c < 'x' AND n > 1",
            ["(c > b) over Join", "(n > 1) over r", "(c < 'x') over s"],
        ),
        ("SELECT r.b FROM r LEFT JOIN s ON r.a = s.a WHERE n > 1", ["(n > 1) over r"]),
        ("SELECT r.b FROM r LEFT JOIN s ON r.a = s.a WHERE c IS NULL", ["(c IS NULL) over Join"]),
        ("SELECT r.b FROM r FULL JOIN s ON r.a = s.a WHERE n > 1", ["(n > 1) over Join"]),
        ("SELECT s.c FROM r RIGHT JOIN s ON r.a = s.a WHERE c > 'a'", ["(c > 'a') over s"]),
        (
            "SELECT y FROM (SELECT a AS y FROM r UNION ALL SELECT a FROM s) AS p WHERE y > 1",
            ["(a > 1) over r", "(a_2 > 1) over s"],
        ),
        ("SELECT * FROM (SELECT a, COUNT(*) AS n FROM r GROUP BY a) AS p WHERE a > 1", ["(a > 1) over r"]),
        (
            "SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING a > 1 AND COUNT(*) > 1",
            ["(count > 1) over Aggregate", "(a > 1) over r"],
        ),
        ("SELECT * FROM (SELECT a + 1 AS y FROM r) AS p WHERE y > 1", ["(y > 1) over Project"]),
        ("SELECT a FROM (SELECT DISTINCT a, n FROM r) AS p WHERE a > 1", ["(a > 1) over r"]),
        (
            "SELECT * FROM (SELECT a, SUM(n) OVER (PARTITION BY a) AS y FROM r) AS p WHERE a > 1",
            ["(a > 1) over r"],
        ),
        (
            "SELECT * FROM (SELECT a, SUM(n) OVER (PARTITION BY b) AS y FROM r) AS p WHERE a > 1",
            ["(a > 1) over Window"],
        ),
        ("SELECT * FROM (SELECT a FROM r ORDER BY a LIMIT 3) AS p WHERE a > 1", ["(a_2 > 1) over Limit"]),
        ("SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a) AND n > 1", ["(n > 1) over r"]),
        ("SELECT r.b FROM r JOIN s ON r.a = s.a WHERE r.a % n > 1", ["((a % n) > 1) over Join"]),
        ("SELECT b FROM (SELECT 's' AS t, b FROM r) AS p WHERE t = 's' AND b > 'a'", ["(b > 'a') over r"]),
    ],
)
def test_where_conditions_stand(query: str, expected: list[str]) -> None:
    assert conditions(read(query).plan) == expected


def test_what_no_row_meets_has_no_changes() -> None:
    union = "SELECT 'r' AS t, a FROM r UNION ALL SELECT 's' AS t, a FROM s"
    bound = read(f"SELECT a FROM ({union}) AS p WHERE t = 's' AND a > 1")
    assert conditions(bound.plan) == ["FALSE over r", "(a_3 > 1) over s"]
    changes = Plans(RULES).changes(bound)
    assert {node.name for node in walk(changes) if isinstance(node, Leaf)} == {"s@delta"}
    whole = change_plan(bound, RULES)
    assert {node.name for node in walk(whole) if isinstance(node, Leaf)} == {"r@delta", "s@delta"}


def test_what_several_readers_share_is_not_filtered_for_one_of_them() -> None:
    number = Col("a", INT)
    rows = Project(Scan("r", (("a", number),)), (("b", number),))
    condition = Fn(">", (Col("b", INT), Lit(1, INT)), BOOLEAN)
    plan = pushed(UnionAll((Filter(rows, condition), rows)))
    assert conditions(plan) == ["(b > 1) over Project"]
    filtered, whole = children(plan)
    assert children(filtered)[0] is whole
