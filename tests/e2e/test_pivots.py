"""PIVOT and UNPIVOT: incremental, and what Spark gives, after each round of statements.

All in memory, where Spark runs the same plans as on Delta; two of them on Delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import WallClock
from tests.views import assert_maintained, create_maintained
from tests.written_in_memory import written_in_memory

pytestmark = [pytest.mark.nightly, pytest.mark.spark]


PIVOTS = (
    "SELECT * FROM (SELECT k, b, n FROM r) PIVOT (SUM(n) FOR b IN ('p', 'q' AS other))",
    # COUNT of no rows is NULL here, and 0 where the rows have no value.
    "SELECT * FROM (SELECT k, b, n FROM r) PIVOT (COUNT(n) FOR b IN ('p', 'q', NULL))",
    "SELECT * FROM (SELECT k, f, n FROM r) PIVOT (MAX(n) AS m, COUNT(*) AS c FOR f IN (true, false AS no))",
    "SELECT * FROM (SELECT n, k FROM r) PIVOT (COUNT(n) FOR k IN (1, 2, 3 AS three, -4))",
    # With an aggregate of another type COUNT of no rows is 0.
    "SELECT * FROM (SELECT b, f FROM r) PIVOT (MAX(b) AS m, COUNT(b) AS c FOR f IN (true, false))",
    "SELECT p.k, p.p FROM r AS w PIVOT (AVG(n) FOR b IN ('p', 'q')) AS p WHERE p.p > 0",
    "WITH w AS (SELECT k, b, x FROM r) SELECT SUM(p) AS s FROM w PIVOT (SUM(x) FOR b IN ('p'))",
    "SELECT * FROM (SELECT k, x, d FROM r) UNPIVOT (v FOR c IN (x, D))",
    "SELECT * FROM (SELECT k, x, d FROM r) UNPIVOT INCLUDE NULLS (v FOR c IN (x AS one, d))",
    "SELECT c, COUNT(*) AS m FROM r AS w UNPIVOT (v FOR c IN (n, x, d)) AS u JOIN r USING (k) GROUP BY c",
    "SELECT w.k, v FROM (SELECT k, x, d FROM r) AS w UNPIVOT (v FOR c IN (w.x, d)) WHERE v > 0.2",
    "SELECT /*+ BROADCAST(s), REPARTITION(2) */ r.k, s.b FROM r JOIN r AS s ON r.n = s.n",
)
ROUNDS = (
    (
        "INSERT INTO r VALUES (1, 'p', false, NULL, 7.5, 9.99), (4, 'z', NULL, 1, NULL, NULL)",
        "UPDATE r SET b = 'q', x = NULL, n = n + 1 WHERE k = 1",
    ),
    # No row has one of the values any more.
    ("DELETE FROM r WHERE b = 'p'", "DELETE FROM r WHERE f"),
)


def test_pivots_are_maintained(spark: SparkSession) -> None:
    with written_in_memory(spark) as account:
        assert_pivots_are_maintained(account, PIVOTS)


def test_pivots_are_maintained_on_delta_too(tmp_path: Path, spark: SparkSession) -> None:
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    assert_pivots_are_maintained(
        account, [text for text in PIVOTS if "COUNT(*) AS c" in text or "INCLUDE NULLS" in text]
    )
    account.store.close()  # type: ignore[attr-defined]


def assert_pivots_are_maintained(account: Account, texts: Sequence[str]) -> None:
    columns = {"k": "INT", "b": "STRING", "f": "BOOLEAN", "n": "INT", "x": "DOUBLE", "d": "DECIMAL(5,2)"}
    account.create_base_table("r", columns)
    account.execute(
        "INSERT INTO r VALUES (1, 'p', true, 1, 0.5, 1.25), (1, 'q', false, 2, NULL, NULL),"
        " (2, 'p', NULL, 3, 2.0, 3.75), (2, NULL, true, NULL, NULL, 0.10), (3, 'p', true, NULL, 1.5, NULL)"
    )
    create_maintained(account, texts)
    assert_maintained(account, texts, "r", ROUNDS)
