"""Spark loaded with given tables as views, and its answers as plain rows."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from engines.rows import rows_of
from tests.truth.bag_evaluator import Relation
from tests.truth.duckdb_truth import values
from workload.query import Query
from workload.schema import Column
from workload.sql import Dialect, literal, render_query
from workload.types import parse_type


def load(session: SparkSession, relations: Mapping[str, Relation]) -> None:
    """The relations as temporary views; their types are those of the literals."""
    for name, relation in relations.items():
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {_text(relation)}")


def _text(relation: Relation) -> str:
    names = ", ".join(column.name for column in relation.columns)
    if relation.rows:
        return f"SELECT * FROM {values(relation, Dialect.SPARK)} AS literals({names})"
    nulls = ", ".join(f"{literal(None, c.type, Dialect.SPARK)} AS {c.name}" for c in relation.columns)
    return f"SELECT {nulls} WHERE FALSE"


def columns_of(session: SparkSession, query: Query) -> tuple[Column, ...]:
    """Spark's columns, with the types it chose itself; nothing runs."""
    fields = session.sql(render_query(query, Dialect.SPARK)).schema.fields
    return tuple(Column(field.name, parse_type(field.dataType.simpleString())) for field in fields)


def answer(session: SparkSession, query: Query) -> Relation:
    """Spark's columns and rows. Raises PySparkException."""
    rows = rows_of(session.sql(render_query(query, Dialect.SPARK)))
    return Relation(columns_of(session, query), tuple(rows))
