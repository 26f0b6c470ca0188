"""Spark's own scalar functions in an incremental definition: each is known, passed to Spark, or refused.

Spark's documentation has an example of nearly every function. Those over literals alone are bound here.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from functools import partial

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.definition import BaseTable
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.plan.expressions import Fn, walk
from dynamic_tables.plan.functions import PASSED
from dynamic_tables.plan.nodes import BoundQuery, Project, walk as nodes_of
from dynamic_tables.plan.types import INT
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.parse import NON_DETERMINISTIC, OUTSIDE
from dynamic_tables.store.names.texts import type_of
from tests.truth.examples_of_spark import examples

pytestmark = [pytest.mark.slow, pytest.mark.spark]

WORLD = {"r": BaseTable("r", (("a", INT),))}

ROWS = "inline inline_outer json_tuple posexplode posexplode_outer stack"
"""Functions that yield rows of several columns, which one alias does not name, or without a rule."""
TYPES = (
    "make_interval make_time time_diff time_from_micros time_from_millis time_from_seconds "
    "time_to_micros time_to_millis time_to_seconds time_trunc to_time "
    "try_make_interval try_to_time"
)
"""Functions of intervals and of the type TIME, which no column of a table may hold."""

NO_VALUE = "assert_true raise_error schema_of_avro"
"""Functions without a value that a column could hold."""


def is_one_expression(example: str) -> bool:
    """Tells whether an example is an expression without FROM."""
    # sqlglot does not read X '1010' with a blank in it; nor does anybody write it.
    return re.search(r"(?i)\b(from|over)\b|\bas\s+\w+$|X '", example) is None


def is_passed(query: BoundQuery) -> bool:
    items = [expr for node in nodes_of(query.plan) if isinstance(node, Project) for _, expr in node.items]
    return any(isinstance(part, Fn) and part.name == PASSED for expr in items for part in walk(expr))


def test_every_function_is_known_passed_or_refused(spark: SparkSession) -> None:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    session = spark.newSession()
    outcomes = defaultdict(set)
    for name, expression in examples(session).items():
        if not is_one_expression(expression):
            continue
        try:
            query = bind_query(f"SELECT {expression} AS v FROM r", WORLD, partial(type_of, session))
        except DynamicTablesError as error:
            outcomes["refused" if "does not depend on the data" in str(error) else "unknown"].add(name)
        else:
            outcomes["passed" if is_passed(query) else "known"].add(name)
    assert len(outcomes["known"]) > 30
    assert len(outcomes["passed"]) > 250
    assert not outcomes["passed"] & (OUTSIDE | NON_DETERMINISTIC)
    assert outcomes["refused"] <= NON_DETERMINISTIC
    # The first example of unix_timestamp is without arguments: the current time, which a refresh knows.
    assert "unix_timestamp" not in outcomes["refused"]
    expected = " ".join((ROWS, TYPES, NO_VALUE)).split()
    assert sorted(outcomes["unknown"]) == sorted([*expected, *(OUTSIDE - {"identifier"})])
