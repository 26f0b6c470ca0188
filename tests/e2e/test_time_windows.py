"""`window(ts, '10 minutes')` and `session_window`: incremental, and what Spark gives for the text.

In memory, where Spark runs the same plans as on Delta.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.views import assert_maintained, create_maintained
from tests.written_in_memory import written_in_memory

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

TEXTS = (
    "SELECT window.start, window.end, k, COUNT(*) AS n, SUM(v) AS s FROM e GROUP BY window(ts, '1 day'), k",
    "SELECT window(nt, '1 hour', '20 minutes') AS w, MAX(v) AS m, COUNT(DISTINCT k) AS d FROM e "
    "GROUP BY 1 HAVING COUNT(*) > 1",
    "SELECT id, window(ts, '1 day').start AS day FROM e WHERE v > 1",
    # The two best of each hour.
    "SELECT s, k, v FROM (SELECT window.start AS s, k, SUM(v) AS v FROM e GROUP BY window(ts, '1 hour'), k) "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY s ORDER BY v DESC, k) <= 2",
    "SELECT a.start AS s, a.n, b.m "
    "FROM (SELECT window.start, COUNT(*) AS n FROM e GROUP BY window(ts, '1 hour')) a LEFT JOIN "
    "(SELECT window.start, MAX(v) AS m FROM e WHERE k = 'a' GROUP BY window(ts, '1 hour')) b USING (start)",
)
SESSIONS = (
    "SELECT session_window.start, session_window.end, k, COUNT(*) AS n, SUM(v) AS s FROM e "
    "GROUP BY session_window(ts, '2 minutes'), k",
    "SELECT session_window(nt, '90 seconds') AS w, MAX(v) AS m, COUNT(DISTINCT k) AS d FROM e AS x "
    "WHERE x.v <> 3 GROUP BY 1 HAVING COUNT(*) > 1",
    "SELECT upper(q.k) AS u, v % 2 AS o, session_window, MIN(q.id) AS first FROM (SELECT * FROM e) AS q "
    "GROUP BY upper(q.k), v % 2, session_window(q.ts, '1 minute 30 seconds') "
    "HAVING session_window.end > TIMESTAMP'2000-01-01 00:00:00'",
    "SELECT k, COUNT(*) AS sessions, MAX(n) AS longest FROM (SELECT k, session_window.start AS s, "
    "COUNT(*) AS n FROM e GROUP BY session_window(ts, '2 minutes'), k) GROUP BY k",
    "SELECT to_date(ts) AS day, session_window.start AS s, COUNT(*) AS n FROM e "
    "GROUP BY to_date(ts), session_window(to_date(ts), '1 day')",
)
FIRST = (
    "INSERT INTO e SELECT CAST(id AS INT), substr('abc', 1 + id % 3, 1), CAST(id % 7 AS INT), "
    "timestamp_seconds(1700000000 + id * 397), CAST(timestamp_seconds(1700000000 + id * 211) AS TIMESTAMP) "
    "FROM RANGE(60)",
    # Rows without a time, and before 1970, where a remainder may be negative.
    "INSERT INTO e VALUES (900, 'a', 5, NULL, NULL), (901, 'b', 9, TIMESTAMP'1969-12-31 23:55:00.000001', "
    "TIMESTAMP_NTZ'1969-12-31 23:55:00')",
)
ROUNDS = (
    (
        "UPDATE e SET ts = ts + INTERVAL 10 MINUTES, nt = NULL WHERE id % 11 = 3",
        "DELETE FROM e WHERE id % 7 = 1",
    ),
    ("UPDATE e SET v = v + 1, k = 'a', ts = nt WHERE id < 20", "DELETE FROM e WHERE ts IS NULL"),
)


COLUMNS = {"id": "INT", "k": "STRING", "v": "INT", "ts": "TIMESTAMP", "nt": "TIMESTAMP_NTZ"}


def test_windows_of_time_are_maintained(spark: SparkSession) -> None:
    with written_in_memory(spark) as account:
        account.create_base_table("e", COLUMNS)
        account.execute(*FIRST)
        create_maintained(account, TEXTS)
        for statements in ROUNDS:
            assert_maintained(account, TEXTS, "e", [statements])
            assert all(account.read(f"d{number}").count() > 1 for number in range(len(TEXTS)))


# Several rows of one time, gaps of exactly 2 minutes, sessions that a row joins, splits, begins and ends.
OF_SESSIONS = (
    (
        "UPDATE e SET ts = ts + INTERVAL 60 SECONDS WHERE id % 11 = 3",
        "DELETE FROM e WHERE id % 7 = 1",
        "INSERT INTO e SELECT 1000 + id, 'a', 2, timestamp_seconds(1700000000 + id * 120), NULL "
        "FROM RANGE(5)",
    ),
    (
        "DELETE FROM e WHERE id = 1002",
        "UPDATE e SET k = 'b', nt = ts WHERE id % 5 = 0",
        "INSERT INTO e SELECT 2000 + id, NULL, 1, timestamp_seconds(1700000000 + id * 121), "
        "CAST(timestamp_seconds(1700000000 + id * 91) AS TIMESTAMP) FROM RANGE(4)",
    ),
    ("UPDATE e SET ts = NULL WHERE v = 2", "UPDATE e SET v = v + 1"),
)


def test_sessions_are_maintained(spark: SparkSession) -> None:
    with written_in_memory(spark) as account:
        account.create_base_table("e", COLUMNS)
        account.execute(
            "INSERT INTO e SELECT CAST(id AS INT), substr('abc', 1 + id % 3, 1), CAST(id % 7 AS INT), "
            "timestamp_seconds(1700000000 + id * id * 20 % 5000), "
            "CAST(timestamp_seconds(1700000000 + id * id * 30 % 4000) AS TIMESTAMP) FROM RANGE(90)",
            FIRST[1],
        )
        create_maintained(account, SESSIONS)
        for statements in OF_SESSIONS:
            assert_maintained(account, SESSIONS, "e", [statements])
            assert all(account.read(f"d{number}").count() > 1 for number in range(len(SESSIONS)))
