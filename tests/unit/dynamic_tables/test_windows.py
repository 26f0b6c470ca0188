"""Window functions and grouping sets as plans: what is total, what is refused, what Spark refuses."""

from __future__ import annotations

import pytest

from dynamic_tables.definition import BaseTable
from dynamic_tables.differentiate.window_tail import looks_back
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.nodes import UnionAll, Window, walk
from dynamic_tables.plan.types import DOUBLE, INT
from dynamic_tables.reading.bind import bind_query
from tests.unit.dynamic_tables.reading import read, schema

ONLY = "in the select list and in QUALIFY only"


def windows(query: str) -> list[Window]:
    return [node for node in walk(read(query).plan) if isinstance(node, Window)]


@pytest.mark.parametrize(
    ("query", "free"),
    [
        # Rows that are equal in the order are equal in all that is read.
        ("SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM r", False),
        ("SELECT a, row_number() OVER (ORDER BY a) AS n FROM (SELECT a FROM r)", False),
        ("SELECT a, x, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM r", True),
        # The keys of groups, and the columns of DISTINCT, identify rows.
        ("SELECT b, SUM(a) AS s, lag(SUM(a)) OVER (ORDER BY b) AS n FROM r GROUP BY b", False),
        ("SELECT b, SUM(a) AS s, lag(SUM(a)) OVER (ORDER BY SUM(a)) AS n FROM r GROUP BY b", True),
        ("SELECT q.*, row_number() OVER (ORDER BY a, b) AS n FROM (SELECT DISTINCT a, b FROM r) q", False),
        ("SELECT q.*, row_number() OVER (ORDER BY a) AS n FROM (SELECT DISTINCT a, b FROM r) q", True),
        # Ranks, and sums up to rows that are equal, do not depend on which of them comes first.
        ("SELECT a, x, rank() OVER (ORDER BY b) AS n, SUM(a) OVER (ORDER BY b) AS s FROM r", False),
        ("SELECT a, x, SUM(a) OVER (ORDER BY b ROWS 1 PRECEDING) AS s FROM r", True),
        ("SELECT a, x, SUM(a) OVER (PARTITION BY b) AS s FROM r", False),
        # Equal floats may be two values: 0.0 and -0.0.
        ("SELECT x, row_number() OVER (ORDER BY x) AS n FROM (SELECT x FROM r)", True),
    ],
)
def test_an_order_is_total_or_free(query: str, free: bool) -> None:
    assert [node.free for node in windows(query)] == [free]


def test_a_declared_key_makes_an_order_total() -> None:
    columns = (("id", INT), ("x", DOUBLE), ("n", INT))
    world = {"t": BaseTable("t", columns, key=("id",)), "u": BaseTable("u", columns, key=("x",))}
    last = "SELECT last_value({}) OVER (PARTITION BY t.n ORDER BY {}) AS l FROM {}"
    pairs = "t JOIN t AS v ON t.n = v.n"
    for value, order, relations in (("t.x", "t.id", "t"), ("v.x", "v.id, t.id", pairs)):
        plan = bind_query(last.format(value, order, relations), world).plan
        assert [node.free for node in walk(plan) if isinstance(node, Window)] == [False]
    # 0.0 and -0.0 are equal in an order, and two keys.
    for value, order, relations in (("t.id", "t.x", "t"), ("v.x", "t.id", pairs), ("t.id", "t.x", "u AS t")):
        with pytest.raises(UnsupportedError, match="over an order that may not be total"):
            bind_query(last.format(value, order, relations), world)


def test_two_orders_of_one_block_could_break_their_ties_in_two_ways() -> None:
    query = "SELECT a, b, row_number() OVER (ORDER BY a, b) AS n, lag(a) OVER (ORDER BY b, a) AS m FROM r"
    assert [node.free for node in windows(query)] == [True]


def test_each_partition_by_is_a_node_of_its_own() -> None:
    columns = "SUM(a) OVER (PARTITION BY b) AS s, COUNT(*) OVER (PARTITION BY b) AS n, MAX(a) OVER () AS m"
    query = f"SELECT {columns} FROM r"
    assert [len(node.calls) for node in windows(query)] == [1, 2]


@pytest.mark.parametrize(
    ("query", "tail"),
    [
        (
            "SELECT SUM(a) OVER (PARTITION BY b ORDER BY a) AS s, "
            "COUNT(*) OVER (PARTITION BY b ORDER BY a, b) AS n FROM r",
            True,
        ),
        (
            "SELECT row_number() OVER (ORDER BY a, b) AS n, rank() OVER (ORDER BY a) AS k FROM r WHERE a > 1",
            True,
        ),
        ("SELECT a, MAX(m) OVER (ORDER BY a DESC ROWS UNBOUNDED PRECEDING) AS s FROM r", True),
        # Two first keys; a frame that ends elsewhere; a function of the rows after; an order of floats.
        ("SELECT a, SUM(a) OVER (ORDER BY a) AS s, COUNT(*) OVER (ORDER BY b) AS n FROM r", False),
        (
            "SELECT a, SUM(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS s FROM r",
            False,
        ),
        ("SELECT a, SUM(a) OVER (ORDER BY a ROWS 2 PRECEDING) AS s FROM r", False),
        ("SELECT a, SUM(a) OVER (ORDER BY a) AS s, lead(a) OVER (ORDER BY a, b) AS n FROM r", False),
        ("SELECT a, SUM(a) OVER () AS s FROM r", False),
        ("SELECT a, SUM(x) OVER (ORDER BY a) AS s FROM r", False),
        ("SELECT a, AVG(a) OVER (ORDER BY a) AS s FROM r", False),
        ("SELECT a, SUM(a) OVER (ORDER BY x) AS s FROM r", False),
        # The input would be computed once more.
        ("SELECT a, SUM(a) OVER (ORDER BY a) AS s FROM (SELECT DISTINCT a FROM r) q", False),
    ],
)
def test_tails_are_computed_for_what_only_looks_back(query: str, tail: bool) -> None:
    assert {looks_back(node) for node in windows(query)} == {tail}


def test_types_are_those_of_spark() -> None:
    columns = (
        "row_number() OVER (ORDER BY a, b) AS n, cume_dist() OVER (ORDER BY a) AS c, SUM(m) OVER () AS s"
    )
    assert schema(f"SELECT {columns} FROM r") == "n INT, c DOUBLE, s DECIMAL(20,2)"
    assert (
        schema("SELECT GROUPING(a) AS g, GROUPING_ID() AS i FROM r GROUP BY CUBE (a, b)")
        == "g TINYINT, i BIGINT"
    )


def test_each_grouping_set_is_a_branch() -> None:
    query = "SELECT a, b, COUNT(*) AS n FROM r GROUP BY a, ROLLUP (b, d)"
    (union,) = [node for node in walk(read(query).plan) if isinstance(node, UnionAll)]
    assert len(union.branches) == 3


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT row_number() OVER (PARTITION BY a) AS n FROM r", "row_number needs an order"),
        ("SELECT a FROM r WHERE rank() OVER (ORDER BY a) = 1", ONLY),
        ("SELECT a FROM r QUALIFY a > 1", "QUALIFY without a window function"),
        ("SELECT SUM(DISTINCT a) OVER () AS n FROM r", r"sum\(DISTINCT ...\) OVER is refused"),
        (
            "SELECT ntile(0) OVER (ORDER BY a) AS n FROM r",
            "ntile by 0: the number must be an INT",
        ),
        ("SELECT SUM(a) OVER w AS n FROM r", "window w is not defined"),
        (
            "SELECT SUM(rank() OVER (ORDER BY a)) OVER () AS n FROM r",
            ONLY,
        ),
        (
            "SELECT SUM(a) OVER (ORDER BY a, b RANGE 1 PRECEDING) AS n FROM r",
            "needs one key in ORDER BY",
        ),
        (
            "SELECT SUM(a) OVER (RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM r",
            "a RANGE frame needs an order",
        ),
        (
            "SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) AS n FROM r",
            "begins FOLLOWING and ends PRECEDING has no rows",
        ),
        (
            "SELECT a, b, SUM(a) OVER (PARTITION BY b) AS n FROM r GROUP BY ALL",
            "GROUP BY ALL beside a window",
        ),
        ("SELECT COUNT() AS n FROM r", r"COUNT\(\) has no argument"),
        ("SELECT a FROM r GROUP BY a, rank() OVER (ORDER BY a)", ONLY),
        ("SELECT GROUPING(a) AS g FROM r GROUP BY a", "GROUPING without GROUPING SETS, ROLLUP or CUBE"),
        ("SELECT GROUPING(d) AS g FROM r GROUP BY ROLLUP (a)", "GROUPING takes one key of the grouping sets"),
        ("SELECT b, COUNT(*) AS n FROM r GROUP BY ROLLUP (a)", "column r.b is neither in GROUP BY"),
    ],
)
def test_what_spark_refuses_is_refused_in_one_line(query: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        read(query)
