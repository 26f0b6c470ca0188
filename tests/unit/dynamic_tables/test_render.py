"""Plans as text: quoting and literals of each dialect, sharing, and the same rows as the query's own text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, strategies as st

from dynamic_tables.plan.dialects import DUCKDB, SPARK, Dialect
from dynamic_tables.plan.expressions import Lit, Scalar
from dynamic_tables.plan.nodes import Filter, Plan, Project, UnionAll, columns
from dynamic_tables.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, Type, decimal
from dynamic_tables.plan.written.render import render
from dynamic_tables.plan.written.render_expression import render_expression
from tests.unit.dynamic_tables.reading import read

MONEY = decimal(10, 2) or INT

LITERALS: list[tuple[Scalar, Type, str, str]] = [
    (None, INT, "CAST(NULL AS INT)", "CAST(NULL AS INT)"),
    (None, STRING, "CAST(NULL AS STRING)", "CAST(NULL AS VARCHAR)"),
    (7, INT, "7", "7"),
    (-7, INT, "CAST('-7' AS INT)", "CAST('-7' AS INT)"),
    (7, BIGINT, "CAST('7' AS BIGINT)", "CAST('7' AS BIGINT)"),
    (Decimal("1.50"), MONEY, "CAST(1.50 AS DECIMAL(10,2))", "CAST(1.50 AS DECIMAL(10,2))"),
    (0.1, DOUBLE, "CAST('0.1' AS DOUBLE)", "CAST('0.1' AS DOUBLE)"),
    (float("nan"), DOUBLE, "CAST('NaN' AS DOUBLE)", "CAST('NaN' AS DOUBLE)"),
    (float("-inf"), DOUBLE, "CAST('-Infinity' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"),
    (True, BOOLEAN, "TRUE", "TRUE"),
    ("it's", STRING, "'it''s'", "'it''s'"),
    ("a\\b", STRING, "'a\\\\b'", "'a\\b'"),
    (dt.date(2024, 2, 29), DATE, "DATE '2024-02-29'", "DATE '2024-02-29'"),
    (
        dt.datetime(2024, 2, 29, 12, 30),  # noqa: DTZ001  # TIMESTAMP_NTZ has no zone
        TIMESTAMP_NTZ,
        "TIMESTAMP_NTZ '2024-02-29 12:30:00'",
        "TIMESTAMP '2024-02-29 12:30:00'",
    ),
]

STRINGS = {
    "'it''s'": "it's",
    r"'it\'s'": "it's",
    "'a' || 'b'": "ab",
    '"it\'s"': "it's",
    "''": "",
    r"'a\\b'": r"a\b",
    r"'a\nb'": "a\nb",
    "'-- no comment'": "-- no comment",
    "'x'' OR ''1''=''1'": "x' OR '1'='1",
    "'日本'": "日本",
}

QUERIES = [
    "SELECT a, b FROM r WHERE a > 1 AND b IS NOT NULL",
    "SELECT a + 1 AS k FROM (SELECT a FROM r WHERE a < 3) q WHERE a > 1",
    "SELECT r.a, s.c FROM r LEFT JOIN s ON r.a = s.a AND s.c <> 'u'",
    "SELECT r.a, s.c FROM r RIGHT JOIN s ON r.a = s.a WHERE r.a IS NULL",
    "SELECT r.b, s.c FROM r FULL JOIN s ON r.a = s.a",
    "SELECT r.a, p.c, q.c AS d FROM r JOIN (s p LEFT JOIN s q ON p.a = q.a + 1) ON r.a = p.a",
    "SELECT r.a, s.a AS k FROM r CROSS JOIN s",
    "SELECT a FROM r UNION ALL SELECT a FROM s",
    "SELECT b FROM r UNION SELECT c FROM s",
    "SELECT DISTINCT b FROM r",
    "SELECT b, COUNT(*) AS n, SUM(a) AS total FROM r GROUP BY b HAVING COUNT(*) > 1",
    "SELECT COUNT(*) AS n, MAX(b) AS m FROM r WHERE FALSE",
    "SELECT 1 AS one, COUNT(*) AS n FROM r GROUP BY 1",
    "SELECT 1 AS one, COUNT(*) AS n FROM r WHERE FALSE GROUP BY 1",
    "SELECT 'x' AS x, COUNT(DISTINCT a) AS n FROM r WHERE FALSE GROUP BY 'x'",
    "SELECT z, COUNT(*) AS n FROM (SELECT 0 AS z FROM r WHERE FALSE) q GROUP BY z",
    "SELECT z, a, COUNT(*) AS n FROM (SELECT 0 AS z, a FROM r) q GROUP BY z, a",
    "SELECT -z AS y, COUNT(*) AS n FROM (SELECT 1 AS z FROM r) q GROUP BY -z",
    "SELECT -z AS y, a, COUNT(*) AS n FROM (SELECT 1 AS z, a FROM r) q GROUP BY -z, a",
    "SELECT COUNT(*) AS n FROM r GROUP BY 1.5",
    "WITH t AS (SELECT a FROM s) SELECT p.a, q.a AS k FROM t p JOIN t q ON p.a < q.a",
]


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE r AS SELECT * FROM (VALUES (1,'x'),(2,'x'),(3,NULL),(NULL,'y')) t(a, b)"
        )
        connection.execute(
            "CREATE TABLE s AS SELECT * FROM (VALUES (1,'u'),(2,'v'),(2,'w'),(9,NULL)) t(a, c)"
        )
        yield connection


def rows(database: duckdb.DuckDBPyConnection, text: str) -> list[tuple[object, ...]]:
    return sorted(database.execute(text).fetchall(), key=repr)


@pytest.mark.parametrize(("value", "type_", "spark", "duck"), LITERALS)
def test_a_literal_in_each_dialect(value: Scalar, type_: Type, spark: str, duck: str) -> None:
    assert render_expression(Lit(value, type_), SPARK) == spark
    assert render_expression(Lit(value, type_), DUCKDB) == duck


@pytest.mark.parametrize("text", STRINGS)
def test_a_string_means_what_it_means_in_spark(text: str, database: duckdb.DuckDBPyConnection) -> None:
    query = render(read(f"SELECT {text} AS y FROM s").plan, DUCKDB).text()
    assert {row[0] for row in rows(database, query)} == {STRINGS[text]}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12))
def test_any_string_survives_as_a_literal(value: str) -> None:
    assert duckdb.execute(f"SELECT {DUCKDB.string(value)}").fetchone() == (value,)


@pytest.mark.parametrize(
    ("dialect", "quoted"), [(SPARK, '`a``b"c`'), (DUCKDB, '"a`b""c"')], ids=["spark", "duckdb"]
)
def test_a_name_is_quoted_so_that_it_cannot_end(dialect: Dialect, quoted: str) -> None:
    assert dialect.identifier('a`b"c') == quoted


@pytest.mark.parametrize("query", QUERIES)
def test_a_plan_gives_the_rows_of_its_query(query: str, database: duckdb.DuckDBPyConnection) -> None:
    bound = read(query)
    text = render(bound.plan, DUCKDB).text()
    names = ", ".join(DUCKDB.identifier(column.name) for _, column in bound.outputs)
    assert rows(database, f"SELECT {names} FROM ({text})") == rows(database, query)


def test_a_shared_node_is_rendered_once() -> None:
    shared = Filter(read("SELECT a, b FROM r").plan, Lit(True, BOOLEAN))
    plan: Plan = Project(shared, tuple((f"{column.name}_2", column) for column in columns(shared)))
    twice = render(UnionAll((plan, plan)), SPARK)
    assert [name for name, _ in twice.steps] == ["s0"]
    assert twice.text().count("WHERE TRUE") == 1


def test_leaves_are_bound_by_name() -> None:
    assert (
        render(read("SELECT a FROM s").plan, SPARK, {"s": "elsewhere"}).text()
        == "SELECT `a` AS `a_2` FROM `elsewhere`"
    )


@pytest.mark.parametrize(
    ("spark", "duckdb_name"),
    [
        ("ARRAY<TIMESTAMP>", "TIMESTAMP[]"),
        ("MAP<TIMESTAMP_LTZ, ARRAY<TIMESTAMP_NTZ>>", "MAP(TIMESTAMP, TIMESTAMP[])"),
    ],
)
def test_a_timestamp_in_a_nested_type_is_the_date_and_time_in_utc(spark: str, duckdb_name: str) -> None:
    assert DUCKDB.other_type_name(spark) == duckdb_name
