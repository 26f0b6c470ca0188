"""STRUCTs and ARRAYs as keys: of groups, of DISTINCT, of set operations, of partitions, of a LIMIT.

A row id holds each field and each element with its type and length. Values that are easily confused stand
side by side: NULL, a STRUCT of NULLs, an ARRAY of one NULL, an empty one, texts that imitate an id, 0.0 and
-0.0. In memory, where Spark runs the same plans as on Delta.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pytest
from pyspark.sql import SparkSession

from dynamic_tables.plan.dialects import DUCKDB, SPARK
from dynamic_tables.plan.expressions import Col, Fn
from dynamic_tables.plan.functions import FRAME
from dynamic_tables.plan.types import STRING, Kind, Type
from dynamic_tables.plan.written.render_expression import render_expression
from tests.depth import some_of
from tests.views import assert_maintained, create_maintained
from tests.written_in_memory import written_in_memory

pytestmark = pytest.mark.spark

COLUMNS = {
    "k": "INT",
    "s": "STRUCT<a: INT, b: STRING>",
    "l": "ARRAY<STRING>",
    "n": "ARRAY<STRUCT<x: DOUBLE, y: ARRAY<INT>>>",
    "ts": "TIMESTAMP",
}
TEXTS = (
    "SELECT s, COUNT(*) AS n, MAX(k) AS m FROM e GROUP BY s",
    "SELECT l, SUM(k) AS t FROM e GROUP BY l",
    "SELECT DISTINCT n FROM e",
    "SELECT DISTINCT s, l FROM e",
    "SELECT s FROM e WHERE k > 3 EXCEPT SELECT s FROM e WHERE k % 2 = 0",
    "SELECT l FROM e WHERE k > 3 INTERSECT SELECT l FROM e",
    "SELECT s FROM e UNION SELECT STRUCT(k % 2 AS a, 'x' AS b) FROM e",
    "SELECT k, ROW_NUMBER() OVER (PARTITION BY n ORDER BY k) AS place FROM e",
    "SELECT k, s FROM e ORDER BY s, k LIMIT 4",
    "SELECT COUNT(DISTINCT s) AS s, COUNT(DISTINCT l) AS l FROM e",
    "SELECT k, (SELECT COUNT(*) FROM e AS f WHERE f.s = e.s) AS c FROM e",
    "SELECT k FROM e WHERE l IN (SELECT f.l FROM e AS f WHERE f.k > 4)",
    "SELECT w, COUNT(*) AS c, MAX(n) AS m FROM (SELECT window(ts, '1 hour') AS w, s, COUNT(*) AS n FROM e "
    "GROUP BY window(ts, '1 hour'), s) GROUP BY w",
    "SELECT STRUCT(k % 3 AS r, s.b AS b) AS g, COUNT(*) AS c FROM e GROUP BY STRUCT(k % 3 AS r, s.b AS b)",
    "SELECT s, l, COUNT(*) AS c FROM e GROUP BY CUBE (s, l)",
)
ROUNDS = (
    (
        "INSERT INTO e VALUES "
        "(1, STRUCT(1, 'x'), ARRAY('a', 'b'), ARRAY(STRUCT(0.0D, ARRAY(1))), TIMESTAMP'2024-01-01 10:05:00'),"
        "(2, STRUCT(NULL, NULL), ARRAY('ab'), ARRAY(STRUCT(-0.0D, ARRAY(1))), TIMESTAMP'2024-01-01 10:10'),"
        "(3, NULL, ARRAY(), ARRAY(), NULL), (4, STRUCT(1, NULL), NULL, NULL, NULL),"
        "(5, STRUCT(NULL, 'n'), ARRAY(CAST(NULL AS STRING)), ARRAY(STRUCT(NULL, NULL)), NULL),"
        "(6, STRUCT(1, 's1:x'), ARRAY('a', NULL, 'b'), ARRAY(NULL), TIMESTAMP'2024-01-01 11:00:00'),"
        "(7, STRUCT(1, 'x'), ARRAY('as1:b'), ARRAY(STRUCT(double('NaN'), ARRAY())), NULL)",
    ),
    (
        "DELETE FROM e WHERE k IN (1, 5)",
        "UPDATE e SET l = ARRAY('a', 'b'), s = STRUCT(NULL, NULL) WHERE k = 3",
    ),
    (
        "INSERT INTO e SELECT k + 10, s, l, n, ts FROM e WHERE k < 6",
        "UPDATE e SET n = ARRAY(STRUCT(double('NaN'), ARRAY(NULL))), l = NULL WHERE k IN (6, 7)",
        "DELETE FROM e WHERE k = 2",
    ),
    ("UPDATE e SET s = NULL WHERE k > 10", "UPDATE e SET l = ARRAY(''), n = NULL WHERE k = 4"),
)


@pytest.mark.parametrize("texts", some_of(TEXTS, 4))
def test_nested_keys_are_maintained(spark: SparkSession, texts: list[str]) -> None:
    with written_in_memory(spark) as account:
        account.create_base_table("e", COLUMNS)
        create_maintained(account, texts)
        assert_maintained(account, texts, "e", ROUNDS)


DIFFERENT = {
    "ARRAY<STRING>": (
        "NULL",
        "[]",
        "[NULL]",
        "['']",
        "['n']",
        "['a', 'b']",
        "['ab']",
        "['as1:b']",
        "['a', NULL]",
    ),
    "ARRAY<ARRAY<INT>>": (
        "NULL",
        "[]",
        "[NULL]",
        "[[]]",
        "[[NULL]]",
        "[[1], [2]]",
        "[[1, 2]]",
        "[[1, 2], []]",
    ),
    "ARRAY<ARRAY<ARRAY<INT>>>": ("[[[]], []]", "[[[], []]]", "[[], [[]]]", "[[], [], []]", "[[[1]]]"),
    "STRUCT<a: STRING, b: STRING>": (
        *("NULL", "{'a': NULL, 'b': NULL}", "{'a': 'n', 'b': NULL}", "{'a': NULL, 'b': 'n'}"),
        *("{'a': 'a', 'b': 'b'}", "{'a': 'as1:b', 'b': ''}", "{'a': '', 'b': 'as1:b'}"),
    ),
}
"""Types, and values of each that are all different, as DuckDB writes them."""


@pytest.mark.parametrize("type_", DIFFERENT)
def test_different_values_have_different_ids(type_: str, spark: SparkSession) -> None:
    """In DuckDB, which runs the plans in memory, and in Spark."""
    column = Fn(FRAME, (Col("v", Type(Kind.OTHER, name=type_)),), STRING)
    values, name = DIFFERENT[type_], DUCKDB.other_type_name(type_)
    in_duckdb = union(f"CAST({value} AS {name})" for value in values)
    in_spark = union(f"CAST({in_words(value)} AS {type_})" for value in values)
    for ids in (
        duckdb.connect().execute(f"SELECT {render_expression(column, DUCKDB)} FROM ({in_duckdb})").fetchall(),
        spark.sql(f"SELECT {render_expression(column, SPARK)} AS i FROM ({in_spark})").collect(),
    ):
        assert len({row[0] for row in ids}) == len(values), ids


def union(values: Iterable[str]) -> str:
    """Returns rows of a column `v`."""
    return " UNION ALL ".join(f"SELECT {value} AS v" for value in values)


def in_words(value: str) -> str:
    """Returns a value that DuckDB reads as Spark reads it."""
    words = {"[": "ARRAY(", "]": ")", "{'a': ": "named_struct('a', ", "'b': ": "'b', ", "}": ")"}
    for bracket, word in words.items():
        value = value.replace(bracket, word)
    return value
