"""Truth: values that Spark rounds to one result are as near to each other as `plan.rewrites.rounded` says."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.plan.nodes import Aggregate, walk
from dynamic_tables.plan.rewrites.rounded import rounded
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.sizes import Sizes
from tests.depth import some_of
from tests.views import assert_maintained, create_maintained, view_rows, with_sizes
from tests.written_in_memory import written_in_memory

pytestmark = pytest.mark.spark

ROUNDINGS = (
    *(
        "date_trunc('YEAR', ts)",
        "date_trunc('quarter', d)",
        "date_trunc('MONTH', nt)",
        "date_trunc('WEEK', ts)",
    ),
    *(
        "date_trunc('DAY', d)",
        "date_trunc('HOUR', ts)",
        "trunc(ts, 'MM')",
        "trunc(d, 'QUARTER')",
        "to_date(ts)",
    ),
    *("date(nt)", "year(ts)", "year(d)", "CAST(nt AS DATE)", "window(ts, '90 minutes')"),
    *("window(nt, '1 day', '1 day', '3 hours')", "n DIV 7"),
)


def test_what_has_one_result_lies_as_near_as_is_assumed(spark: SparkSession) -> None:
    """Rounded are the times of seven years, some of them a second before midnight, and numbers around 0."""
    with written_in_memory(spark) as account:
        account.create_base_table("e", {"ts": "TIMESTAMP", "nt": "TIMESTAMP_NTZ", "d": "DATE", "n": "INT"})
        account.execute(
            "INSERT INTO e SELECT t, CAST(t AS TIMESTAMP_NTZ), CAST(t AS DATE), CAST(id - 2500 AS INT) FROM "
            "(SELECT id, timestamp_seconds(1704067199 + (id DIV 2 - 1250) * 86400 + id % 2) AS t "
            "FROM RANGE(5000))"
        )
        view_rows(account, "e")
        session = account.read("e").sparkSession
        for text in ROUNDINGS:
            query = f"SELECT COUNT(*) AS c FROM e GROUP BY {text}"
            plan = bind_query(query, account.store.definitions(), account.store.type_of).plan  # type: ignore[attr-defined]
            (group,) = (node for node in walk(plan) if isinstance(node, Aggregate))
            found = rounded(group.keys[0][1])
            assert found is not None, text
            column, distance = found
            value = (
                column.name if isinstance(distance, int) else f"unix_micros(CAST({column.name} AS TIMESTAMP))"
            )
            spreads = session.sql(f"SELECT MAX({value}) - MIN({value}) AS s FROM e GROUP BY {text}").collect()
            most = max(row.s for row in spreads)
            assert most <= (
                distance if isinstance(distance, int) else distance / dt.timedelta(microseconds=1)
            ), text


def counted(key: str) -> str:
    """The query of the groups of a key."""
    return f"SELECT {key} AS k, COUNT(DISTINCT v) AS c FROM e GROUP BY {key}"


DAYS = counted("to_date(ts)")
WINDOWS = "SELECT window.end AS k, COUNT(DISTINCT v) AS c FROM e GROUP BY window(nt, '9 days')"
TEXTS = (
    *map(counted, ("date_trunc('MONTH', ts)", "CAST(nt AS DATE)", "n DIV 100", "window(nt, '1 day')")),
    f"SELECT k, c FROM ({counted('n DIV 100')}) QUALIFY RANK() OVER (PARTITION BY k ORDER BY c) = 1",
    f"SELECT k, c FROM ({WINDOWS}) QUALIFY RANK() OVER (PARTITION BY k ORDER BY c) = 1",
    # The best of each month, and days beside rows of them.
    f"SELECT k, c FROM ({DAYS}) QUALIFY RANK() OVER (PARTITION BY k ORDER BY c) = 1",
    f"SELECT e.v, g.c FROM e JOIN ({counted('n DIV 100')}) g ON e.n DIV 100 <=> g.k",
    f"SELECT p.c, q.c AS other FROM ({counted('CAST(nt AS DATE)')}) p LEFT JOIN ({DAYS}) q ON p.k = q.k",
    f"SELECT trunc(k, 'YEAR') AS y, MAX(c) AS c FROM ({DAYS}) GROUP BY trunc(k, 'YEAR')",
)
ROUNDS = (
    "UPDATE e SET ts = ts + INTERVAL 1 DAY, n = -n, v = v + 1 WHERE v % 17 = 3",
    "INSERT INTO e VALUES (NULL, NULL, NULL, NULL, 5), (TIMESTAMP'1969-12-31 23:59:59.999999', "
    "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', DATE'1969-12-31', -1, 9), "
    "(TIMESTAMP'0005-01-01 00:00:00', TIMESTAMP_NTZ'9998-12-31 23:59:59', DATE'9999-12-31', 2147483647, 1)",
    "DELETE FROM e WHERE n = -1 OR v = 5 OR ts < TIMESTAMP'1900-01-01 00:00:00'",
)


@pytest.mark.parametrize("texts", some_of(TEXTS, 3))
def test_groups_of_rounded_keys_are_maintained(tmp_path: Path, spark: SparkSession, texts: list[str]) -> None:
    """On Delta, and the rows of `e` are many: where all rows are few, no filter is made for them."""
    account = with_sizes(tmp_path, spark, WallClock(), Sizes(literal_rows=100))
    columns = {"ts": "TIMESTAMP", "nt": "TIMESTAMP_NTZ", "d": "DATE", "n": "INT", "v": "INT"}
    account.create_base_table("e", columns)
    account.execute(
        "INSERT INTO e SELECT t, CAST(t + INTERVAL 1 HOUR AS TIMESTAMP_NTZ), CAST(t AS DATE), "
        "CAST(id * 37 - 3000 AS INT), CAST(id AS INT) FROM "
        "(SELECT id, timestamp_seconds(1704067199 + (id - 80) * 86400 * 5) AS t FROM RANGE(160))"
    )
    create_maintained(account, texts)
    assert_maintained(account, texts, "e", [[statement] for statement in ROUNDS])
