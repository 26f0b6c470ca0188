"""A query that stands several times in one block is computed once."""

from __future__ import annotations

import pytest

from dynamic_tables.plan.nodes import Scan, walk
from dynamic_tables.reading.bind import bind_query
from tests.unit.dynamic_tables.test_exploding import WORLD

MAX = "(SELECT MAX(s.c) FROM s WHERE s.k = t.k)"
EXISTS = "EXISTS (SELECT 1 FROM s WHERE s.k = t.k)"


@pytest.mark.parametrize(
    ("query", "times"),
    [
        pytest.param(f"SELECT {MAX} + {MAX} AS n FROM t", 1, id="a value"),
        pytest.param(f"SELECT {MAX} AS n, n + 1 AS i, i * n AS o FROM t", 1, id="an output that items read"),
        pytest.param(f"SELECT {EXISTS} AS e, NOT e AS f FROM t", 1, id="a mark"),
        pytest.param(f"SELECT k FROM t WHERE {EXISTS} AND k > 1 OR {EXISTS} AND k < 0", 1, id="marks"),
        pytest.param(f"SELECT {MAX} AS n FROM t WHERE {MAX} > 1", 2, id="WHERE, and the select list"),
        pytest.param("SELECT SUM((SELECT MAX(c) FROM s)) + (SELECT MAX(c) FROM s) AS n FROM t", 2,
                     id="for the rows, and for their groups"),
    ],
)  # fmt: skip
def test_repeated_queries_are_read_once(query: str, times: int) -> None:
    plan = bind_query(query, WORLD).plan
    assert sum(isinstance(node, Scan) and node.source == "s" for node in walk(plan)) == times
