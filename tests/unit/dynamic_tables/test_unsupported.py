"""Operators without a rule: UnsupportedError by the name a user knows, with the reason."""

from __future__ import annotations

import pytest

from dynamic_tables.differentiate.registry import NOT_YET, OPERATORS, RULES, change_plan
from dynamic_tables.errors import UnsupportedError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.rewrites.timed import BOTH_SIDES, ELSEWHERE
from dynamic_tables.plan.written.render import render
from tests.unit.dynamic_tables.reading import read

FIXED_WINDOWS = "windows of fixed lengths and sessions of one relation are maintained, in a plain GROUP BY"
NO_RULE = "no differentiation rule yet"
GROUPS = "write the groups, or LATERAL VIEW inline"

QUERIES = {
    "SELECT a, row_number() OVER (w ROWS 1 PRECEDING) AS n FROM r WINDOW w AS (ORDER BY a)": (
        "OVER (name ...)",
        "write the whole window, or its name alone",
    ),
    "SELECT a, rank() OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM r": (
        "a frame of rank",
        "leave the frame out: it changes nothing",
    ),
    "SELECT last_value(x) OVER (PARTITION BY a ORDER BY b) AS n FROM r": (
        "last_value over an order that may not be total",
        "add keys to ORDER BY until no two rows of a partition can be equal in them, and declare them as the "
        "primary_key of the table",
    ),
    "SELECT first_value(x) IGNORE NULLS OVER (ORDER BY b) AS n FROM r": (
        "first_value over an order that may not be total",
        "add keys to ORDER BY until no two rows of a partition can be equal in them, and declare them as the "
        "primary_key of the table",
    ),
    "SELECT a FROM r WHERE exists(array(a), e -> e > 1)": ("EXISTS", NO_RULE),
    **dict.fromkeys(
        (
            "SELECT a, now() AS y FROM r",
            "SELECT MAX(current_date()) AS y FROM r",
            "SELECT COUNT(*) AS n FROM r GROUP BY d < current_date",
            "SELECT COUNT(*) FILTER (WHERE d < current_date()) AS n FROM r",
            "SELECT a, rank() OVER (ORDER BY d > current_date(), a, b) AS n FROM r",
            "SELECT a FROM r ORDER BY d < current_date(), a LIMIT 1",
        ),
        ("current time", ELSEWHERE),
    ),
    "SELECT r.a FROM r LEFT JOIN q ON r.a = q.a AND datediff(current_date(), d) < h": (
        "current time",
        BOTH_SIDES,
    ),
    "SELECT SUM(a) OVER () AS n FROM r ORDER BY MAX(a) LIMIT 1": (
        "an aggregate in ORDER BY with LIMIT over rows",
        "group them",
    ),
    # To the binder `window.start` would be an unknown column.
    "SELECT session_window.end, COUNT(*) AS n FROM r JOIN q USING (a) GROUP BY session_window(d, '1 hour')": (
        "function session_window",
        FIXED_WINDOWS,
    ),
    "SELECT session_window.end, COUNT(*) AS n FROM r GROUP BY session_window(d, a)": (
        "function session_window",
        FIXED_WINDOWS,
    ),
    # `a` is a column of r, or the alias: without the columns that cannot be told.
    "SELECT h AS a, COUNT(*) AS n FROM r GROUP BY a, session_window(d, '1 hour')": (
        "function session_window",
        FIXED_WINDOWS,
    ),
    "SELECT session_window.end, MAX(struct(r.*)) AS n FROM r GROUP BY session_window(d, '1 hour')": (
        "function session_window",
        FIXED_WINDOWS,
    ),
    "SELECT window.start, COUNT(*) AS n FROM r GROUP BY window(d, '1 hour') WITH CUBE": (
        "function window",
        FIXED_WINDOWS,
    ),
    # A row would be in 61 windows.
    "SELECT window.start, COUNT(*) AS n FROM r GROUP BY window(d, '61 minutes', '1 minute')": (
        "function window",
        FIXED_WINDOWS,
    ),
    "SELECT window.start, COUNT(*) AS n FROM r GROUP BY window(d, concat('1', ' hour'))": (
        "function window",
        FIXED_WINDOWS,
    ),
    "SELECT a, COUNT(*) AS many FROM r GROUP BY a HAVING (SELECT MAX(s.a) FROM s WHERE s.a < many) > 0": (
        "scalar subquery beside outputs (unknown column many; in scope: s.a, s.c)",
        NO_RULE,
    ),
    "SELECT COUNT(a, b) OVER () AS n FROM r": ("count before OVER", NO_RULE),
    "SELECT a, COUNT(*) AS n FROM r GROUP BY ROLLUP (a) HAVING EXISTS (SELECT 1 FROM s WHERE s.a = r.a)": (
        "a subquery that reads a key of grouping sets",
        "put the groups into a sub-select",
    ),
    "SELECT r.a, q.n FROM r, LATERAL (SELECT MAX(c) AS n FROM s WHERE s.a = r.a HAVING COUNT(*) > 1) q": (
        "an aggregate without GROUP BY inside LATERAL",
        "it has a row of nothing, too",
    ),
    "SELECT a FROM r WHERE a IN (SELECT COUNT(*) FROM s WHERE s.a = r.a GROUP BY ALL)": (
        "an aggregate without GROUP BY inside IN or EXISTS",
        "it has a row of nothing, too",
    ),
    "SELECT a, (SELECT COUNT(*) + r.a FROM s WHERE s.a = r.a GROUP BY ALL) AS n FROM r": (
        "an aggregate without GROUP BY inside a scalar subquery",
        "it has a row of nothing, too",
    ),
    "SELECT r.a, q.z FROM r, LATERAL (SELECT DISTINCT c AS b, b AS z FROM s WHERE s.a = r.a) q": (
        "a select list that reads its own output b",
        "use a sub-select",
    ),
    "SELECT r.a, q.z FROM r, LATERAL (SELECT c AS b, b AS z FROM s WHERE s.a = r.a) q": (
        "a select list that reads its own output b",
        "use a sub-select",
    ),
    "SELECT r.a, q.z FROM r, LATERAL (SELECT r.a + 1 AS b, b AS z) q": (
        "a select list that reads its own output b",
        "use a sub-select",
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.a = r.a GROUP BY c HAVING COUNT(r.a) > 1)": (
        "an aggregate of a column outside",
        "it may be one of the query outside",
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT c FROM s WHERE s.a < 1 / r.x AND s.a >= r.x GROUP BY c)": (
        "IN or EXISTS that computes with a DOUBLE from outside",
        "compare it only",
    ),
    "SELECT r.a, q.n FROM r, LATERAL (SELECT c AS n FROM s GROUP BY CUBE (c, r.a)) q": (
        "grouping sets inside a correlated LATERAL",
        "put the groups into a sub-select",
    ),
    "SELECT a FROM r, LATERAL (SELECT rank() OVER w AS n FROM s QUALIFY n > 1 WINDOW w AS (ORDER BY c)) q": (
        "a named window inside LATERAL",
        "write the window after OVER",
    ),
    "SELECT SUM(a) OVER (ORDER BY d RANGE INTERVAL '1-2' YEAR TO MONTH PRECEDING) AS n FROM r": (
        "this INTERVAL in a frame",
        "write one whole number and one unit, say DAY",
    ),
    "SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 + 1 PRECEDING AND CURRENT ROW) AS n FROM r": (
        "a frame with a computed distance",
        "write a plain number or INTERVAL",
    ),
    "SELECT lag(a, a) OVER (ORDER BY a, b) AS n FROM r": (
        "lag by a computed number",
        "write the number itself",
    ),
    "SELECT rank() OVER (ORDER BY SUM(x)) AS n FROM r GROUP BY b": (
        "float aggregate as key of ORDER BY in OVER",
        "its last bits depend on the order of summation",
    ),
    "SELECT COUNT(*) OVER (PARTITION BY SUM(x)) AS n FROM r GROUP BY b": (
        "float aggregate as key of PARTITION BY",
        "its last bits depend on the order of summation",
    ),
    "SELECT a, COUNT(*) AS n FROM r GROUP BY CUBE (a, b, n, m, x, f, d)": (
        "128 grouping sets",
        "at most 64; list the sets that are needed",
    ),
    "SELECT CASE true WHEN a IN (SELECT a FROM s) THEN 1 ELSE 0 END AS n FROM r": (
        "IN (subquery) as a value",
        "write EXISTS, which is never NULL",
    ),
    "SELECT CASE WHEN a > 1 THEN a IN (SELECT a FROM s) END AS n FROM r": (
        "IN (subquery) as a value",
        "write EXISTS, which is never NULL",
    ),
    "SELECT a FROM r WHERE (a IN (SELECT a FROM s)) IS NULL": (
        "IN (subquery) as a value",
        "write EXISTS, which is never NULL",
    ),
    "SELECT a FROM r GROUP BY a HAVING SUM(x) IN (SELECT CAST(a AS DOUBLE) FROM s)": (
        "float aggregate in a subquery beside aggregates",
        "its last bits depend on the order of summation",
    ),
    "SELECT a, COUNT(*) FILTER (WHERE a NOT IN (SELECT a FROM s)) AS n FROM r GROUP BY a": (
        "IN (subquery) as a value",
        "write EXISTS, which is never NULL",
    ),
    "SELECT a, EXISTS (SELECT 1 FROM s WHERE s.c = COUNT(r.b)) AS e FROM r GROUP BY a": (
        "EXISTS or IN (subquery) beside aggregates (COUNT stands where no aggregate may: in WHERE, ON, "
        "GROUP BY or in another aggregate)",
        NO_RULE,
    ),
    "SELECT a FROM r GROUP BY a HAVING EXISTS (SELECT 1 FROM s WHERE s.c = r.b)": (
        "a subquery beside aggregates (column r.b is neither in GROUP BY nor in an aggregate)",
        NO_RULE,
    ),
    "SELECT r.a FROM r LEFT JOIN s ON r.a = s.a AND s.a NOT IN (SELECT a FROM r AS q)": (
        "IN (subquery) as a value",
        "write EXISTS, which is never NULL",
    ),
    "SELECT r.a FROM r LEFT JOIN s ON r.a = s.a AND EXISTS (SELECT 1 FROM r AS q WHERE q.a = r.a + s.a)": (
        "a query in ON of an outer join that reads both sides",
        "compute it in a sub-select",
    ),
    "SELECT a FROM r WHERE b IN (SELECT a FROM s)": ("IN (subquery) that compares STRING with INT", NO_RULE),
    "SELECT a FROM r WHERE a IN (SELECT r.a FROM s)": (
        "IN (subquery) that selects a column from outside",
        NO_RULE,
    ),
    "SELECT a FROM r WHERE a IN (SELECT MAX(a) FROM s WHERE s.a = r.a UNION SELECT 1 FROM s)": (
        "IN or EXISTS over a set operation (unknown table r in r.a; in scope: s)",
        NO_RULE,
    ),
    "SELECT a FROM r WHERE a IN (SELECT MAX(a) FROM s WHERE s.a = r.a)": (
        "an aggregate without GROUP BY inside IN or EXISTS",
        "it has a row of nothing, too",
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT c FROM s GROUP BY c, r.b HAVING c > (SELECT MIN(c) FROM s))": (
        "a query inside a correlated query with groups or windows in IN or EXISTS",
        NO_RULE,
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE EXISTS (SELECT 1 FROM s q WHERE q.c = r.b))": (
        "a query inside IN or EXISTS (unknown table r in r.b; in scope: q)",
        NO_RULE,
    ),
    "SELECT a FROM r WHERE a = ANY (SELECT a FROM s)": ("ANY", NO_RULE),
    "SELECT a, COUNT(*) AS n, (SELECT MAX(c) FROM s WHERE s.c = r.b) AS m FROM r GROUP BY a": (
        "a subquery beside aggregates (column r.b is neither in GROUP BY nor in an aggregate)",
        NO_RULE,
    ),
    "SELECT r.a FROM r LEFT JOIN s ON r.a = (SELECT MAX(q.a) FROM s AS q WHERE q.c = s.c)": (
        "scalar subquery that reads a column of a join, in its ON",
        NO_RULE,
    ),
    "SELECT a FROM r GROUP BY a, (SELECT MAX(c) FROM s)": ("scalar subquery", NO_RULE),
    "SELECT a FROM r WHERE EXISTS (SELECT try_sum(c) FROM s)": (
        "function try_sum",
        "it is not in the registry of differentiable expressions",
    ),
    "SELECT a FROM r WHERE a IN ((SELECT a FROM s) ORDER BY 1 LIMIT 1)": (
        "a clause after the parentheses inside IN or EXISTS",
        NO_RULE,
    ),
    "SELECT a FROM r WHERE a NOT IN ((SELECT a FROM s))": (
        "a query in doubled parentheses after IN",
        "write them once",
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s ORDER BY r.a)": (
        "ORDER BY inside IN or EXISTS",
        "it means nothing there; leave it out",
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s JOIN s AS t ON s.a = t.a AND t.c = r.b)": (
        "a correlated FROM inside IN or EXISTS (unknown table r in r.b; in scope: s, t)",
        NO_RULE,
    ),
    "SELECT a FROM r LEFT SEMI JOIN r USING (a)": (
        "SEMI JOIN of two relations with one alias",
        "give each its own",
    ),
    "SELECT a FROM r UNION ALL BY NAME SELECT a FROM s": ("UNION BY NAME", NO_RULE),
    "SELECT DISTINCT a FROM r ORDER BY r.a + 1 LIMIT 1": (
        "a key of ORDER BY with LIMIT that is not selected",
        "select it",
    ),
    "SELECT a + 1 AS c, a AS c FROM r ORDER BY abs(c) LIMIT 1": (
        "an expression over an output in ORDER BY with LIMIT",
        "select it",
    ),
    "SELECT a FROM r WHERE EXISTS (SELECT DISTINCT s.a FROM s WHERE s.a = r.a ORDER BY a + 1 OFFSET 1)": (
        "IN or EXISTS ordered by an expression over its outputs",
        "select the expression",
    ),
    "SELECT a FROM r ORDER BY a LIMIT 5 / 2": ("LIMIT that is no plain number", "write the number of rows"),
    "SELECT a FROM r ORDER BY ALL LIMIT 1": ("ORDER BY ALL with LIMIT", "list the columns"),
    "SELECT a FROM r ORDER BY 'x' LIMIT 1": ("a constant in ORDER BY with LIMIT", "leave it out"),
    "SELECT a FROM r ORDER BY a LIMIT 99999999999": (
        "LIMIT that is no plain number",
        "write the number of rows",
    ),
    "SELECT 1 AS x FROM r ORDER BY COUNT(*) LIMIT 1": (
        "an aggregate in ORDER BY with LIMIT over rows",
        "group them",
    ),
    "SELECT s.* FROM r LEFT JOIN s USING (a) ORDER BY a LIMIT 1": (
        "a key of ORDER BY with LIMIT beside USING or NATURAL",
        "select it",
    ),
    "SELECT a FROM r UNION ALL SELECT a FROM s ORDER BY a LIMIT 1 UNION ALL SELECT a FROM r": (
        "LIMIT in a branch of a UNION",
        "put the branch in parentheses",
    ),
    "SELECT MAX(*) FILTER (WHERE f) AS n FROM r": ("FILTER after an aggregate of several columns", NO_RULE),
    "SELECT COUNT(* EXCEPT (a)) FILTER (WHERE f) AS n FROM r": (
        "FILTER after an aggregate of several columns",
        NO_RULE,
    ),
    "SELECT COUNT(r.*) FILTER (WHERE f) AS n FROM r": (
        "FILTER after an aggregate of several columns",
        NO_RULE,
    ),
    "SELECT a, SUM(x) AS y FROM r GROUP BY a ORDER BY y LIMIT 1": (
        "float aggregate as key of ORDER BY with LIMIT",
        "its last bits depend on the order of summation",
    ),
    "SELECT a FROM r SORT BY a": ("SORT BY", NO_RULE),
    "SELECT a FROM r CLUSTER BY a": ("CLUSTER BY", NO_RULE),
    "SELECT a FROM r DISTRIBUTE BY a": ("DISTRIBUTE BY", NO_RULE),
    "SELECT a FROM r LATERAL VIEW stack(2, a, 1) t AS y": (
        "function stack",
        "of those that make rows, explode and inline do",
    ),
    "SELECT COUNT(*) AS n, explode(array(1)) AS y FROM r": (
        "explode beside groups or windows",
        "put one of them into a sub-select",
    ),
    "SELECT r.a FROM r LEFT JOIN LATERAL (SELECT c, r.a AS k FROM s WHERE s.a = r.a) q": (
        "LEFT JOIN LATERAL that computes with a column from outside",
        NO_RULE,
    ),
    "SELECT a FROM r LEFT JOIN LATERAL explode(array(a)) q(e) ON e > 1": (
        "LEFT JOIN LATERAL with a condition",
        "write ON TRUE, or a sub-select",
    ),
    "SELECT a FROM r, LATERAL (SELECT c FROM s UNION SELECT b FROM r) q": (
        "LATERAL of a set operation",
        "write one SELECT",
    ),
    "SELECT e FROM r, LATERAL (SELECT e FROM s LATERAL VIEW explode(array(r.a)) v AS e) q": (
        "a correlated FROM inside LATERAL (unknown table r in r.a; in scope: s)",
        NO_RULE,
    ),
    "WITH RECURSIVE t AS (SELECT a FROM r UNION ALL SELECT a FROM t) SELECT a FROM t": (
        "recursive CTE",
        NO_RULE,
    ),
    "SELECT a FROM r RIGHT SEMI JOIN s ON r.a = s.a": ("right semi join", NO_RULE),
    "SELECT * FROM VALUES (1), (2)": ("SELECT without FROM", "a dynamic table reads at least one relation"),
    f"SELECT a FROM r JOIN VALUES {', '.join(['(1)'] * 201)} AS v(c) ON a = c": (
        "VALUES of more than 200 rows",
        "write them into a table",
    ),
    "SELECT a FROM r JOIN VALUES (NULL) AS v(c) ON a = c": ("untyped NULL", "write CAST(NULL AS type)"),
    "SELECT * FROM r JOIN s ON r.a = s.a PIVOT (SUM(n) FOR b IN ('x'))": (
        "PIVOT or UNPIVOT",
        f"{NO_RULE} (on a join)",
    ),
    "SELECT r.a FROM r CROSS JOIN s PIVOT (SUM(n) FOR b IN ('x'))": (
        "PIVOT or UNPIVOT after a join or another one",
        "put one into a sub-select",
    ),
    "SELECT * FROM s PIVOT (SUM(a) FOR c IN ('x')) UNPIVOT (v FOR y IN (x))": (
        "PIVOT or UNPIVOT after a join or another one",
        "put one into a sub-select",
    ),
    "SELECT * FROM r PIVOT (SUM(a) FOR (b, f) IN (('x', true)))": (
        "PIVOT with values that have no names, or are too few",
        GROUPS,
    ),
    "SELECT * FROM s PIVOT (SUM(a), MAX(a) FOR c IN ('x'))": (
        "PIVOT with computed aggregates, or several without names",
        GROUPS,
    ),
    "SELECT * FROM s PIVOT (SUM(a) FOR c IN (UPPER('x')))": (
        "PIVOT with values that are no literals of type STRING",
        GROUPS,
    ),
    "SELECT * FROM r PIVOT (COUNT(*) FOR x IN ('NaN' AS nan, 0.5))": (
        "PIVOT with values that are no literals of type DOUBLE",
        GROUPS,
    ),
    "SELECT * FROM r PIVOT (COUNT(*) FOR a IN (7, '7' AS seven))": (
        "PIVOT with values that are no literals of type INT",
        GROUPS,
    ),
    "SELECT * FROM s PIVOT (SUM(a) FOR c IN ('x', 'x' AS y))": (
        "PIVOT with a value that stands twice",
        "Spark fails on it",
    ),
    "SELECT * FROM r UNPIVOT ((v, w) FOR n IN ((a, x) AS p))": ("UNPIVOT of several columns at once", GROUPS),
    "SELECT * FROM r UNPIVOT (v FOR n IN (a, f))": (
        "UNPIVOT of columns whose types do not meet",
        "cast them in a sub-select",
    ),
    "SELECT z.b FROM (r JOIN s ON r.a = s.a) AS z": (
        "alias of relations in parentheses",
        "alias each inside them",
    ),
    "SELECT MAX(*) AS n FROM s": ("MAX of several columns", NO_RULE),
    "SELECT COUNT(* EXCEPT (a)) AS n FROM s": ("COUNT of several columns", NO_RULE),
    "SELECT COUNT(s.*) AS n FROM s": ("COUNT of several columns", NO_RULE),
    "SELECT try_cast(b AS INT) AS n FROM r": ("try_cast", NO_RULE),
    "SELECT CAST(x AS STRING) AS y FROM r": (
        "CAST(DOUBLE AS STRING)",
        "rounds, fails or prints differently from engine to engine",
    ),
    # Equal to it are texts that differ: without the collation, DISTINCT kept both of 'a' and 'A'.
    "SELECT DISTINCT CAST(b AS STRING COLLATE UTF8_LCASE) AS y FROM r": (
        "CAST to STRING COLLATE UTF8_LCASE",
        "no rule for such a type yet",
    ),
    "SELECT NULL AS y FROM r": ("untyped NULL", "write CAST(NULL AS type)"),
    **dict.fromkeys(
        (
            "SELECT NULL AS y FROM r UNION ALL SELECT NULL FROM r",
            "SELECT a, NULL AS y FROM r UNION ALL SELECT a, array(a) FROM r",
            # The NULL would decide the type of what reads it, and is no number of an item of two columns.
            "SELECT NULL AS y, y + 1 AS z FROM r UNION ALL SELECT x, a FROM r",
            "SELECT NULL AS y, y AS z FROM r UNION ALL SELECT b, NULL FROM r",
            "SELECT posexplode(array(a)) AS (p, e), NULL AS y FROM r UNION ALL SELECT a, x, a FROM r",
        ),
        ("untyped NULL", "write CAST(NULL AS type)"),
    ),
    "SELECT explode(array(a)) + 1 AS y FROM r": (
        "function explode",
        "it is not in the registry of differentiable expressions",
    ),
    "SELECT 1 AS one": ("SELECT without FROM", "a dynamic table reads at least one relation"),
    "SELECT * EXCEPT (z) FROM r": ("* EXCEPT (z)", "it is not the name of one column of the star"),
    "SELECT SUM(a) AS a, b FROM r GROUP BY ALL HAVING a > 10": (
        "HAVING over a",
        "it names a column and an output; qualify it, or rename the output",
    ),
}

FLOAT = "WITH q AS (SELECT b, SUM(x) AS y, AVG(x) AS z FROM r GROUP BY b) "
ORDER_MATTERS = "its last bits depend on the order of summation"
FLOATS = {
    "SELECT v, COUNT(*) AS n FROM q UNPIVOT (v FOR k IN (y)) GROUP BY v": "as key of GROUP BY",
    "SELECT v FROM q UNPIVOT (v FOR k IN (y, z)) WHERE v > 1": "in WHERE",
    "SELECT y, COUNT(*) AS n FROM q GROUP BY y": "as key of GROUP BY",
    "SELECT y + 1 AS k, COUNT(*) AS n FROM q GROUP BY 1": "as key of GROUP BY",
    "SELECT DISTINCT z FROM q": "as key of DISTINCT",
    "SELECT z FROM q UNION SELECT x FROM r": "as key of UNION",
    "SELECT q.b FROM q JOIN r ON q.z = r.x": "in a join condition",
    "SELECT q.b FROM r LEFT JOIN q ON q.y <=> r.x": "in a join condition",
    "SELECT q.b FROM r JOIN q ON q.b = r.b AND q.y < r.x": "in a join condition",
    "SELECT q.b FROM r, q WHERE q.b = r.b AND ABS(q.y) IN (r.x, 1e0)": "in WHERE",
    "SELECT b FROM q WHERE y > 0.6 OR b = 'x'": "in WHERE",
    "SELECT b, SUM(y) AS s FROM q GROUP BY b HAVING SUM(y) <= 0.6": "in HAVING",
    "SELECT b, AVG(x) AS s FROM r GROUP BY b HAVING s BETWEEN 0 AND 1": "in HAVING",
}


@pytest.mark.parametrize("query", QUERIES)
def test_an_operator_without_a_rule_is_named_with_the_reason(query: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read(query)
    assert (caught.value.operator, caught.value.reason) == QUERIES[query]
    assert str(caught.value) == f"unsupported: {caught.value.operator}: {caught.value.reason}"


@pytest.mark.parametrize("query", FLOATS)
def test_rows_are_not_matched_or_chosen_by_a_float_aggregate(query: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read(FLOAT + query)
    assert caught.value.operator == f"float aggregate {FLOATS[query]}"
    assert caught.value.reason == ORDER_MATTERS


def test_a_float_aggregate_may_be_a_value() -> None:
    read(FLOAT + "SELECT b, MAX(y) AS y, SUM(z) AS z FROM q WHERE y IS NOT NULL GROUP BY b")


def test_every_construct_that_is_declared_unsupported_is_tried_here() -> None:
    """What `dvs operators` lists is what users meet."""
    tried = {operator for operator, _ in QUERIES.values()} | {"float aggregate as a key or in a condition"}
    for construct in NOT_YET:
        parts = [construct] if construct in tried else construct.split(", ")
        assert all(any(part in each for each in tried) for part in parts), construct
    assert NOT_YET.keys() & OPERATORS.keys() == set()


@pytest.mark.parametrize("joins", [10, 58])
@pytest.mark.parametrize("kind", ["JOIN", "FULL JOIN"])
def test_a_deep_plan_is_differentiated_without_end_of_stack(kind: str, joins: int) -> None:
    query = "SELECT t0.a FROM s t0 " + " ".join(
        f"{kind} s t{i} ON t0.a = t{i}.a" for i in range(1, joins + 1)
    )
    assert render(change_plan(read(query), RULES), SPARK).text()


@pytest.mark.parametrize("joins", [65, 600])
def test_a_plan_too_deep_for_the_stack_is_not_incremental(joins: int) -> None:
    query = "SELECT t0.a FROM s t0 " + " ".join(f"JOIN s t{i} ON t0.a = t{i}.a" for i in range(1, joins))
    with pytest.raises(
        UnsupportedError, match=r"plan deeper than 60 operators: split the query|more than 500 inputs"
    ):
        read(query)


def test_a_long_chain_of_conditions_is_incremental_and_a_deep_expression_is_not() -> None:
    chain = " OR ".join(f"a = {number}" for number in range(400))
    assert render(change_plan(read(f"SELECT a FROM s WHERE {chain}"), RULES), SPARK).text()
    with pytest.raises(UnsupportedError, match="a query nested deeper than 200 levels: write a long chain"):
        read(f"SELECT {' + '.join(['a'] * 250)} AS n FROM s")


def test_ctes_that_double_at_every_step_do_not_fill_the_memory() -> None:
    ctes = ["t0 AS (SELECT a FROM s)"]
    ctes += [f"t{i} AS (SELECT x.a FROM t{i - 1} x JOIN t{i - 1} y ON x.a = y.a)" for i in range(1, 40)]
    with pytest.raises(UnsupportedError, match="more than 500 inputs: split the query"):
        read(f"WITH {', '.join(ctes)} SELECT a FROM t39")


def test_an_average_of_integers_is_one_value() -> None:
    """The sum of integers is exact in every order, so rows may be chosen and matched by their average."""
    averages = "WITH q AS (SELECT b, AVG(a) AS z FROM r GROUP BY b) "
    for query in FLOATS:
        if "q.z" in query or " z " in query:
            read(averages + query)
    read("SELECT b, AVG(a) AS s FROM r GROUP BY b HAVING s > 1 ORDER BY s DESC LIMIT 3")
