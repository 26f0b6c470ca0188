"""Relations in a FROM list are joined as the conditions of WHERE connect them."""

from __future__ import annotations

import pytest

from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nodes import Filter, Join, Plan, Scan, walk
from dynamic_tables.plan.written.render_expression import render_expression
from tests.unit.dynamic_tables.reading import read


def joins(query: str) -> list[str]:
    """The joins of a query, innermost first: kind, relation on the right, condition."""
    found = [node for node in walk(read(query).plan) if isinstance(node, Join)]
    return [shown(join) for join in reversed(found)]


def shown(join: Join) -> str:
    condition = "" if join.on is None else f" on {render_expression(join.on, SPARK).replace('`', '')}"
    return f"{join.kind.value} {source(join.right)}{condition}"


def source(plan: Plan) -> str:
    return " ".join(node.source for node in walk(plan) if isinstance(node, Scan))


def filters(query: str) -> list[str]:
    found = (node for node in walk(read(query).plan) if isinstance(node, Filter))
    return [render_expression(node.predicate, SPARK).replace("`", "") for node in found]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT b FROM r, s WHERE r.a = s.a", ["inner join s on (a = a_2)"]),
        ("SELECT b FROM r CROSS JOIN s WHERE r.a = s.a AND n > 1", ["inner join s on (a = a_2)"]),
        (
            "SELECT p.b FROM r AS p, r AS q, s WHERE p.a = s.a AND q.n = s.a",
            ["inner join s on (a = a_3)", "inner join r on (n_2 = a_3)"],
        ),
        (
            "SELECT p.b FROM r AS p, r AS q JOIN s ON q.a = s.a WHERE p.n = q.n",
            ["inner join r on (n = n_2)", "inner join s on (a_2 = a_3)"],
        ),
        (
            "SELECT p.b FROM r AS p, r AS q, s WHERE p.n + q.n = s.a",
            ["cross join r", "inner join s on ((n + n_2) = a_3)"],
        ),
        ("SELECT b FROM r, s WHERE n > 1", ["cross join s"]),
        (
            "SELECT b FROM ((SELECT a FROM s) AS q JOIN s ON q.a = s.a) RIGHT JOIN r ON r.a = s.a",
            ["inner join s on (a_2 = a_3)", "right join r on (a_4 = a_3)"],
        ),
        ("SELECT b FROM r JOIN s ON r.a > s.a WHERE r.a = s.a", ["inner join s on (a > a_2)"]),
        ("SELECT b FROM r LEFT JOIN s ON r.a > s.a WHERE r.a = s.a", ["left join s on (a > a_2)"]),
    ],
)
def test_the_order_of_joins_follows_the_conditions(query: str, expected: list[str]) -> None:
    assert joins(query) == expected


def test_conditions_on_one_relation_stay_filters() -> None:
    query = "SELECT b FROM r, s WHERE r.a = s.a AND n > 1 AND c = 'x'"
    assert filters(query) == ["(n > 1)", "(c = 'x')"]
    assert filters("SELECT b FROM r, s WHERE r.a = s.a") == []


def test_columns_that_a_join_in_parentheses_merges_stay_merged() -> None:
    query = "SELECT * FROM (SELECT c AS z FROM s) AS q JOIN (r JOIN s USING (a)) ON q.z = r.b"
    assert [name for name, _ in read(query).schema].count("a") == 1


def test_columns_come_in_the_order_of_the_text() -> None:
    query = "SELECT * FROM (SELECT n FROM r) AS p, (SELECT b FROM r) AS q, s WHERE p.n = s.a AND q.b = s.c"
    assert [name for name, _ in read(query).schema] == ["n", "b", "a", "c"]
