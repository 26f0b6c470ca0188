"""The translation of people's queries to DuckDB's SQL, compared with Spark's answers.

A query that is translated wrongly makes a correct dynamic table look wrong, or a wrong one right.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path

import duckdb
import pytest
import sqlglot
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot.errors import SqlglotError

from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.plan.dialects import DUCKDB
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


def test_what_the_engine_maintains_means_the_same_in_its_own_text_for_duckdb(
    systems: tuple[SparkSession, duckdb.DuckDBPyConnection],
) -> None:
    session, connection = systems
    kinds = {
        "d": decimal(3, 2) or DOUBLE,
        "s": STRING,
        "f": DOUBLE,
        "dt": DATE,
        "ok": BOOLEAN,
        "n": TIMESTAMP_NTZ,
    }
    names = ("id", "a", "d", "s", "f", "dt", "ok", "n")
    world = {"t": BaseTable("t", tuple((name, kinds.get(name, INT)) for name in names))}
    compared = 0
    for text in EXPRESSIONS:
        query = f"SELECT id, {text} AS c FROM t"
        try:
            bound = bind_query(query, world, partial(type_of, session))
        except DynamicTablesError:
            continue
        if is_passed(bound):
            continue
        compared += 1
        columns = ", ".join(DUCKDB.identifier(column.name) for _, column in bound.outputs)
        own = f"SELECT {columns} FROM ({render(bound.plan, DUCKDB, {'t': 't'}).text()})"
        expected = rows(session.sql(query).collect())
        assert rows(connection.execute(own).fetchall()) == expected, text
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
