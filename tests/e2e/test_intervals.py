"""INTERVALs inside of definitions: distances of times on the way to what a table holds.

Gaps between events that begin a session are the commonest. On Delta, and with sizes that more than a few rows
go beyond, so that an INTERVAL is also a column of a stage that is fetched or kept by Spark.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.definition import RefreshMode
from dynamic_tables.errors import DefinitionError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.sizes import Sizes
from tests.depth import some_of
from tests.views import assert_maintained, create_maintained, with_sizes

pytestmark = pytest.mark.spark

GAPS = "SELECT id, k, ts, ts - LAG(ts) OVER (PARTITION BY k ORDER BY ts, id) AS gap FROM e"
TEXTS = (
    "SELECT id FROM (SELECT id, te - ts AS gap FROM e) WHERE gap > INTERVAL 1 HOUR",
    "SELECT id, k, SUM(CASE WHEN gap IS NULL OR gap > INTERVAL 30 MINUTES THEN 1 ELSE 0 END) OVER "
    f"(PARTITION BY k ORDER BY ts, id) AS session FROM ({GAPS})",
    "SELECT k, extract(DAY FROM MAX(gap)) AS days, SUM(gap) > INTERVAL 1 DAY AS long, "
    "CAST(AVG(gap) AS STRING) AS mean, MIN(gap) < INTERVAL 5 MINUTES AS short "
    f"FROM ({GAPS}) GROUP BY k",
    "SELECT e.id, CAST(g.most AS STRING) AS most FROM e "
    f"JOIN (SELECT k, MAX(gap) AS most FROM ({GAPS}) GROUP BY k) g ON e.k = g.k AND e.te - e.ts = g.most",
    "SELECT a.id, b.id AS other FROM e a LEFT JOIN (SELECT id, te - ts AS d, ts FROM e) b "
    "ON b.d > INTERVAL 2 HOURS AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 40 MINUTES",
    "SELECT id, CAST(gap AS STRING) AS gap FROM (SELECT id, te - ts AS gap FROM e UNION ALL "
    "SELECT id, ts - te FROM e WHERE k = 1)",
    "SELECT id, ts + gap AS again FROM (SELECT id, ts, te - ts AS gap FROM e)",
    "SELECT k, months > INTERVAL 5 MONTHS AS later FROM (SELECT k, "
    "make_ym_interval(0, CAST(k AS INT)) AS months FROM e)",
)
ROUNDS = (
    [
        "UPDATE e SET te = ts + INTERVAL 3 HOURS WHERE id % 41 = 5",
        "INSERT INTO e VALUES (900, NULL, NULL, NULL), (901, 3, TIMESTAMP'2024-03-01 00:00:00', NULL)",
    ],
    ["DELETE FROM e WHERE id % 37 = 3", "UPDATE e SET ts = ts - INTERVAL 5 DAYS WHERE id IN (8, 48)"],
)


@pytest.mark.parametrize("texts", some_of(TEXTS, 4))
def test_intervals_are_steps_on_the_way(tmp_path: Path, spark: SparkSession, texts: list[str]) -> None:
    account = with_sizes(tmp_path, spark, WallClock(), Sizes(literal_rows=60))
    account.create_base_table("e", {"id": "INT", "k": "INT", "ts": "TIMESTAMP", "te": "TIMESTAMP"})
    account.execute(
        "INSERT INTO e SELECT CAST(id AS INT), CAST(id % 7 AS INT), t, "
        "t + make_dt_interval(0, 0, id * 7 % 200) "
        "FROM (SELECT id, timestamp_seconds(1704067200 + id * 97 % 211 * 300) AS t FROM RANGE(200))"
    )
    create_maintained(account, texts)
    assert_maintained(account, texts, "e", ROUNDS)
    for shown in ("te - ts", "array(te - ts)", "named_struct('g', te - ts)", "map(id, te - ts)"):
        for mode in (RefreshMode.AUTO, RefreshMode.FULL):
            with pytest.raises(DefinitionError, match=r"gap .*interval day to second.*do not hold"):
                account.create_dynamic_table("gaps", f"SELECT id, {shown} AS gap FROM e", refresh_mode=mode)
