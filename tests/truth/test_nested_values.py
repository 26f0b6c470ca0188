"""Values of nested types: what their literals mean to Spark and DuckDB, and what is read of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from engines.memory.database import fetched
from engines.rows import rows_of
from generators.domains import ARRAY, DOMAINS, MAP, STRUCT
from oracle.delta_reader import read_rows
from oracle.duck import open_duckdb, run_typed
from workload.schema import Column
from workload.sql import Dialect, literal
from workload.types import INT, STRING, SqlType, Value, array_of, map_of, parse_type, struct_of

DEEP = array_of(struct_of(a=map_of(STRING, array_of(INT)), b=STRING))
DEEP_VALUES: tuple[Value, ...] = (
    (),
    (((("x", (1, None)), ("y", None)), "it's"), None),
    (((), None),),
)
VALUES: list[tuple[SqlType, tuple[Value, ...]]] = [
    *((type_, (None, *DOMAINS[type_.kind][0][1].values)) for type_ in (ARRAY, STRUCT, MAP)),
    (DEEP, DEEP_VALUES),
]
COLUMNS = tuple(Column(f"c{number}", type_) for number, (type_, _) in enumerate(VALUES))


def select_of(dialect: Dialect) -> str:
    """One row with each value of each type."""
    texts = [literal(value, type_, dialect) for type_, values in VALUES for value in values]
    return "SELECT " + ", ".join(f"{text} AS x{number}" for number, text in enumerate(texts))


EXPECTED = tuple(value for _, values in VALUES for value in values)
TYPES = [type_ for type_, values in VALUES for _ in values]


@pytest.mark.spark
def test_spark(spark: SparkSession) -> None:
    frame = spark.sql(select_of(Dialect.SPARK))
    assert [parse_type(field.dataType.simpleString()) for field in frame.schema.fields] == TYPES
    assert rows_of(frame) == [EXPECTED]


def test_duckdb_of_the_oracle_and_of_the_engine() -> None:
    text = select_of(Dialect.DUCKDB)
    columns = tuple(Column(f"x{number}", type_) for number, type_ in enumerate(TYPES))
    with open_duckdb() as connection:
        assert run_typed(connection, text, columns, "values") == (EXPECTED,)
    with duckdb.connect() as connection:
        assert list(fetched(connection.execute(text))) == [EXPECTED]


@pytest.mark.spark
def test_delta(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "nested"
    rows = [[values[number % len(values)] for _, values in VALUES] for number in range(8)]
    texts = [
        ", ".join(
            f"{literal(value, type_, Dialect.SPARK)} AS c{number}"
            for number, (value, (type_, _)) in enumerate(zip(row, VALUES, strict=True))
        )
        for row in rows
    ]
    union = " UNION ALL ".join(f"SELECT {text}" for text in texts)
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta AS {union}")
    assert sorted(map(repr, read_rows(path, 0, COLUMNS))) == sorted(repr(tuple(row)) for row in rows)
    assert all(one != other for one, other in pairwise(rows))
