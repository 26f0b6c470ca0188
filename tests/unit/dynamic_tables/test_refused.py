"""What may not run at all, in any refresh mode: the sandbox around queries."""

from __future__ import annotations

import pytest

from dynamic_tables.errors import DefinitionError, UnsupportedError
from tests.unit.dynamic_tables.reading import read

OUTSIDE = "is refused: it may run or read anything"
UNSTABLE = "is refused: its value does not depend on the data alone"
FOREIGN = "is refused: a query reads relations of its account"

FUNCTIONS = {
    "java_method('java.lang.System', 'exit', 0)": f"function java_method {OUTSIDE}",
    "reflect('java.lang.System', 'exit', 0)": f"function reflect {OUTSIDE}",
    "try_reflect('java.lang.System', 'exit', 0)": f"function try_reflect {OUTSIDE}",
    "IDENTIFIER('a')": f"function identifier {OUTSIDE}",
    "rand()": f"function rand {UNSTABLE}",
    "CAST(rand() AS INT)": f"function rand {UNSTABLE}",
    "uuid()": f"function uuid {UNSTABLE}",
    "current_timezone()": f"function current_timezone {UNSTABLE}",
    "current_user()": f"function current_user {UNSTABLE}",
    "monotonically_increasing_id()": f"function monotonically_increasing_id {UNSTABLE}",
    "input_file_name()": f"function input_file_name {UNSTABLE}",
    "first(a)": f"function first {UNSTABLE}",
    "any_value(a)": f"function any_value {UNSTABLE}",
}

RELATIONS = {
    "read_csv('/etc/passwd')": FOREIGN,
    "range(10)": FOREIGN,
    "IDENTIFIER('r')": FOREIGN,
    "parquet.`/tmp/x`": FOREIGN,
    "delta.`/tmp/x`": FOREIGN,
    "csv.`/etc/passwd`": FOREIGN,
    "other.r": FOREIGN,
    "cat.other.r": FOREIGN,
    "r VERSION AS OF 3": "is refused: a refresh decides which versions are read",
    "r TIMESTAMP AS OF '2020-01-01'": "is refused: a refresh decides which versions are read",
    "r@v3": "is refused: a refresh decides which versions are read",
    "`/tmp/x`": "unknown table /tmp/x",
}

WITHOUT_A_PLAN = " SORT BY 1"
"""Sends a query down the road of FULL tables, whose text no binder has looked at."""


@pytest.mark.parametrize("road", ["", WITHOUT_A_PLAN], ids=["plan", "text"])
@pytest.mark.parametrize("call", FUNCTIONS)
def test_a_function_is_refused_by_name(call: str, road: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(f"SELECT a, {call} AS y FROM r{road}")
    assert str(caught.value) == FUNCTIONS[call]


@pytest.mark.parametrize("clause", ["WHERE a > {}", "GROUP BY a, {}", "JOIN s ON s.a = {}", "ORDER BY {}"])
def test_a_function_is_refused_wherever_it_stands(clause: str) -> None:
    with pytest.raises(DefinitionError, match="function rand is refused"):
        read(f"SELECT r.a FROM r {clause.format('rand()')}")


def test_a_function_is_refused_inside_a_view_or_cte() -> None:
    with pytest.raises(DefinitionError, match="function rand is refused"):
        read("WITH t AS (SELECT rand() AS y FROM r) SELECT y FROM t")


@pytest.mark.parametrize("road", ["", WITHOUT_A_PLAN], ids=["plan", "text"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_only_relations_of_the_account_are_read(relation: str, road: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(f"SELECT * FROM {relation}{road}")
    assert RELATIONS[relation] in str(caught.value)


@pytest.mark.parametrize("name", ["user", "current_time", "current_catalog", "CURRENT_DATABASE"])
def test_a_function_without_parentheses_is_seen_where_no_binder_looks(name: str) -> None:
    with pytest.raises(
        DefinitionError, match=f"^{name} .* is refused: its value does not depend on the data"
    ):
        read(f"SELECT a, {name} AS y FROM r SORT BY a")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT TRANSFORM(a) USING 'cat' AS (y) FROM r", "a query runs no scripts"),
        ("SELECT y FROM (SELECT TRANSFORM(a) USING 'cat' AS (y) FROM r) q", "a query runs no scripts"),
        ("FROM r SELECT TRANSFORM(a) USING 'cat' AS y", "a query runs no scripts"),
        ("SELECT MAP(a) USING 'cat' AS (y) FROM r", "unexpected 'USING'"),
        ("SELECT other.upper(b) AS y FROM r", "functions go by their plain names"),
        ("SELECT system.builtin.java_method(b) AS y FROM r", "functions go by their plain names"),
        ("SELECT a FROM r LATERAL VIEW reflect('x', 'y') t AS y", "function reflect is refused"),
    ],
)
def test_other_ways_to_run_code_are_refused(query: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        read(query)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT a FROM r TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
        ("SELECT a FROM (SELECT a FROM r) q TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
        ("SELECT a FROM r LIMIT 1", "LIMIT is refused: without ORDER BY it is not clear which rows are kept"),
        ("SELECT a FROM r OFFSET 1", "OFFSET is refused: without ORDER BY"),
        ("(SELECT a FROM r ORDER BY a) LIMIT 1", "LIMIT is refused"),
        ("SELECT a FROM r WHERE a IN (SELECT a FROM s LIMIT 2)", "LIMIT is refused"),
        (
            "SELECT array_sort(array(a)) AS z, CAST('today' AS DATE) AS y FROM r",
            "does not depend on the data",
        ),
        ("SELECT array_sort(array(a)) AS x, collect_list(a) AS y FROM r", r"sort_array\(collect_list"),
        ("SELECT reverse(collect_set(a)) AS y FROM r", r"sort_array\(collect_set"),
        ("SELECT listagg(b, ',') AS y FROM r", r"listagg is refused: without WITHIN GROUP"),
        ("SELECT any_value(a) AS y FROM r", "function any_value is refused"),
        ("SELECT first(a) AS y FROM r", "function first is refused"),
        ("SELECT last(a, true) AS y FROM r", "function last is refused"),
        ("SELECT mode(a) AS y FROM r", "function mode is refused"),
        ("SELECT approx_count_distinct(a) AS y FROM r", "function approx_count_distinct is refused"),
        ("SELECT approx_percentile(a, 0.5) AS y FROM r", "function approx_percentile is refused"),
        ("SELECT percentile_approx(a, 0.5) AS y FROM r", "function approx_percentile is refused"),
        ("SELECT hll_sketch_agg(a) AS y FROM r", "function hll_sketch_agg is refused"),
        ("SELECT array_sort(array(a)) AS z, TIMESTAMP 'now UTC' AS y FROM r", "does not depend on the data"),
        ("SELECT array_contains(array(array(1)), collect_list(a)) AS y FROM r", "sort_array\\(collect_list"),
        (
            "SELECT sort_array(max(x) OVER (PARTITION BY collect_list(a))) AS y FROM r",
            "sort_array\\(collect_list",
        ),
        ("SELECT array_sort(array(a)) AS z, first_value(a) AS y FROM r", "first_value without OVER"),
    ],
)
def test_what_the_data_leave_open_is_refused(query: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        read(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, b FROM r ORDER BY ALL LIMIT 1",
        "SELECT sort_array(collect_list(x) FILTER (WHERE f)) AS y FROM r",
        "SELECT a, sort_array(collect_list(b) OVER (PARTITION BY a)) AS y FROM r",
        "SELECT size(collect_set(b)) AS y, array_contains(collect_list(a), 1) AS z FROM r",
        "SELECT CAST('now' AS STRING) AS y, array_sort(array(a)) AS z FROM r",
        "SELECT last_value(a) OVER (ORDER BY b) AS y FROM r",
        'SELECT a FROM r WHERE b = "a""b"',
        "SELECT a FROM r WHERE b = \"it''s\"",
    ],
)
def test_what_the_data_decide_may_run_in_a_full_refresh(query: str) -> None:
    with pytest.raises(UnsupportedError):
        read(query)


@pytest.mark.parametrize("name", ["frob", "round", "regr_slope", "sort_array", "date_trunc", "lpad", "rpad"])
def test_a_listed_function_without_a_rule_may_run_in_a_full_refresh(name: str) -> None:
    """By Spark's name for it: sqlglot has names of its own for some."""
    with pytest.raises(UnsupportedError, match=f"^unsupported: function {name}: it is not in the registry"):
        read(f"SELECT {name}(a, n) AS y FROM r")
