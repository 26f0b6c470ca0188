"""Statistics, ordered aggregates and counts of several values: their types, and what is refused and why."""

from __future__ import annotations

import pytest

from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.types import DOUBLE, INT
from dynamic_tables.reading.bind import bind_query
from tests.unit.dynamic_tables.reading import read, schema

TYPES = {
    "stddev(a)": "DOUBLE",
    "std(DISTINCT m)": "DOUBLE",
    "stddev_pop(x)": "DOUBLE",
    "variance(n)": "DOUBLE",
    "var_pop(a) FILTER (WHERE f)": "DOUBLE",
    "corr(a, x)": "DOUBLE",
    "covar_samp(a, m)": "DOUBLE",
    "covar_pop(n, a)": "DOUBLE",
    "max_by(n, n)": "BIGINT",
    "max_by(a, b)": "INT",
    "max_by(b, b) FILTER (WHERE n > 1)": "STRING",
    "min_by(d, struct(n, d))": "DATE",
    "max_by(upper(b) || 'x', named_struct('p', n, 'q', b))": "STRING",
    "max_by(m, (n, m)) FILTER (WHERE n > 1)": "DECIMAL(10,2)",
    "sort_array(collect_list(b))": "array<string>",
    "sort_array(collect_set(m), false)": "array<decimal(10,2)>",
    "array_sort(array_agg(DISTINCT d))": "array<date>",
    "sort_array(collect_list(n) FILTER (WHERE f), true)": "array<bigint>",
    "listagg(b, ',') WITHIN GROUP (ORDER BY b)": "STRING",
    "string_agg(DISTINCT b) WITHIN GROUP (ORDER BY b DESC)": "STRING",
    "percentile(n, 0.25)": "DOUBLE",
    "median(DISTINCT m)": "DOUBLE",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY x DESC)": "DOUBLE",
    "bit_and(a)": "INT",
    "bit_xor(DISTINCT n)": "BIGINT",
    "every(f) AND some(f) AND any(f)": "BOOLEAN",
    "any(DISTINCT f) AND any(ALL f) FILTER (WHERE a > 1)": "BOOLEAN",
    "mean(a)": "DOUBLE",
    "count(n, b)": "BIGINT",
    "count(DISTINCT n, b) FILTER (WHERE f) + count(DISTINCT b) + sum(DISTINCT a)": "BIGINT",
}

NO_TIES = "ties in y: order by struct(y, x)"
ORDER_MATTERS = "its last bits depend on the order of summation"

REFUSED = {
    "max_by(b, n)": ("MAX_BY", NO_TIES),
    "min_by(b, struct(n, a))": ("MIN_BY", NO_TIES),
    "max_by(n + m, struct(n, b))": ("MAX_BY", NO_TIES),
    "max_by(b, struct(n, CASE WHEN f THEN b END))": ("MAX_BY", NO_TIES),
    "max_by(n, CASE WHEN f THEN n ELSE m END)": ("MAX_BY", NO_TIES),
    "max_by(1 / x, struct(n, x))": ("MAX_BY", NO_TIES),
    "sort_array(collect_list(x))": ("a sorted list of DOUBLE", "equal values of this type may differ"),
    "listagg(b, ',') WITHIN GROUP (ORDER BY n)": (
        "LISTAGG in another order than that of its values",
        "write ORDER BY the same value",
    ),
    "percentile(n, a)": ("PERCENTILE at a fraction that is no constant number", ""),
    "percentile(n, 0.5, a)": ("function percentile", ""),
    "max_by(b, n, 2)": ("max_by with count", "no rule for this form"),
    "listagg(DISTINCT b) WITHIN GROUP (ORDER BY b) AS z, count(DISTINCT n)": (
        "LISTAGG beside aggregates of several DISTINCT values",
        "compute them in two sub-selects",
    ),
    "stddev(b)": ("STDDEV_SAMP of STRING", "cast it to a number"),
}


def grouped(aggregate: str) -> str:
    """The text of a query with an aggregate over the groups of `r` by `a`."""
    return f"SELECT a, {aggregate} AS y FROM r GROUP BY a"


@pytest.mark.parametrize("aggregate", TYPES)
def test_an_aggregate_is_read_with_its_type(aggregate: str) -> None:
    assert schema(grouped(aggregate)) == f"a INT, y {TYPES[aggregate]}"


@pytest.mark.parametrize("aggregate", REFUSED)
def test_an_aggregate_that_cannot_be_maintained_is_refused_with_the_reason(aggregate: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read(grouped(aggregate))
    operator, reason = REFUSED[aggregate]
    assert caught.value.operator == operator
    assert reason in caught.value.reason


def test_a_declared_key_has_no_ties() -> None:
    columns = (("id", INT), ("x", DOUBLE), ("n", INT))
    world = {"t": BaseTable("t", columns, key=("id", "n")), "u": BaseTable("u", columns, key=("x",))}
    for query in (
        "SELECT n, max_by(x, id) AS y FROM t GROUP BY n",
        "SELECT min_by(x + id, struct(id, n)) FILTER (WHERE x > 1) AS y FROM t",
        "SELECT u.id, (SELECT max_by(t.x, t.id) FROM t WHERE t.n = u.n) AS y FROM u",
    ):
        bind_query(query, world)
    for query in (
        "SELECT max_by(x, id) AS y FROM t",
        "SELECT n, max_by(x, id) AS y FROM t GROUP BY GROUPING SETS ((n), ())",
        # 0.0 and -0.0 are equal in an order, and two keys.
        "SELECT max_by(id, x) AS y FROM u",
        "SELECT max_by(1 / x, x) AS y FROM (SELECT x FROM u) q",
        "SELECT a.n, max_by(b.x, a.id) AS y FROM t AS a JOIN t AS b ON a.x = b.x GROUP BY a.n",
        "SELECT u.id, (SELECT max_by(t.x, t.id) FROM t) AS y FROM u",
    ):
        with pytest.raises(UnsupportedError, match="MAX_BY"):
            bind_query(query, world)


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("SELECT a FROM r GROUP BY a HAVING stddev(n) > 1", "float aggregate in HAVING"),
        ("SELECT y FROM (SELECT a, corr(n, x) AS y FROM r GROUP BY a) q GROUP BY y", "as key of GROUP BY"),
        ("SELECT max_by(k, struct(s, k)) AS y FROM q0", "MAX_BY over a float aggregate"),
        ("SELECT percentile(s, 0.5) AS y FROM q0", "PERCENTILE over a float aggregate"),
    ],
)
def test_what_depends_on_the_last_bits_of_a_sum_is_refused(query: str, operator: str) -> None:
    query = query.replace("q0", "(SELECT b AS k, var_pop(x) AS s FROM r GROUP BY b) q0")
    with pytest.raises(UnsupportedError, match=operator) as caught:
        read(query)
    assert caught.value.reason == ORDER_MATTERS


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        ("percentile(n, 1.5)", "the fraction is between 0 and 1"),
        ("stddev(d)", "STDDEV_SAMP is not defined for DATE"),
        ("bit_or(b)", "BIT_OR is not defined for STRING"),
        ("median(n) FILTER (WHERE a)", "FILTER is of type INT"),
        ("var_pop(max(n))", "no aggregate may"),
    ],
)
def test_what_spark_does_not_define_is_an_error(aggregate: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        read(grouped(aggregate))


def test_an_alias_in_having_is_no_alias_inside_an_aggregate() -> None:
    """`n` in the aggregate is the column, also after WITHIN GROUP."""
    order = "percentile_cont(0.5) WITHIN GROUP (ORDER BY a)"
    assert schema(f"SELECT b, COUNT(*) AS a FROM r GROUP BY b HAVING {order} > 1") == "b STRING, a BIGINT"
