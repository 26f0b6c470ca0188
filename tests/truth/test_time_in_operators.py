"""The current time above and below each operator: rows come and go though no source changes."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import duckdb
import pytest

from engines.adapter import Transaction
from engines.in_memory import InMemory
from tests.ir import table
from workload.dml import Insert
from workload.sql import Dialect
from workload.sql.passing_time import text_at
from workload.types import INT, TIMESTAMP, Row

R = table("r", k=INT, v=INT, ts=TIMESTAMP)

CREATED, REFRESHED = 40, 155


def instant(at: int) -> dt.datetime:
    return dt.datetime.fromisoformat("1970-01-01") + dt.timedelta(microseconds=at)


ROWS: tuple[Row, ...] = (
    (1, 20, instant(100)),
    (1, 30, instant(50)),
    (2, 30, instant(500)),
    (3, 10, instant(155)),
    (3, 40, instant(40)),
)

QUERIES = (
    "SELECT k, v FROM r QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) = 1 AND ts >= now()",
    "SELECT k, v FROM (SELECT k, v, MAX(ts) OVER (PARTITION BY k) AS m FROM r) WHERE m < now()",
    "SELECT k, v FROM r QUALIFY MAX(ts) OVER (PARTITION BY k) < now() "
    "AND ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) = 1",
    "SELECT k, n FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM r WHERE ts < now()) "
    "WHERE n = 1",
    "SELECT * FROM (SELECT k, v, ts FROM r ORDER BY v, k LIMIT 3) WHERE ts < now()",
    "SELECT k, v FROM r WHERE ts < now() ORDER BY v, k LIMIT 1",
    "SELECT k, MAX(ts) AS m FROM r GROUP BY k HAVING MAX(ts) < now()",
    "SELECT k FROM (SELECT k, MAX(ts) AS m FROM r GROUP BY k) WHERE m < now()",
    "SELECT DISTINCT k FROM r WHERE ts < now()",
    "SELECT a.k FROM r a LEFT JOIN r b ON a.k = b.k AND b.ts < now() WHERE b.v IS NULL",
    "SELECT k FROM r a WHERE NOT EXISTS (SELECT 1 FROM r b WHERE b.k = a.k AND b.ts < now())",
    "SELECT a.k, b.v FROM r a LEFT JOIN r b ON a.k = b.k AND b.ts BETWEEN a.ts AND now()",
    "SELECT k FROM r a WHERE EXISTS (SELECT 1 FROM r b WHERE b.k = a.k AND b.ts NOT BETWEEN a.ts AND now())",
    "SELECT k FROM r WHERE ts < now() EXCEPT SELECT k FROM r WHERE v = 30 AND ts < now()",
    "SELECT k, COUNT(*) AS n FROM r WHERE v < 30 OR ts < now() GROUP BY ROLLUP(k)",
)


def due(query: str, at: int) -> Counter[Row]:
    """The rows that DuckDB gives the query with the time as a constant."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE r (k INTEGER, v INTEGER, ts TIMESTAMP)")
        connection.executemany("INSERT INTO r VALUES (?, ?, ?)", ROWS)
        return Counter(connection.execute(text_at(query, at)).fetchall())


@pytest.mark.parametrize("query", QUERIES)
def test_time_alone_changes_what_the_query_says(query: str) -> None:
    engine = InMemory()
    engine.create_table(R, "")
    engine.advance(30)
    engine.commit(Transaction(30, (Insert("r", ROWS),), {"r": R}, Dialect.SPARK))
    engine.advance(CREATED)
    defined = engine.account.create_dynamic_table("d", query)
    assert defined.incremental, defined.reason
    assert Counter(each.row for each in engine.stored("d", ())) == due(query, CREATED)
    engine.advance(REFRESHED)
    engine.account.refresh("d")
    assert due(query, CREATED) != due(query, REFRESHED)
    assert Counter(each.row for each in engine.stored("d", ())) == due(query, REFRESHED)
