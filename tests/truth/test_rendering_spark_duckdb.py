"""Spark and DuckDB give the same values and the same types for the two texts of one query.

This is what the renderer promises. The types must also be those that the query itself declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dynamic_tables.session import Settings, open_session
from tests.ir import Operand, columns, derived, select, union_all
from tests.truth import duckdb_truth, spark_truth
from tests.truth.matrix_queries import QUERIES
from tests.truth.matrix_scalars import MATRIX, scalar_query
from tests.truth.matrix_tables import RELATIONS, column_lists
from tests.truth.test_evaluator_against_duckdb import ERRORS
from tests.truth.values import canonical_rows
from workload.query import Query
from workload.schema import Column
from workload.scope import output_columns

BATCH = 16
pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def session() -> SparkSession:
    """A session of our own on the process's JVM, with the matrix as views; the JVM ends with the process."""
    session = open_session(app_name="rendering", settings=Settings.LASTING)
    spark_truth.load(session, RELATIONS)
    return session


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_truth.connect(RELATIONS) as connection:
        yield connection


def batches() -> Iterator[Query]:
    """The queries of the matrix, those of the same types in one UNION ALL, which saves jobs."""
    by_types: dict[str, list[Query]] = {}
    for number, query in enumerate(QUERIES.values()):
        declared = output_columns(query, column_lists())
        outputs: dict[str, Operand] = {"query": number, **columns(declared, "q")}
        by_types.setdefault(type_names(declared), []).append(select(outputs, derived(query, "q")))
    for queries in by_types.values():
        for start in range(0, len(queries), BATCH):
            yield union_all(*queries[start : start + BATCH])


def type_names(of: Sequence[Column]) -> str:
    """The types of columns as text."""
    return ", ".join(str(column.type) for column in of)


def assert_engines_agree(query: Query, session: SparkSession, database: duckdb.DuckDBPyConnection) -> None:
    on_spark, on_duckdb = spark_truth.answer(session, query), duckdb_truth.answer(database, query)
    assert duckdb_truth.shown_types(on_spark.columns) == duckdb_truth.shown_types(on_duckdb.columns)
    assert canonical_rows(on_spark.rows) == canonical_rows(on_duckdb.rows)


@pytest.mark.parametrize("function", MATRIX)
def test_function(function: str, session: SparkSession, database: duckdb.DuckDBPyConnection) -> None:
    query = scalar_query(MATRIX[function])
    assert type_names(spark_truth.columns_of(session, query)) == type_names(
        output_columns(query, column_lists())
    )
    assert_engines_agree(query, session, database)


@pytest.mark.parametrize("name", QUERIES)
def test_types_of_query(name: str, session: SparkSession, database: duckdb.DuckDBPyConnection) -> None:
    query = QUERIES[name]
    declared = output_columns(query, column_lists())
    assert type_names(spark_truth.columns_of(session, query)) == type_names(declared)
    shown = duckdb_truth.shown_types
    assert shown(duckdb_truth.answer(database, query).columns) == shown(declared)


@pytest.mark.parametrize("batch", list(batches()), ids=lambda batch: f"{len(batch.branches)} queries")
def test_values_of_queries(batch: Query, session: SparkSession, database: duckdb.DuckDBPyConnection) -> None:
    """The first column numbers the queries of the matrix."""
    assert_engines_agree(batch, session, database)


@pytest.mark.parametrize("name", ERRORS)
def test_what_has_no_value_raises_on_spark_too(name: str, session: SparkSession) -> None:
    with pytest.raises(PySparkException):
        spark_truth.answer(session, ERRORS[name])
