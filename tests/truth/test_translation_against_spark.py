"""The translation of people's queries to DuckDB's SQL, compared with Spark's answers.

A query that is translated wrongly makes a correct dynamic table look wrong, or a wrong one right.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from decimal import Decimal
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot.errors import SqlglotError

from campaign.audit.evaluate import CASES, as_spark
from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DynamicTablesError, UnsupportedError
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.plan.types import BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, decimal
from dynamic_tables.plan.written.render import render
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.store.names.texts import type_of
from given.dialect import WrittenSpark
from given.translation import duckdb_text
from oracle.duck import open_duckdb
from tests.truth.examples_of_spark import all_examples
from tests.truth.test_functions_of_spark import is_passed

pytestmark = [pytest.mark.slow, pytest.mark.spark]

ROWS = """
SELECT * FROM (VALUES
  (1, 5, 1.25, 'a,b', 1.5D, DATE'2024-01-31', TRUE, TIMESTAMP_NTZ'2024-01-31 10:20:30.5'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, -7, -1.25, 'B1c22', 2.5D, DATE'2024-02-29', FALSE, TIMESTAMP_NTZ'2024-02-29 23:59:59'),
  (4, 7, 3.55, ' a b ', -0.5D, DATE'2024-12-29', TRUE, TIMESTAMP_NTZ'2024-12-29 00:00:00'),
  (5, 0, 0.00, '', -2.5D, DATE'1969-12-31', FALSE, TIMESTAMP_NTZ'1969-12-31 23:00:00'),
  (6, 8, -3.50, 'a b', 3.75D, DATE'2023-03-01', NULL, TIMESTAMP_NTZ'2023-03-01 12:00:00.25')
) AS t(id, a, d, s, f, dt, ok, n)
"""

KINDS = {
    "id": INT,
    "a": INT,
    "d": decimal(3, 2) or DOUBLE,
    "s": STRING,
    "f": DOUBLE,
    "dt": DATE,
    "ok": BOOLEAN,
    "n": TIMESTAMP_NTZ,
}
WORLD = {"t": BaseTable("t", tuple(KINDS.items()))}

EXPRESSIONS, QUERIES, WITHOUT = (
    part.splitlines() for part in Path(__file__).with_name("translated.txt").read_text().split("\n\n")
)
"""What is compared; and what has no translation, so that DuckDB must refuse it."""

BY_SYSTEM = (
    "rand",
    "uuid(",
    "current_",
    "localtime",
    "now()",
    "user()",
    "version()",
    # Structs, maps and documents are other objects in Python.
    "struct(",
    "arrays_zip",
    "map_entries",
    "parse_json",
    # A path with a wildcard, and dates with a step of months, which DuckDB gives as timestamps.
    "get_json_object",
    "sequence(to_date",
)
"""Parts of examples whose values depend on the system, or that Python shows in two ways."""


@pytest.fixture(scope="module")
def systems(spark: SparkSession) -> Iterator[tuple[SparkSession, duckdb.DuckDBPyConnection]]:
    """Spark and DuckDB over the same rows."""
    session = spark.newSession()
    session.sql(ROWS).createOrReplaceTempView("t")
    with open_duckdb(time_zone="UTC") as connection:
        connection.register("given", session.table("t").toArrow())
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        yield session, connection


def alike(value: object) -> object:
    """A value as an audit compares it: fractions by twelve digits, a date as its midnight."""
    match value:
        case bool() | None | str():
            return value
        case int():
            return str(value)
        case float() | Decimal():
            return f"{float(value) + 0.0:.12g}"
        case dt.datetime():
            return value
        case dt.date():
            return dt.datetime.combine(value, dt.time())
        case list() | tuple():
            return tuple(map(alike, value))
        case dict():
            return tuple(map(alike, value.values()))
        case _:
            return str(value)


def rows(found: object) -> list[tuple[object, ...]]:
    assert isinstance(found, list)
    return sorted((tuple(map(alike, row)) for row in found), key=str)


def translated(query: str) -> str:
    return duckdb_text(sqlglot.parse_one(query, read=WrittenSpark))


def test_expressions_mean_in_duckdb_what_they_mean_in_spark(
    systems: tuple[SparkSession, duckdb.DuckDBPyConnection],
) -> None:
    session, connection = systems
    for texts in batched(EXPRESSIONS, 30):
        items = ", ".join(f"{text} AS c{number}" for number, text in enumerate(texts))
        query = f"SELECT {items} FROM t ORDER BY id"
        expected, found = session.sql(query).collect(), connection.execute(translated(query)).fetchall()
        assert len(expected) == len(found) == 6
        for text, *values in zip(texts, *expected, *found, strict=True):
            assert [alike(each) for each in values[:6]] == [alike(each) for each in values[6:]], text


def of_plan(bound: BoundQuery) -> str:
    """The text for DuckDB of a plan of the engine."""
    columns = ", ".join(DUCKDB.identifier(column.name) for _, column in bound.outputs)
    return f"SELECT {columns} FROM ({render(bound.plan, DUCKDB, {'t': 't'}).text()})"


PAIRS = "(SELECT id, ok, STRUCT(NULLIF(a, 7) AS i, NULLIF(s, '') AS s) AS st, ARRAY(a, id) AS ar FROM t) AS q"
"""Structs and arrays, some with NULL inside: the smallest value in Spark, and in DuckDB the largest."""

ORDERED = [
    f"SELECT {item} FROM {PAIRS}{rest}"
    for item, rest in (
        ("MAX(st) AS m, MIN(st) AS n, MAX(ar) AS k, MIN(ar) AS l", ""),
        ("ok, MAX(STRUCT(st, ar)) AS m, MIN(ARRAY(st)) AS n", " GROUP BY ok"),
        ("SORT_ARRAY(COLLECT_LIST(st)) AS m, SORT_ARRAY(COLLECT_SET(ar), FALSE) AS n", ""),
        ("SORT_ARRAY(COLLECT_LIST(STRUCT(st.i, id))) AS m, ARRAY_SORT(COLLECT_LIST(ar)) AS n", ""),
        ("id, ROW_NUMBER() OVER (ORDER BY st, id) AS m, RANK() OVER (ORDER BY ar DESC) AS n", ""),
        ("id, MIN(st) OVER (PARTITION BY ok ORDER BY id) AS m", ""),
        ("MAX_BY(id, st) AS m, MIN_BY(id, ar) AS n, MIN_BY(id, STRUCT(st, id)) AS k", ""),
        ("id", " ORDER BY st, id LIMIT 2"),
        ("id", " ORDER BY ar DESC, id LIMIT 3"),
    )
]


@pytest.mark.parametrize("query", ORDERED)
def test_structs_and_arrays_with_null_inside_are_ordered_as_by_spark(
    query: str, systems: tuple[SparkSession, duckdb.DuckDBPyConnection]
) -> None:
    session, connection = systems
    expected = rows(session.sql(query).collect())
    # The engine has no plan for MAX_BY and LIMIT in the order of such a value.
    with suppress(UnsupportedError) if re.search("LIMIT|_BY", query) else nullcontext():
        bound = bind_query(query, WORLD, partial(type_of, session))
        assert not is_passed(bound)
        assert rows(connection.execute(of_plan(bound)).fetchall()) == expected
    # The translation of a text knows no types: it gives the same rows or none.
    with suppress(duckdb.Error):
        assert rows(connection.execute(translated(query)).fetchall()) == expected


def test_what_the_engine_maintains_means_the_same_in_its_own_text_for_duckdb(
    systems: tuple[SparkSession, duckdb.DuckDBPyConnection],
) -> None:
    session, connection = systems
    compared = 0
    for text in EXPRESSIONS:
        query = f"SELECT id, {text} AS c FROM t"
        try:
            bound = bind_query(query, WORLD, partial(type_of, session))
        except DynamicTablesError:
            continue
        if is_passed(bound):
            continue
        compared += 1
        expected = rows(session.sql(query).collect())
        assert rows(connection.execute(of_plan(bound)).fetchall()) == expected, text
    assert compared > 60


def batched(texts: list[str], size: int) -> list[list[str]]:
    """Parts of a list; Spark plans some short queries faster than a long one."""
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def test_queries_mean_in_duckdb_what_they_mean_in_spark(
    systems: tuple[SparkSession, duckdb.DuckDBPyConnection],
) -> None:
    session, connection = systems
    for query in QUERIES:
        expected = rows(session.sql(query).collect())
        assert rows(connection.execute(translated(query)).fetchall()) == expected, query


@pytest.mark.parametrize("text", WITHOUT)
def test_what_has_no_translation_is_refused(
    text: str, systems: tuple[SparkSession, duckdb.DuckDBPyConnection]
) -> None:
    session, connection = systems
    query = text if text.startswith("SELECT") else f"SELECT {text} AS r FROM t"
    session.sql(query).collect()
    with pytest.raises(duckdb.Error):
        connection.execute(translated(query)).fetchall()


@pytest.mark.parametrize("name", CASES)
def test_letters_have_the_case_that_they_have_in_spark(
    name: str, systems: tuple[SparkSession, duckdb.DuckDBPyConnection]
) -> None:
    change, texts, changed = as_spark(CASES[name]), [], []
    for letter in map(chr, (*range(1, 0xD800), *range(0xE000, sys.maxunicode + 1))):
        with suppress(ValueError):
            changed.append(change(f"{letter}A\u03a3{letter}"))
            texts.append(f"{letter}A\u03a3{letter}")
    assert len(texts) > 280_000
    frame = systems[0].createDataFrame(pa.table({"text": texts, "changed": changed}))
    assert frame.where(f"{name}(text) <> changed").take(3) == []


@pytest.mark.nightly
def test_no_example_of_spark_gets_another_answer(
    systems: tuple[SparkSession, duckdb.DuckDBPyConnection],
) -> None:
    session, connection = systems
    compared, wrong = 0, []
    for _, query in all_examples(session):
        if any(part in query.lower() for part in BY_SYSTEM):
            continue
        try:
            expected = rows(session.sql(query).collect())
            found = rows(connection.execute(translated(query)).fetchall())
        except (duckdb.Error, SqlglotError, PySparkException, Py4JJavaError):
            # Not answered is not answered wrongly.
            continue
        compared += 1
        if found != expected:
            wrong.append((query, expected, found))
    assert not wrong
    assert compared > 500
