"""Truth: AVG(BIGINT) that is continued from hidden columns is the exact sum divided by the count.

Spark adds the values as doubles: up to 2**53 that is the same, and beyond its last bits depend on the order.
"""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.definition import DynamicTable
from dynamic_tables.store.port import Action
from tests.views import create_maintained, view_rows
from tests.written_in_memory import written_in_memory

pytestmark = pytest.mark.spark

EXACT = 2**53
GREATEST = 2**63 - 1

AVERAGE = "CAST(SUM(CAST({0} AS DECIMAL(20,0))) AS DOUBLE) / NULLIF(COUNT({0}), 0)"

TEXTS = (
    "SELECT k, {v} AS a FROM t GROUP BY k",
    "SELECT k, {v} AS a, MAX(v) AS m, MIN(w) AS l, SUM(w) AS s, {w} AS b FROM t GROUP BY k",
    "SELECT {w} AS a, COUNT(*) AS n FROM t",
)
ROUNDS = (
    # As doubles the sum of `beyond` is 2**53, and 2 more as integers; the sum of `far` is no BIGINT.
    (
        f"INSERT INTO t VALUES ('fits', {EXACT - 1}, 1), ('fits', -1, 2), ('fits', NULL, 3), "
        f"('beyond', {EXACT + 1}, 1), ('beyond', 1, 2), ('none', NULL, NULL), "
        f"('far', {GREATEST}, 1), ('far', {GREATEST - 1}, 2)",
    ),
    (
        f"UPDATE t SET v = 1 WHERE k = 'beyond' AND v = {EXACT + 1}",
        f"UPDATE t SET v = {EXACT + 1} WHERE k = 'fits' AND v = -1",
        f"DELETE FROM t WHERE v = {GREATEST}",
    ),
    # What cancels as doubles does not as integers: 2**63 - 1 and -(2**63 - 2).
    (
        f"INSERT INTO t VALUES ('far', -{GREATEST}, 4), ('none', 7, 1), ('beyond', NULL, 1)",
        "DELETE FROM t WHERE k = 'fits' AND v > 0",
    ),
    (
        f"DELETE FROM t WHERE v = -{GREATEST}",
        f"UPDATE t SET v = 3 WHERE v = {GREATEST - 1}",
        f"INSERT INTO t VALUES ('fits', {EXACT - 4}, 1), ('fits', -4, 1), ('fits', NULL, 2)",
        "DELETE FROM t WHERE k = 'none' AND v = 7",
    ),
    ("UPDATE t SET v = v + 1, w = w + 1", "DELETE FROM t WHERE k = 'beyond'"),
)


def test_averages_are_exact_beyond_what_doubles_hold(spark: SparkSession) -> None:
    written = [text.format(v="AVG(v)", w="AVG(w)") for text in TEXTS]
    exact = [text.format(v=AVERAGE.format("v"), w=AVERAGE.format("w")) for text in TEXTS]
    with written_in_memory(spark) as account:
        account.create_base_table("t", {"k": "STRING", "v": "BIGINT", "w": "BIGINT"})
        create_maintained(account, written)
        for statements in ROUNDS:
            account.execute(*statements)
            view_rows(account, "t")
            for number, text in enumerate(exact):
                assert account.refresh(f"d{number}")[-1].action is Action.INCREMENTAL
                found = account.read(f"d{number}")
                due = found.sparkSession.sql(text).collect()
                assert Counter(map(repr, found.collect())) == Counter(map(repr, due)), (statements, text)
        averaged = account.store.definitions()["d0"]
        assert isinstance(averaged, DynamicTable)
        assert "$STATE_0_avg" in dict(averaged.state)
