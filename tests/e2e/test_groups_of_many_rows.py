"""Groups and partitions on Delta beside few changed rows, where the tables are more than literals.

Only there a refresh runs in stages: groups are reduced to those that the changed rows ask for, and what a
grouping makes of few rows runs first and filters the other side. At the top the stored rows are the old ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.sizes import Sizes
from tests.depth import some_of
from tests.views import assert_maintained, create_maintained, with_sizes

pytestmark = pytest.mark.spark

BEST = "(SELECT k, MAX(v) AS m FROM e GROUP BY k)"
TEXTS = (
    f"SELECT e.id, e.k, e.v FROM e JOIN {BEST} g ON e.k = g.k AND e.v = g.m",
    f"SELECT e.id, g.m FROM e LEFT JOIN {BEST} g ON e.v = g.k",
    f"SELECT e.id FROM e WHERE NOT EXISTS (SELECT 1 FROM {BEST} g WHERE g.k <=> e.k AND g.m > e.v)",
    "SELECT p.id, q.s FROM e p JOIN (SELECT id, SUM(v) OVER (PARTITION BY k) AS s, k FROM e) q "
    "ON p.k = q.k AND p.id = q.id + 40",
    "SELECT k, COUNT(DISTINCT v) AS n, AVG(d) AS a FROM e GROUP BY k HAVING COUNT(*) > 2",
    "SELECT COUNT(DISTINCT k) AS n, AVG(b) AS a FROM e",
    "SELECT k, AVG(b) AS a, COUNT(*) AS n FROM e GROUP BY k",
    "SELECT id, k, v, SUM(b) OVER (PARTITION BY k ORDER BY v, id) AS s, "
    "ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS p FROM e",
    "SELECT id, v, RANK() OVER (ORDER BY v DESC) AS r FROM e",
)
ROUNDS = (
    [
        "UPDATE e SET v = v + 3, b = -b WHERE id % 97 = 5",
        "INSERT INTO e VALUES (900, NULL, 7, 7, 1.5), (901, NULL, NULL, NULL, NULL), (902, 77, 1, 1, 0.25)",
    ],
    ["DELETE FROM e WHERE id % 89 = 3 OR id = 902", "UPDATE e SET k = 3, v = NULL WHERE id IN (8, 48, 901)"],
)


@pytest.mark.parametrize("texts", some_of(TEXTS, 4))
def test_groups_of_tables_with_many_rows_are_maintained(
    tmp_path: Path, spark: SparkSession, texts: list[str]
) -> None:
    account = with_sizes(tmp_path, spark, WallClock(), Sizes(literal_rows=100))
    account.create_base_table("e", {"id": "INT", "k": "INT", "v": "INT", "b": "BIGINT", "d": "DECIMAL(9,2)"})
    account.execute(
        "INSERT INTO e SELECT CAST(id AS INT), CAST(id % 40 AS INT), CAST(id * 37 % 101 AS INT), "
        "id * id - 5000, CAST(id / 7 AS DECIMAL(9,2)) FROM RANGE(400)"
    )
    create_maintained(account, texts)
    assert_maintained(account, texts, "e", ROUNDS)
