"""Parts of a text that do not change what a query means."""

from __future__ import annotations

import pytest

from tests.unit.dynamic_tables.reading import read

IDLE = {
    "SELECT a FROM r LIMIT ALL": "SELECT a FROM r",
    "SELECT a FROM r ORDER BY a LIMIT all": "SELECT a FROM r",
    "SELECT a FROM (SELECT a FROM r LIMIT ALL) AS q ORDER BY a LIMIT 2": (
        "SELECT a FROM (SELECT a FROM r) AS q ORDER BY a LIMIT 2"
    ),
    "SELECT COUNT(*) AS n FROM r ORDER BY n LIMIT 3": "SELECT COUNT(*) AS n FROM r",
    "SELECT any(a > 1) AS n FROM r LIMIT 3": "SELECT some(a > 1) AS n FROM r",
    "TABLE r": "SELECT * FROM r",
    "WITH q AS (TABLE r) (TABLE q) UNION ALL TABLE r": (
        "WITH q AS (SELECT * FROM r) (SELECT * FROM q) UNION ALL SELECT * FROM r"
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT c FROM s WHERE s.a = r.a ORDER BY c LIMIT 2 - 1)": (
        "SELECT a FROM r WHERE EXISTS (SELECT c FROM s WHERE s.a = r.a)"
    ),
    "SELECT a, b FROM r ORDER BY NULL, a, 'x', b LIMIT (2 + 1) * 2 OFFSET (1)": (
        "SELECT a, b FROM r ORDER BY a, b LIMIT 6 OFFSET 1"
    ),
    "SELECT a FROM r LIMIT 0": "SELECT a FROM r ORDER BY 1 LIMIT 0",
    "SELECT COUNT(NULL) AS n FROM r": "SELECT COUNT(CAST(NULL AS INT)) AS n FROM r",
    "SELECT a FROM r WHERE a IN (VALUES 1, 2)": "SELECT a FROM r WHERE a IN (SELECT * FROM VALUES 1, 2)",
    "SELECT a, SUM(n) AS n FROM r GROUP BY a HAVING n > 1": (
        "SELECT a, SUM(n) AS n FROM r GROUP BY a HAVING SUM(n) > 1"
    ),
    "SELECT a + 1 AS a, COUNT(*) AS n FROM r GROUP BY a HAVING a > 1": (
        "SELECT a + 1 AS a, COUNT(*) AS n FROM r GROUP BY a HAVING r.a > 1"
    ),
    # A hint names aliases, and Spark passes over one that it does not know.
    "SELECT /*+ BROADCAST(z), NONE(y) */ r.a FROM r JOIN s AS z ON r.a = z.a": (
        "SELECT r.a FROM r JOIN s AS z ON r.a = z.a"
    ),
    "SELECT a, c FROM (SELECT a FROM r) JOIN (SELECT c FROM s) ON a > 1": (
        "SELECT a, c FROM (SELECT a FROM r) AS p JOIN (SELECT c FROM s) AS q ON a > 1"
    ),
    "SELECT a FROM (SELECT /*+ COALESCE(1) */ a FROM r) AS q": "SELECT a FROM (SELECT a FROM r) AS q",
}


@pytest.mark.parametrize("text", IDLE)
def test_a_text_with_an_idle_part_is_read_as_the_text_without_it(text: str) -> None:
    assert repr(read(text)) == repr(read(IDLE[text]))


SPELLED = {
    "SELECT r.`a` AS c, COUNT(*) AS n FROM r GROUP BY ALL ORDER BY n, R.A LIMIT 1": (
        "SELECT r.a AS c, COUNT(*) AS n FROM r GROUP BY ALL ORDER BY n, c LIMIT 1"
    ),
    "SELECT DISTINCT r.`a` AS c FROM r ORDER BY R.A DESC LIMIT 1": (
        "SELECT DISTINCT r.a AS c FROM r ORDER BY c DESC LIMIT 1"
    ),
}


@pytest.mark.parametrize("text", SPELLED)
def test_a_key_of_order_by_may_be_spelled_in_another_way(text: str) -> None:
    assert [n for n, _ in read(text).schema] == [n for n, _ in read(SPELLED[text]).schema]


def test_a_limit_that_cuts_is_no_idle_part() -> None:
    assert repr(read("SELECT a FROM r ORDER BY a LIMIT 1")) != repr(read("SELECT a FROM r"))
