"""Names: what they mean, and errors that name the object."""

from __future__ import annotations

import pytest

from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.nodes import BoundQuery, Scan, columns, walk
from dynamic_tables.reading.text.text import read_text
from tests.unit.dynamic_tables.reading import WORLD, read, schema

WRONG = {
    "SELECT a FROM nope": "unknown table nope; create the table or correct the name",
    "SELECT z FROM s": "unknown column z; in scope: s.a, s.c",
    "SELECT q.a FROM s": "unknown table q in q.a; in scope: s",
    "SELECT q.* FROM s": "unknown table q in q.*",
    "SELECT s.z FROM s": "unknown column s.z; in scope: s.a, s.c",
    "SELECT x.y.a FROM s": "column x.y.a: qualify a column by its table's name only",
    "SELECT a FROM r JOIN s ON r.a = s.a": "column a is ambiguous; qualify it",
    "SELECT s.a FROM s JOIN s ON TRUE": "alias s stands twice in one FROM; give each its own",
    "SELECT s.a FROM s JOIN r AS S ON TRUE": "alias s stands twice in one FROM; give each its own",
    "SELECT a, a FROM s": "two output columns are named a; give one of them an alias",
    "SELECT a, c AS A FROM s": "two output columns are named A; give one of them an alias",
    "SELECT * FROM r JOIN s ON r.a = s.a": "two output columns are named a; give one of them an alias",
    "SELECT a FROM round1": (
        "round1 is defined by itself: round1 -> round2 -> round1; remove one of these references"
    ),
    "SELECT a FROM self": "self is defined by itself: self -> self; remove one of these references",
    "WITH t AS (SELECT a FROM r), T AS (SELECT a FROM s) SELECT a FROM t": (
        "two CTEs are named t; rename one of them"
    ),
    "SELECT a, c FROM s GROUP BY a": "column s.c is neither in GROUP BY nor in an aggregate",
    "SELECT s.c, r.a FROM r JOIN s ON r.a = s.a GROUP BY r.a": (
        "column s.c is neither in GROUP BY nor in an aggregate"
    ),
    "SELECT a FROM s HAVING a > 1": "column s.a is neither in GROUP BY nor in an aggregate",
    "SELECT a, COUNT(*) AS n FROM s GROUP BY 3": "GROUP BY 3: there are 2 columns",
    "SELECT a, COUNT(*) AS n FROM s GROUP BY 0": "GROUP BY 0: there are 2 columns",
    "SELECT a, COUNT(*) AS n FROM s GROUP BY 2": (
        "GROUP BY n: an aggregate or window function cannot be a key"
    ),
    "SELECT a FROM s UNION ALL SELECT c FROM s": "column a of a UNION has types that do not meet; cast them",
    "SELECT a FROM s UNION ALL SELECT a, c FROM s": (
        "the branches of a UNION have [1, 2] columns; select the same number in each"
    ),
}


@pytest.mark.parametrize("query", WRONG)
def test_an_error_names_the_object(query: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(query)
    assert str(caught.value) == WRONG[query]


SCHEMAS = {
    "SELECT * FROM s": "a INT, c STRING",
    "SELECT S.A, s.C FROM S": "A INT, C STRING",
    "select `a`, C as `c d` from s": "a INT, c d STRING",
    "SELECT s.*, r.b FROM r JOIN s ON r.a = s.a": "a INT, c STRING, b STRING",
    "SELECT t.* FROM (SELECT a AS k FROM s) t": "k INT",
    "SELECT a FROM (SELECT a FROM s)": "a INT",
    "SELECT a FROM (s)": "a INT",
    "SELECT r.a, c FROM (r JOIN s ON r.a = s.a)": "a INT, c STRING",
    "SELECT r.b, s.c FROM r, s": "b STRING, c STRING",
    "SELECT a + 1 AS k, COUNT(*) AS n FROM s GROUP BY k": "k INT, n BIGINT",
    "SELECT a AS c, COUNT(*) AS n FROM s GROUP BY s.a, s.c": "c INT, n BIGINT",
    "SELECT COUNT(*) AS n, a + 1 AS k FROM s GROUP BY 2": "n BIGINT, k INT",
    "SELECT a, c, MAX(a) AS m FROM s GROUP BY ALL": "a INT, c STRING, m INT",
    "SELECT a + 1 AS k FROM s GROUP BY a": "k INT",
    "SELECT a FROM s GROUP BY a HAVING COUNT(*) > 1": "a INT",
    "SELECT a, COUNT(*) AS many FROM s GROUP BY a HAVING many > 1 AND MAX(c) > 'x'": "a INT, many BIGINT",
    "SELECT COUNT(*) AS n FROM s HAVING SUM(a) > 1": "n BIGINT",
    "SELECT a FROM w": "a INT",
    "SELECT a FROM s UNION SELECT n FROM r": "a BIGINT",
    "WITH t AS (SELECT a FROM s), u AS (SELECT a AS k FROM t) SELECT k FROM u": "k INT",
    "WITH t AS (SELECT a FROM s) SELECT p.a, q.a AS b FROM t p JOIN t q ON p.a = q.a": "a INT, b INT",
    "WITH t AS (SELECT a FROM s) SELECT a FROM (WITH t AS (SELECT c AS a FROM r, s) SELECT a FROM t) q": (
        "a STRING"
    ),
}


@pytest.mark.parametrize("query", SCHEMAS)
def test_names_mean_what_they_mean_in_spark(query: str) -> None:
    assert schema(query) == SCHEMAS[query]


def scans(bound: BoundQuery) -> list[Scan]:
    return [node for node in walk(bound.plan) if isinstance(node, Scan)]


def test_a_cte_used_twice_is_two_inputs() -> None:
    bound = read("WITH t AS (SELECT a FROM s) SELECT p.a, q.a AS b FROM t p JOIN t q ON p.a = q.a")
    assert [scan.source for scan in scans(bound)] == ["s", "s"]
    assert bound.sources == ("s",)


def test_views_are_looked_through() -> None:
    assert read("SELECT w.a, s.c FROM w JOIN s ON w.a = s.a").sources == ("r", "s")


def test_column_names_are_unique_in_the_plan() -> None:
    bound = read("SELECT p.a, q.a AS b FROM s p JOIN s q ON p.a = q.a JOIN s t ON t.a = q.a")
    names = [column.name for scan in scans(bound) for column in columns(scan)]
    assert len(names) == len(set(names)) == 6


SHADOWED = {
    "WITH r AS (SELECT a FROM r) SELECT a FROM r": ("r",),
    "WITH r AS (SELECT a FROM s) SELECT a FROM r": ("s",),
    "WITH t AS (SELECT a FROM r), r AS (SELECT a FROM s) SELECT t.a FROM t JOIN r ON t.a = r.a": ("r", "s"),
    "WITH r AS (SELECT a FROM s) SELECT q.a FROM (SELECT a FROM r) q": ("s",),
    "SELECT q.a FROM (WITH r AS (SELECT a FROM s) SELECT a FROM r) q JOIN r ON q.a = r.a": ("s", "r"),
}


@pytest.mark.parametrize("query", SHADOWED)
def test_a_cte_hides_a_table_only_where_it_is_visible(query: str) -> None:
    """Read as text, as FULL tables are: a source that is missed is never seen to change."""
    assert set(read_text(query, WORLD).sources) == set(SHADOWED[query]) == set(read(query).sources)
    ordered = f"SELECT * FROM ({query}) ORDER BY 1"
    assert set(read_text(ordered, WORLD).sources) == set(SHADOWED[query])


def test_a_recursive_cte_means_itself() -> None:
    query = "WITH RECURSIVE t AS (SELECT a FROM s UNION ALL SELECT a FROM t) SELECT a FROM t"
    assert read_text(query, WORLD).sources == ("s",)
