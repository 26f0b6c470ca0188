"""Queries inside queries: the engine's increments for a text, compared with DuckDB's reading of it.

DuckDB unnests correlated subqueries by rules of its own, so neither the harness's IR nor the engine's binder
takes part in the truth. Every text here means the same in Spark's SQL and in DuckDB's.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from campaign.faults.fault import Fault, Subject
from campaign.faults.passing_time import FAULTS
from dynamic_tables.definition import RefreshMode
from dynamic_tables.errors import RefreshFailed
from engines.adapter import Transaction
from engines.in_memory import InMemoryPlatform
from engines.variant import Variant
from tests.depth import examples
from tests.ir import call, columns, table
from workload.dml import Delete, Dml, Insert
from workload.outcomes.trace import StoredRow
from workload.schema import Table
from workload.sql import Dialect
from workload.types import DATE, INT, TIMESTAMP_NTZ, Row, Value

pytestmark = pytest.mark.slow

R, S = table("r", k=INT, a=INT, d=DATE), table("s", k=INT, b=INT, t=TIMESTAMP_NTZ)
TABLES = {each.name: each for each in (R, S)}
HOUR = 3_600_000_000
START = 1_704_069_000_000_000
"""2024-01-01 00:30, among the times of the rows."""

ROUNDS = 4
"""Changes of the tables, each followed by a refresh."""

CONDITIONS = (
    "EXISTS (SELECT 1 FROM s WHERE r.a = r.a GROUP BY s.b)",
    "a IN (SELECT MAX(b) FROM s WHERE r.a = r.a AND s.k = r.k GROUP BY s.b)",
    "EXISTS (SELECT b FROM s WHERE s.k = r.k GROUP BY b HAVING COUNT(*) > 1)",
    "NOT EXISTS (SELECT b FROM s WHERE s.k = r.k GROUP BY b HAVING SUM(b) > 1)",
    "EXISTS (SELECT 1 FROM s WHERE s.k < r.k GROUP BY s.b HAVING COUNT(*) > 1)",
    "EXISTS (SELECT 1 FROM s WHERE s.k = r.k GROUP BY s.b HAVING MAX(s.b) > r.a)",
    "a IN (SELECT MAX(b) FROM s WHERE s.k = r.k GROUP BY s.b)",
    "a NOT IN (SELECT COUNT(*) FROM s WHERE s.k = r.k GROUP BY s.b)",
    "a IN (SELECT b FROM s WHERE s.k = r.k ORDER BY b DESC LIMIT 2)",
    "k = 1 OR EXISTS (SELECT b FROM s WHERE s.k <= r.k GROUP BY b HAVING COUNT(*) > 1)",
    "a > (SELECT COUNT(*) FROM s WHERE s.b < r.k)",
    "a = (SELECT MAX(b) FROM s WHERE s.k = r.k AND s.b <= r.a)",
    "a >= (SELECT DISTINCT 1 FROM s WHERE s.k = r.k)",
    "CASE WHEN a IN (SELECT b FROM s) THEN k > 1 ELSE k < 2 END",
    "CASE WHEN a NOT IN (SELECT b FROM s) THEN k > 1 ELSE k < 2 END",
    "EXISTS (SELECT 1 FROM s WHERE s.k = r.k HAVING COUNT(*) <> 1)",
    "a > 1 OR NOT EXISTS (SELECT MAX(b) FROM s WHERE s.k = r.k HAVING MAX(b) > 1)",
    "NOT EXISTS (SELECT 1 FROM s HAVING SUM(b) > 4)",
    "NOT IF(a IN (SELECT b FROM s WHERE s.k = r.k) AND k > 0, a > 0, k > 1)",
)
VALUES = (
    "(SELECT MAX(b) FROM s WHERE s.k < r.k)",
    "CASE WHEN a IN (SELECT b FROM s) THEN 1 WHEN k IN (SELECT b FROM s) OR a > 1 THEN 2 ELSE 3 END",
    "CASE WHEN NOT (a IN (SELECT b FROM s WHERE s.k = r.k) AND k > 0) THEN 1 ELSE 2 END",
    "(SELECT COUNT(*) FROM s WHERE s.k <> r.k OR s.b = r.a)",
    "(SELECT COUNT(*) + 1 FROM s WHERE s.k = r.k AND s.b > 0)",
    "(SELECT b FROM s WHERE s.k = r.k ORDER BY b DESC NULLS LAST LIMIT 1)",
    "(SELECT b FROM s WHERE s.k > r.k ORDER BY b NULLS FIRST LIMIT 1 OFFSET 1)",
    "(SELECT MAX(n) FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) AS g WHERE g.k = r.k)",
    "(SELECT DISTINCT k FROM s WHERE s.k = r.k)",
    "(SELECT k FROM s WHERE s.k = r.k)",
    "(SELECT SUM(b) FROM s WHERE s.k = r.k GROUP BY s.k)",
    "(SELECT SUM(b) FROM s WHERE s.k = r.k HAVING COUNT(*) <> 1)",
    "(SELECT COUNT(*) FROM s WHERE s.k < r.k HAVING COUNT(*) > 1 OR MAX(b) IS NULL)",
    "(SELECT 1 FROM s HAVING SUM(b) > 3)",
)
GROUPS = (
    "SELECT k, SUM(a) AS n FROM r GROUP BY k HAVING SUM(a) IN (SELECT b FROM s)",
    "SELECT k, SUM(a) AS n FROM r GROUP BY k HAVING SUM(a) NOT IN (SELECT b FROM s WHERE s.k = r.k)",
    "SELECT k, MAX(a) AS n FROM r GROUP BY k HAVING (k, MAX(a)) IN (SELECT k, b FROM s)",
    "SELECT k, SUM(a) AS n FROM r GROUP BY k HAVING n IN (SELECT b FROM s) OR k > 1",
    "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING COUNT(*) > (SELECT COUNT(*) FROM s WHERE s.k = r.k)",
    "SELECT k, MAX(a) AS n FROM r GROUP BY k HAVING MAX(a) >= (SELECT MIN(b) FROM s WHERE s.k <= r.k)",
    "SELECT k, SUM(a) * 10 + (SELECT COUNT(*) FROM s) AS n FROM r GROUP BY k",
    "SELECT k, SUM(a) AS n, (SELECT SUM(a) FROM r) AS every FROM r GROUP BY ROLLUP (k)",
    "SELECT k, a, COUNT(*) AS n FROM r GROUP BY CUBE (k, a) HAVING COUNT(*) IN (SELECT b FROM s)",
    "SELECT COUNT(*) AS n, (SELECT MAX(b) FROM s) AS m, EXISTS (SELECT 1 FROM s WHERE b > 2) AS e FROM r",
    "SELECT SUM(a) AS n FROM r HAVING SUM(a) > (SELECT SUM(b) FROM s) AND COUNT(*) NOT IN (SELECT k FROM s)",
    "SELECT SUM(a + (SELECT COUNT(*) FROM s WHERE s.k = r.k)) AS n FROM r",
    "SELECT k, COUNT(*) FILTER (WHERE a IN (SELECT b FROM s) OR k = 1) AS n, SUM(a) AS t FROM r GROUP BY k",
    "SELECT (SELECT MAX(b) FROM s WHERE s.k = r.k) AS m, COUNT(*) AS n FROM r GROUP BY 1",
    "SELECT k, (SELECT MAX(b) FROM s WHERE s.k = r.k) AS m, SUM(a) AS n FROM r GROUP BY ALL",
    "SELECT EXISTS (SELECT 1 FROM s WHERE s.k = r.k) AS e, COUNT(*) AS n FROM r GROUP BY e",
    "SELECT k, RANK() OVER (ORDER BY SUM(a) - (SELECT COUNT(*) FROM s)) AS n FROM r GROUP BY k "
    "QUALIFY COUNT(*) OVER () >= (SELECT MIN(b) FROM s)",
    "SELECT DISTINCT COUNT(*) - (SELECT b FROM s WHERE b = 3) AS n FROM r GROUP BY k",
)
KEYS = (
    "SELECT (SELECT COALESCE(MAX(b), 7) FROM s) AS m, k, COUNT(*) AS n FROM r GROUP BY CUBE (m, k)",
    "SELECT k, CASE WHEN SUM(a) IN (SELECT b FROM s) THEN 1 ELSE 0 END AS x FROM r GROUP BY ALL",
    "SELECT CASE WHEN SUM(a) IN (SELECT b FROM s) THEN 1 ELSE 0 END AS x FROM r",
    "SELECT 1 AS x FROM r HAVING EXISTS (SELECT 1 FROM s WHERE b > 2)",
    "SELECT EXISTS (SELECT 1 FROM s WHERE s.k = r.k) AS mark, COUNT(*) AS n FROM r GROUP BY mark",
    "SELECT k, SUM(a) AS mark FROM r GROUP BY k HAVING mark > 1 AND EXISTS (SELECT 1 FROM s WHERE s.k = r.k)",
    "SELECT (SELECT MAX(b) FROM s) AS m, COUNT(*) AS n FROM r GROUP BY (m)",
    "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING (SELECT b FROM s WHERE k = 1) > 2",
)
REPEATED = (
    "SELECT k, EXISTS (SELECT 1 FROM s WHERE s.k = r.k) AS e, "
    "CASE WHEN NOT EXISTS (SELECT 1 FROM s WHERE s.k = r.k) THEN a ELSE k END AS n FROM r",
    "SELECT k, CASE WHEN (SELECT MAX(b) FROM s WHERE s.k = r.k) > 1 THEN a "
    "ELSE (SELECT MAX(b) FROM s WHERE s.k = r.k) END AS n FROM r",
    "SELECT k, (SELECT MAX(b) FROM s) AS m, COUNT(*) + (SELECT MAX(b) FROM s) AS n FROM r GROUP BY k "
    "HAVING COUNT(*) < (SELECT MAX(b) FROM s)",
    "SELECT k, SUM((SELECT MAX(b) FROM s)) AS x, COUNT(*) + (SELECT MAX(b) FROM s) AS n FROM r GROUP BY k",
    "SELECT k, a FROM r WHERE a IN (SELECT b FROM s) AND k = 1 OR NOT (a IN (SELECT b FROM s)) AND k = 2",
)
QUERIES = (
    *GROUPS,
    *REPEATED,
    *KEYS,
    "SELECT k, a AS b FROM r ORDER BY -b, k LIMIT 3",
    "SELECT DISTINCT(k) FROM r ORDER BY r.k LIMIT 2",
    "SELECT r.k, b FROM r LEFT JOIN s USING (k) "
    "ORDER BY CASE WHEN k > 0 THEN k END NULLS FIRST, r.k NULLS FIRST, b NULLS FIRST LIMIT 1",
    "SELECT k, GROUPING(k) AS g, SUM(a) AS s FROM r GROUP BY ROLLUP(k) "
    "ORDER BY g DESC, CASE WHEN g = 0 THEN k END, s LIMIT 3",
    "SELECT k, SUM(a) AS s FROM r GROUP BY k ORDER BY SUM(a) DESC",
    "SELECT k, (SELECT COUNT(*) FROM s WHERE s.k = r.k LIMIT 1) AS n FROM r",
    "SELECT SUM(a) AS s, COUNT(*) AS n FROM r LIMIT 5",
    "SELECT DISTINCT k, a FROM r ORDER BY k IS NULL, a - k, k DESC, a LIMIT 4",
    "(SELECT k, a FROM r) UNION (SELECT k, b FROM s) ORDER BY a IS NULL, abs(a), k, a LIMIT 4",
    "SELECT r.k, a, l FROM r JOIN (VALUES (1, 'one'), (2, NULL), (1, 'uno')) AS v(c, l) ON r.k = v.c",
    "SELECT r.k, a, l FROM r FULL JOIN (VALUES (1, 'one'), (9, 'nine')) AS v(c, l) ON r.k = v.c",
    "SELECT k, a FROM r WHERE k NOT IN (SELECT c FROM (VALUES (1), (CAST(NULL AS INT))) AS v(c)) OR a > 1",
    "SELECT k FROM r UNION ALL SELECT 7 AS k",
    "SELECT k FROM r EXCEPT SELECT * FROM (VALUES (1), (3)) AS v(k)",
    "WITH c AS (SELECT 1 AS x UNION ALL SELECT 2) "
    "SELECT x, COUNT(a) AS n FROM c LEFT JOIN r ON k = x GROUP BY x",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM (SELECT a AS x FROM r UNION SELECT 1) AS q",
    "SELECT k, SUM(a) AS n FROM r GROUP BY ALL ORDER BY k, n IS NULL, MAX(r.d) LIMIT 2",
    "SELECT k, nth_value(k, 2) OVER (PARTITION BY a ORDER BY k) AS n FROM r",
    "SELECT r.k, b, last_value(r.k + 1) OVER (ORDER BY r.k) AS n FROM r FULL JOIN s ON r.a = s.b",
    "SELECT k, AVG(a) AS m FROM r GROUP BY k HAVING AVG(a) > 1",
    "SELECT k, AVG(a) AS m FROM r GROUP BY k ORDER BY m DESC, k LIMIT 2",
    "SELECT k, AVG(DISTINCT a) AS m, RANK() OVER (ORDER BY AVG(a)) AS n FROM r GROUP BY k",
    "SELECT m, COUNT(*) AS n FROM (SELECT AVG(a) AS m FROM r GROUP BY k) AS g GROUP BY m",
    "SELECT DISTINCT AVG(a) OVER (PARTITION BY k) AS m FROM r",
    "SELECT k, a FROM r WHERE a > (SELECT AVG(b) FROM s)",
    "SELECT k, a FROM r WHERE a >= (SELECT AVG(b) FROM s WHERE s.k = r.k)",
    "SELECT g.k, h.k AS l FROM (SELECT k, AVG(a) AS m FROM r GROUP BY k) AS g "
    "JOIN (SELECT k, AVG(b) AS m FROM s GROUP BY k) AS h ON g.m = h.m",
    *(f"SELECT k, a FROM r WHERE {condition}" for condition in CONDITIONS),
    *(f"SELECT k, a, {value} AS v FROM r" for value in VALUES),
    "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING EXISTS (SELECT 1 FROM s WHERE s.k = r.k)",
    "SELECT k, COUNT(*) AS n FROM r GROUP BY k HAVING k IN (SELECT b FROM s) OR COUNT(*) > 2",
    "SELECT k AS x, COUNT(*) AS n FROM r GROUP BY x HAVING k IN (SELECT b FROM s)",
    "SELECT k, EXISTS (SELECT 1 FROM s WHERE s.b = r.k) AS e, SUM(a) AS n FROM r GROUP BY ALL",
    "SELECT a AS k, RANK() OVER w AS n FROM r WINDOW w AS (ORDER BY d) QUALIFY RANK() OVER w > 1",
    "SELECT k, a, COUNT(*) AS n FROM r GROUP BY 1, a "
    "HAVING NOT EXISTS (SELECT 1 FROM s WHERE s.b > r.k + r.a)",
    "SELECT k, EXISTS (SELECT 1 FROM s WHERE s.b = r.k) AS e, SUM(a) AS n FROM r GROUP BY k",
    "SELECT r.k, s.b FROM r JOIN s ON r.k = s.k AND EXISTS (SELECT 1 FROM s AS t WHERE t.b = r.a)",
    "SELECT r.k, s.b FROM r LEFT JOIN s ON r.k = s.k AND EXISTS (SELECT 1 FROM r AS t WHERE t.a = s.b)",
    "SELECT k, COUNT(*) OVER w AS n FROM r "
    "WINDOW w AS (PARTITION BY (SELECT COUNT(*) FROM s WHERE s.k = r.k))",
    "SELECT k, a FROM r "
    "QUALIFY RANK() OVER (ORDER BY k) <= (SELECT COUNT(*) FROM s) OR a IN (SELECT b FROM s)",
    "SELECT r.k, s.b FROM r LEFT JOIN s ON r.k = s.k AND (r.a IN (SELECT b FROM s AS t) OR s.b > 1)",
    "SELECT r.k, s.b FROM r RIGHT JOIN s ON r.k = s.k AND NOT EXISTS (SELECT 1 FROM s AS t WHERE t.b = r.a)",
    "SELECT r.k, s.b FROM r FULL JOIN s ON r.k = s.k AND s.b >= (SELECT MIN(a) FROM r AS t)",
    "SELECT r.k, s.b FROM r LEFT JOIN s ON r.k = s.k "
    "AND EXISTS (SELECT 1 FROM s AS t WHERE t.k <= r.k GROUP BY t.b HAVING COUNT(*) > 1)",
    "SELECT r.k, s.b FROM r LEFT JOIN s ON r.k = s.k "
    "AND EXISTS (SELECT 1 FROM r AS t WHERE t.a < s.b GROUP BY t.k HAVING COUNT(*) > s.b)",
    "SELECT r.k, r.a, t.b FROM r, LATERAL (SELECT b FROM s WHERE s.k = r.k ORDER BY b LIMIT 2) AS t",
    "SELECT r.k, t.b, t.n FROM r LEFT JOIN LATERAL "
    "(SELECT b, COUNT(*) AS n FROM s WHERE s.k <= r.k GROUP BY b) AS t ON true",
    "SELECT r.k, r.a, t.b FROM r, LATERAL (SELECT DISTINCT s.b + r.a AS b FROM s WHERE s.k = r.k) AS t",
    "SELECT r.k, t.b, t.n FROM r, LATERAL "
    "(SELECT b, SUM(b) OVER (ORDER BY b) AS n FROM s WHERE s.k = r.k QUALIFY COUNT(*) OVER () > 1) AS t",
    "SELECT r.k, q.n FROM r, LATERAL (SELECT SUM(b) OVER () AS n FROM s WHERE s.k = r.k) AS q",
    "SELECT r.k, q.n FROM r LEFT JOIN LATERAL "
    "(SELECT COUNT(*) OVER (PARTITION BY s.b) AS n FROM s WHERE s.k = r.k) AS q ON true",
    "SELECT r.k, q.b, q.n FROM r, LATERAL "
    "(SELECT b, ROW_NUMBER() OVER (ORDER BY b, t) AS n FROM s WHERE s.k = r.k) AS q",
    "SELECT k, a FROM r WHERE EXISTS (SELECT COUNT(*) AS a FROM s WHERE s.k = r.k GROUP BY b HAVING a > 1)",
    "SELECT r.k, q.n FROM r, LATERAL (SELECT COUNT(*) AS tie FROM s WHERE s.k = r.k GROUP BY b) AS q (n)",
    "SELECT q.* FROM r, LATERAL (SELECT DISTINCT r.a, s.b FROM s WHERE s.k = r.k) AS q",
    "SELECT q.a FROM r, LATERAL (SELECT r.a, s.b FROM s WHERE s.k = r.k ORDER BY s.b LIMIT 1) AS q",
    "SELECT k, CASE WHEN k = 1 THEN (SELECT b FROM s WHERE s.k = r.k) ELSE 0 END AS v FROM r",
    "SELECT k FROM r WHERE EXISTS (SELECT NULL FROM s WHERE s.k = r.k GROUP BY b HAVING COUNT(*) > 1)",
    "SELECT k, SUM(a) OVER (ORDER BY d RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS n FROM r",
    "SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY t "
    "RANGE BETWEEN INTERVAL 120 MINUTE PRECEDING AND INTERVAL 30 MINUTES FOLLOWING) AS n FROM s",
    "SELECT k, MAX(b) OVER (ORDER BY t DESC "
    "RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW) AS n FROM s",
)
TIMED = (
    "SELECT k, b FROM s WHERE t > now() - INTERVAL 1 DAY",
    "SELECT k, b FROM s WHERE t BETWEEN localtimestamp() - INTERVAL 24 HOURS AND now()",
    "SELECT k, b FROM s WHERE NOT (t >= now() OR t < now() - INTERVAL 36 HOURS)",
    "SELECT k, b FROM s WHERE t <= now() IS NULL OR t = now() OR b > 2",
    "SELECT k, a FROM r WHERE d >= current_date() - INTERVAL 1 DAY",
    "SELECT k, a FROM r WHERE d = current_date() OR a = 1 AND d < current_date()",
    "SELECT k, a FROM r WHERE d < now() - INTERVAL 12 HOURS",
    "SELECT k, a FROM r WHERE datediff(current_date(), d) <= 1",
    "SELECT k, COUNT(*) AS n, MAX(b) AS m FROM s WHERE t > now() - INTERVAL 1 DAY GROUP BY k",
    "SELECT COUNT(*) AS n, SUM(b) AS m FROM s WHERE t > now() - INTERVAL 1 DAY",
    "SELECT DISTINCT b FROM s WHERE t < now()",
    "SELECT k, MAX(t) AS m FROM s GROUP BY k HAVING MAX(t) > now() - INTERVAL 1 DAY",
    "SELECT d, COUNT(*) AS n FROM r GROUP BY d HAVING d < current_date() AND COUNT(*) > 1",
    "SELECT k, b, ROW_NUMBER() OVER (PARTITION BY k ORDER BY t, b) AS n FROM s "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY t, b) = 1 AND t > now() - INTERVAL 1 DAY",
    "SELECT k, SUM(b) OVER (PARTITION BY k ORDER BY t) AS n FROM s WHERE t <= now()",
    "SELECT r.k, a, b FROM r JOIN s ON r.k = s.k AND t > now() - INTERVAL 1 DAY AND d <= current_date()",
    "SELECT r.k, a, b FROM r JOIN s ON r.k = s.k AND (t > now() OR d = current_date())",
    "SELECT r.k, a, b FROM r LEFT JOIN s ON r.k = s.k AND t > now() - INTERVAL 1 DAY",
    "SELECT r.k, a, b FROM r LEFT JOIN s ON r.k = s.k AND d < current_date() AND t < now()",
    "SELECT r.k, a, b FROM r FULL JOIN s ON r.k = s.k AND d >= current_date() WHERE t IS NULL OR t < now()",
    "SELECT k, a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k AND t > now())",
    "SELECT k, a FROM r WHERE k NOT IN (SELECT b FROM s WHERE t > now()) OR d = current_date()",
    "SELECT k, (SELECT COUNT(*) FROM s WHERE s.k = r.k AND t < now()) AS n FROM r",
    "SELECT k FROM s WHERE t < now() UNION ALL SELECT k FROM r WHERE d >= current_date()",
    "SELECT k FROM s WHERE t < now() EXCEPT SELECT k FROM r WHERE d >= current_date()",
    "SELECT k, b FROM s WHERE t < now() ORDER BY k NULLS FIRST, b NULLS FIRST LIMIT 2",
    "SELECT q.k, COUNT(*) AS n FROM (SELECT k, b AS c, t AS u FROM s WHERE b > 0) AS q "
    "WHERE u < now() GROUP BY q.k",
    "SELECT COUNT(*) AS n FROM r WHERE current_date() > DATE '2024-01-03'",
)
"""Queries that read the current time."""


class World:
    """The engine over two tables, and DuckDB over the same rows."""

    def __init__(
        self, query: str, seed: int, truth: duckdb.DuckDBPyConnection, variant: Variant | None = None
    ) -> None:
        self.query, self.random, self.now = query, random.Random(seed), START
        self.engine, self.truth = InMemoryPlatform(variant or Variant()).open(), truth
        for each in TABLES.values():
            self.engine.create_table(each, "")
            typed = ", ".join(f"{c.name} {c.type}".replace("_NTZ", "") for c in each.columns)
            self.truth.execute(f"CREATE OR REPLACE TABLE {each.name} ({typed})")
        for each in TABLES.values():
            self.write(Insert(each.name, tuple(self.row(each) for _ in range(4))))
        self.tick()
        self.engine.account.create_dynamic_table(
            "d", query, refresh_mode=RefreshMode.INCREMENTAL, initialize=False
        )

    def tick(self) -> int:
        # Of whole hours, as the times of the rows are: so some are exactly on a limit.
        self.now += self.random.choice((1, 1, 5, 24)) * HOUR
        self.engine.advance(self.now)
        return self.now

    def row(self, of: Table) -> Row:
        draw = self.random
        value = draw.choice((None, 0, 1, 1, 2, 3))
        day = dt.date(2024, 1, draw.randint(1, 4))
        at = dt.datetime.combine(day, dt.time(draw.randint(0, 5), 30))
        third: Value = day if of is R else at
        return (draw.choice((None, 0, 1, 1, 2)), value, third if draw.random() < 0.9 else None)

    def write(self, statement: Dml) -> None:
        at = self.tick()
        self.engine.commit(Transaction(at, (statement,), TABLES, Dialect.SPARK))
        match statement:
            case Insert(name, rows):
                marks = f"({', '.join('?' for _ in TABLES[name].columns)})"
                text = f"INSERT INTO {name} VALUES {', '.join(marks for _ in rows)}"
                self.truth.execute(text, [value for row in rows for value in row])
            case Delete(name, _):
                self.truth.execute(f"DELETE FROM {name} WHERE k = ?", [self.gone])

    def change(self) -> None:
        of = self.random.choice((R, S, S))
        if self.random.random() < 0.35:
            self.gone = self.random.choice((0, 1, 2))
            self.write(Delete(of.name, call("eq", columns(of)["k"], self.gone)))
        else:
            self.write(Insert(of.name, tuple(self.row(of) for _ in range(self.random.randint(1, 2)))))

    def expected(self) -> Counter[Row] | None:
        """The rows of the query; None where it fails."""
        try:
            return Counter(self.truth.execute(self.at_time()).fetchall())
        except duckdb.InvalidInputException:
            # A scalar subquery gives several rows.
            return None

    def at_time(self) -> str:
        """The query with the current time as a constant."""
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=self.now)  # noqa: DTZ001
        text = re.sub(r"(now|localtimestamp)\(\)", f"TIMESTAMP '{moment}'", self.query)
        text = re.sub(r"datediff\((.*?\)), d\)", r"(\1 - d)", text)
        return text.replace("current_date()", f"DATE '{moment.date()}'")

    def stored(self, name: str = "d") -> tuple[StoredRow, ...]:
        version = self.engine.newest(name)
        assert version is not None
        return self.engine.stored_version(self.engine.account.dynamic_table(name), version)

    def fresh(self) -> tuple[StoredRow, ...]:
        """The rows of a new dynamic table with the same query."""
        self.tick()
        self.engine.account.create_dynamic_table("fresh", self.query, refresh_mode=RefreshMode.INCREMENTAL)
        return self.stored("fresh")

    def refreshed(self) -> bool:
        """Refreshes the table; returns whether that succeeded."""
        try:
            self.engine.account.refresh("d", self.tick())
        except RefreshFailed:
            return False
        return True


@pytest.fixture(scope="module")
def truth() -> Iterator[duckdb.DuckDBPyConnection]:
    """One DuckDB for all texts, because it takes longer to open than to hold some rows."""
    null_order = "nulls_first_on_asc_last_on_desc"
    with duckdb.connect(config={"default_null_order": null_order, "threads": 1}) as connection:
        yield connection


@pytest.mark.parametrize("seed", range(examples(1)))
@pytest.mark.parametrize("query", QUERIES)
def test_increments_give_what_duckdb_reads_in_the_text(
    query: str, seed: int, truth: duckdb.DuckDBPyConnection
) -> None:
    world = World(query, seed, truth)
    try:
        for _ in range(ROUNDS):
            world.change()
            expected = world.expected()
            assert world.refreshed() == (expected is not None)
            if expected is not None:
                stored = world.stored()
                assert Counter(each.row for each in stored) == expected
                assert len({each.row_id for each in stored}) == len(stored)
        if expected is not None:
            assert Counter(world.fresh()) == Counter(world.stored())
    finally:
        world.engine.close()


@pytest.mark.parametrize("seed", range(examples(2)))
@pytest.mark.parametrize("query", TIMED)
def test_rows_come_and_go_as_time_passes(query: str, seed: int, truth: duckdb.DuckDBPyConnection) -> None:
    world = World(query, seed, truth)
    try:
        assert world.refreshed()
        for _ in range(2 * ROUNDS):
            before, changes = Counter(world.stored()), world.random.random() < 0.5
            if changes:
                world.change()
            (result,) = world.engine.account.refresh("d", world.tick())
            stored = world.stored()
            assert Counter(each.row for each in stored) == world.expected(), world.at_time()
            assert len({each.row_id for each in stored}) == len(stored)
            if not changes:
                same = Counter(stored) == before
                assert result.action.value == ("NO_DATA" if same else "INCREMENTAL")
        fresh = world.fresh()
        world.engine.account.refresh("d", world.now)
        assert Counter(fresh) == Counter(world.stored())
    finally:
        world.engine.close()


def is_wrong(query: str, truth: duckdb.DuckDBPyConnection, variant: Variant) -> bool:
    """Whether some refresh of a query fails, or gives other rows than DuckDB."""
    world = World(query, 0, truth, variant)
    try:
        for _ in range(2 * ROUNDS):
            if not world.refreshed() or Counter(each.row for each in world.stored()) != world.expected():
                return True
            world.change()
        return False
    finally:
        world.engine.close()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_in_passing_time_is_noticed(fault: Fault, truth: duckdb.DuckDBPyConnection) -> None:
    variant = fault.plant(Subject()).variant
    assert any(is_wrong(query, truth, variant) for query in TIMED)
