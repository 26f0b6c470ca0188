"""Text of both dialects, by example; that the engines agree on them is shown in `tests/truth`."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from tests.ir import (
    agg,
    call,
    case,
    cast,
    col,
    columns,
    count_star,
    derived,
    join,
    lit,
    named,
    null,
    select,
    union_all,
    window,
    with_,
)
from tests.unit.workload.shop import CUSTOMER, ORDER
from workload.errors import WorkloadError
from workload.query import Call, Expr, JoinKind, Limited, Query, SortKey
from workload.sql import Dialect, literal, render_expr, render_query, type_name
from workload.sql.dialect import STANDARD
from workload.sql.functions import FUNCTIONS
from workload.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP_NTZ,
    Kind,
    SqlType,
    Value,
    decimal,
)

SPARK, DUCKDB = Dialect.SPARK, Dialect.DUCKDB
PRICE = decimal(10, 2)
c, o = columns(CUSTOMER, "c"), columns(ORDER, "o")
customers, orders = named("customer", "c"), named("purchase", "o")
on_k = call("eq", c["k"], o["k"])

LITERALS: list[tuple[Value, SqlType, str, str]] = [
    (7, INT, "7", "7"),
    (-7, INT, "(-7)", "(-7)"),
    (-(2**31), INT, "CAST('-2147483648' AS INT)", "CAST('-2147483648' AS INT)"),
    (7, BIGINT, "CAST('7' AS BIGINT)", "CAST('7' AS BIGINT)"),
    (-(2**63), BIGINT, "CAST('-9223372036854775808' AS BIGINT)", "CAST('-9223372036854775808' AS BIGINT)"),
    (True, BOOLEAN, "TRUE", "TRUE"),
    (False, BOOLEAN, "FALSE", "FALSE"),
    (0.5, DOUBLE, "CAST('0.5' AS DOUBLE)", "CAST('0.5' AS DOUBLE)"),
    (-0.0, DOUBLE, "CAST('-0.0' AS DOUBLE)", "CAST('-0.0' AS DOUBLE)"),
    (1e300, DOUBLE, "CAST('1e+300' AS DOUBLE)", "CAST('1e+300' AS DOUBLE)"),
    (math.nan, DOUBLE, "CAST('NaN' AS DOUBLE)", "CAST('NaN' AS DOUBLE)"),
    (-math.inf, DOUBLE, "CAST('-Infinity' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"),
    (Decimal("-1.50"), PRICE, "CAST(-1.50 AS DECIMAL(10,2))", "CAST(-1.50 AS DECIMAL(10,2))"),
    (Decimal("1E+3"), PRICE, "CAST(1000 AS DECIMAL(10,2))", "CAST(1000 AS DECIMAL(10,2))"),
    ("it's", STRING, "'it''s'", "'it''s'"),
    ("a\\b", STRING, r"'a\\b'", r"'a\b'"),
    ("\\'", STRING, r"'\\'''", r"'\'''"),
    ('say "x"', STRING, "'say \"x\"'", "'say \"x\"'"),
    (dt.date(2024, 2, 29), DATE, "DATE '2024-02-29'", "DATE '2024-02-29'"),
    (
        dt.datetime.fromisoformat("2024-02-29T01:02:03.000004"),
        TIMESTAMP_NTZ,
        "TIMESTAMP_NTZ '2024-02-29 01:02:03.000004'",
        "TIMESTAMP '2024-02-29 01:02:03.000004'",
    ),
    (None, STRING, "CAST(NULL AS STRING)", "CAST(NULL AS VARCHAR)"),
    (None, TIMESTAMP_NTZ, "CAST(NULL AS TIMESTAMP_NTZ)", "CAST(NULL AS TIMESTAMP)"),
    (None, PRICE, "CAST(NULL AS DECIMAL(10,2))", "CAST(NULL AS DECIMAL(10,2))"),
]


@pytest.mark.parametrize(("value", "type_", "spark", "duckdb"), LITERALS)
def test_literal(value: Value, type_: SqlType, spark: str, duckdb: str) -> None:
    assert literal(value, type_, SPARK) == spark
    assert literal(value, type_, DUCKDB) == duckdb


def test_spark_finds_no_variable_in_a_literal() -> None:
    """Spark replaces `${name}` anywhere in a text, in literals too, before it parses."""
    text = literal("${spark.app.name} $ {x} $${y}", STRING, SPARK)
    assert not re.search(r"\$\{", text)
    assert literal("${x}", STRING, DUCKDB) == "'${x}'"


def test_type_names_differ_in_two_places() -> None:
    assert [type_name(t, SPARK) for t in (INT, PRICE, STRING, TIMESTAMP_NTZ)] == [
        "INT",
        "DECIMAL(10,2)",
        "STRING",
        "TIMESTAMP_NTZ",
    ]
    assert [type_name(t, DUCKDB) for t in (INT, PRICE, STRING, TIMESTAMP_NTZ)] == [
        "INT",
        "DECIMAL(10,2)",
        "VARCHAR",
        "TIMESTAMP",
    ]


EXPRESSIONS: list[tuple[Expr, str, str]] = [
    (call("add", c["k"], -1), "(c.k + (-1))", "(c.k + (-1))"),
    (call("neg", call("neg", c["k"])), "(- (- c.k))", "(- (- c.k))"),
    (
        call("mul_decimal", o["amount"], c["k"]),
        "(o.amount * c.k)",
        "CAST(CAST(o.amount AS DECIMAL(21,2)) * c.k AS DECIMAL(21,2))",
    ),
    (call("length", c["name"]), "length(c.name)", "CAST(length(c.name) AS INTEGER)"),
    (call("date_add", c["since"], 3), "date_add(c.since, 3)", "CAST(c.since + 3 AS DATE)"),
    (
        call("datediff", c["since"], c["since"]),
        "datediff(c.since, c.since)",
        "CAST(c.since - c.since AS INTEGER)",
    ),
    (call("like", c["name"], "a$%"), "(c.name LIKE 'a$%' ESCAPE '$')", "(c.name LIKE 'a$%' ESCAPE '$')"),
    (call("same", c["k"], null(INT)), "(c.k IS NOT DISTINCT FROM CAST(NULL AS INT))", ""),
    (
        case((c["vip"], 1), (lit(True), 2), otherwise=3),
        "(CASE WHEN c.vip THEN 1 WHEN TRUE THEN 2 ELSE 3 END)",
        "",
    ),
    (call("in", c["k"], 1, 2), "(c.k IN (1, 2))", ""),
    (call("concat", c["name"], "{0} {type}"), "(c.name || '{0} {type}')", ""),
    (cast(c["name"], STRING), "CAST(c.name AS STRING)", "CAST(c.name AS VARCHAR)"),
    (count_star(), "COUNT(*)", ""),
    (agg("COUNT", c["k"], distinct=True), "COUNT(DISTINCT c.k)", ""),
    (agg("SUM", c["k"]), "SUM(c.k)", "CAST(SUM(c.k) AS BIGINT)"),
    (
        agg("SUM", o["amount"], distinct=True),
        "SUM(DISTINCT o.amount)",
        "CAST(SUM(DISTINCT o.amount) AS DECIMAL(20,2))",
    ),
    (agg("MAX", o["placed"]), "MAX(o.placed)", ""),
]


@pytest.mark.parametrize(("expression", "spark", "duckdb"), EXPRESSIONS)
def test_expression(expression: Expr, spark: str, duckdb: str) -> None:
    """An empty DuckDB text says: the same one."""
    assert render_expr(expression, SPARK) == spark
    assert render_expr(expression, DUCKDB) == (duckdb or spark)


KEYS = select({"k": c["k"]}, customers)

QUERIES: list[tuple[Query, str]] = [
    (KEYS, "SELECT c.k AS k FROM customer AS c"),
    (select({"k": c["k"]}, customers, distinct=True), "SELECT DISTINCT c.k AS k FROM customer AS c"),
    (
        select(
            {"k": c["k"], "n": count_star()}, customers, where=c["vip"], group_by=[c["k"]], having=lit(True)
        ),
        "SELECT c.k AS k, COUNT(*) AS n FROM customer AS c WHERE c.vip GROUP BY c.k HAVING TRUE",
    ),
    (select({"n": count_star()}, named("customer"), group_by=[]), "SELECT COUNT(*) AS n FROM customer"),
    (
        select({"k": c["k"]}, join(JoinKind.LEFT, customers, orders, on_k)),
        "SELECT c.k AS k FROM customer AS c LEFT JOIN purchase AS o ON c.k = o.k",
    ),
    (
        select({"k": c["k"]}, join(JoinKind.CROSS, join(JoinKind.FULL, customers, orders, on_k), named("t"))),
        "SELECT c.k AS k FROM customer AS c FULL JOIN purchase AS o ON c.k = o.k CROSS JOIN t",
    ),
    (
        select(
            {"k": c["k"]}, join(JoinKind.CROSS, named("t"), join(JoinKind.INNER, customers, orders, on_k))
        ),
        "SELECT c.k AS k FROM t CROSS JOIN (customer AS c INNER JOIN purchase AS o ON c.k = o.k)",
    ),
    (
        select({"k": col("d", "k", INT)}, derived(KEYS, "d")),
        "SELECT d.k AS k FROM (SELECT c.k AS k FROM customer AS c) AS d",
    ),
    (
        union_all(KEYS, KEYS),
        "(SELECT c.k AS k FROM customer AS c) UNION ALL (SELECT c.k AS k FROM customer AS c)",
    ),
    (
        with_({"ones": KEYS, "twos": KEYS}, select({"k": col("ones", "k", INT)}, named("ones"))),
        "WITH ones AS (SELECT c.k AS k FROM customer AS c), twos AS (SELECT c.k AS k FROM customer AS c) "
        "SELECT ones.k AS k FROM ones",
    ),
]


@pytest.mark.parametrize(("query", "text"), QUERIES)
def test_query(query: Query, text: str) -> None:
    """Queries differ between the dialects in their expressions only."""
    assert render_query(query, SPARK) == render_query(query, DUCKDB) == text


ON = "(c.k = o.k)"
OF_THE_STANDARD: list[tuple[Query, str]] = [
    (
        Limited(select({"k": c["k"]}, customers), (SortKey("k", descending=True),), 2, 1),
        "SELECT * FROM (SELECT c.k AS k FROM customer AS c) AS q ORDER BY k DESC NULLS LAST "
        "OFFSET 1 ROWS FETCH FIRST 2 ROWS ONLY",
    ),
    (
        select({"k": c["k"]}, join(JoinKind.ANTI, customers, orders, on_k), where=call("gt", c["k"], 1)),
        f"SELECT c.k AS k FROM customer AS c WHERE NOT EXISTS (SELECT 1 FROM purchase AS o WHERE {ON}) "
        "AND (c.k > 1)",
    ),
    (
        select(
            {"k": c["k"]},
            join(JoinKind.LEFT, join(JoinKind.SEMI, customers, orders, on_k), named("purchase", "p"), True),
        ),
        "SELECT c.k AS k FROM customer AS c LEFT JOIN purchase AS p ON TRUE "
        f"WHERE EXISTS (SELECT 1 FROM purchase AS o WHERE {ON})",
    ),
    (
        select({"x": agg("SUM", c["k"])}, customers, group_by=[]),
        "SELECT CAST(SUM(CAST(c.k AS BIGINT)) AS BIGINT) AS x FROM customer AS c",
    ),
]


@pytest.mark.parametrize(("query", "text"), OF_THE_STANDARD)
def test_query_of_the_standard(query: Query, text: str) -> None:
    assert render_query(query, Dialect.ANSI) == text


@pytest.mark.parametrize("kind", [JoinKind.RIGHT, JoinKind.FULL])
def test_a_semi_join_below_an_outer_join_that_pads_it_is_no_condition_of_where(kind: JoinKind) -> None:
    padded = join(kind, join(JoinKind.SEMI, customers, orders, on_k), named("purchase", "p"), True)
    with pytest.raises(WorkloadError, match="SEMI JOIN has no text in ansi"):
        render_query(select({"k": c["k"]}, padded), Dialect.ANSI)


@pytest.mark.parametrize(
    ("expr", "what"),
    [
        (agg("AVG", lit(Decimal("1.50"), PRICE)), "AVG of DECIMAL"),
        (agg("MIN", lit(True)), "MIN of BOOLEAN"),
        (call("greatest", 1, 2), "the function greatest"),
        (replace(window("lag", c["k"], order=[c["k"]]), ignores_nulls=True), "IGNORE NULLS"),
        (null(SqlType(Kind.TINYINT)), "type TINYINT"),
    ],
)
def test_what_the_standard_lacks_is_refused_by_name(expr: Expr, what: str) -> None:
    with pytest.raises(WorkloadError, match=f"{what} has no (text|name) in"):
        render_expr(expr, Dialect.ANSI)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (
            lit(dt.datetime.fromisoformat("2024-02-29")),
            "CAST(TIMESTAMP '2024-02-29 00:00:00' AS TIMESTAMP(6))",
        ),
        (window("row_number", order=[c["k"]]), "row_number() OVER (ORDER BY c.k ASC NULLS FIRST)"),
        (
            call("replace", "a", "b", "c"),
            "REPLACE(CAST('a' AS STRING), CAST('b' AS STRING), CAST('c' AS STRING))",
        ),
        (call("length", "a"), "CAST(CHAR_LENGTH(CAST('a' AS STRING)) AS INTEGER)"),
        (agg("MIN", lit(True)), "MIN(TRUE)"),
    ],
)
def test_flink_has_what_the_standard_has_and_more(expr: Expr, text: str) -> None:
    assert render_expr(expr, Dialect.FLINK) == text


def test_every_template_uses_its_arguments() -> None:
    for name, function in FUNCTIONS.items():
        for dialect in Dialect:
            template = function.template(dialect)
            if not template:
                assert dialect in (Dialect.SQLITE, Dialect.MYSQL, *STANDARD), name
                continue
            used = set(re.findall(r"\{(\d)\}", template))
            assert used == set(map(str, range(max(function.arity, 0)))), name
            assert ("{args}" in template) == (function.arity == -1), name


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(WorkloadError, match="no function 'sqrt'"):
        render_expr(Call("sqrt", (c["k"],), DOUBLE), SPARK)
