"""DuckDB with the settings of the oracle, loaded with given tables, and its answers as plain rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb

from tests.truth.bag_evaluator import Relation
from workload.query import Query
from workload.schema import Column
from workload.sql import Dialect, literal, render_query, type_name
from workload.types import TIMESTAMP, TIMESTAMP_NTZ, SqlType, array_of, parse_type

SPARK_NAMES = {"INTEGER": "INT", "VARCHAR": "STRING", "BLOB": "BINARY", "TIMESTAMP": "TIMESTAMP_NTZ"}


def connect(relations: Mapping[str, Relation]) -> duckdb.DuckDBPyConnection:
    """A database in memory with the relations as tables."""
    connection = duckdb.connect()
    connection.execute("SET default_null_order='nulls_first_on_asc_last_on_desc'")
    connection.execute("SET ieee_floating_point_ops=false")
    connection.execute("SET threads=1")
    for name, relation in relations.items():
        columns = ", ".join(f"{c.name} {type_name(c.type, Dialect.DUCKDB)}" for c in relation.columns)
        connection.execute(f"CREATE TABLE {name} ({columns})")
        if relation.rows:
            connection.execute(f"INSERT INTO {name} {values(relation, Dialect.DUCKDB)}")
    return connection


def values(relation: Relation, dialect: Dialect) -> str:
    """A VALUES clause with the relation's rows as literals."""
    types = [column.type for column in relation.columns]
    rows = (
        ", ".join(literal(value, type_, dialect) for value, type_ in zip(row, types, strict=True))
        for row in relation.rows
    )
    return "VALUES " + ", ".join(f"({row})" for row in rows)


def answer(connection: duckdb.DuckDBPyConnection, query: Query) -> Relation:
    """DuckDB's columns, with the types it chose itself, and rows. Raises duckdb.Error."""
    result = connection.sql(render_query(query, Dialect.DUCKDB))
    types = [sql_type(str(type_)) for type_ in result.types]
    columns = tuple(Column(name, type_) for name, type_ in zip(result.columns, types, strict=True))
    return Relation(columns, tuple(result.fetchall()))


def shown_types(columns: Iterable[Column]) -> str:
    """The types of columns as text, as far as DuckDB tells them apart: it has one type of timestamps here."""
    return ", ".join(str(TIMESTAMP_NTZ if c.type == TIMESTAMP else c.type) for c in columns)


def sql_type(duckdb_name: str) -> SqlType:
    """The type of a DuckDB type name."""
    if duckdb_name.endswith("[]"):
        return array_of(sql_type(duckdb_name.removesuffix("[]")))
    return parse_type(SPARK_NAMES.get(duckdb_name, duckdb_name))
