"""The engine's plan of a text gives the rows that Spark gives for the text, on made-up rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from pyspark.sql import SparkSession
from sqlglot.parsers.spark import SparkParser

from dynamic_tables.definition import BaseTable, Definition
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.parse import parse_query
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.store.names.catalog import parse_type
from dynamic_tables.store.names.relations import Workspace
from dynamic_tables.store.names.texts import type_of
from dynamic_tables.store.names.witness import misread

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def table(name: str, columns: str) -> BaseTable:
    pairs = (column.split() for column in columns.split(", "))
    return BaseTable(name, tuple((word, parse_type(type_) or pytest.fail(type_)) for word, type_ in pairs))


WORLD: dict[str, Definition] = {
    each.name: each
    for each in (
        table("r", "a INT, b STRING, f BOOLEAN, g BOOLEAN, h BOOLEAN, d DECIMAL(5,2), x DOUBLE, t DATE"),
        table("s", "a BIGINT, c STRING, g DECIMAL(10,4), h INT"),
        table("u", "a INT, h INT, z STRING"),
        table("keys_of_s", "a INT"),
        table("n", "a INT, x ARRAY<INT>, w ARRAY<STRING>, b STRING, z ARRAY<STRUCT<`p`:INT,`q`:STRING>>"),
        table("m", "a INT, m MAP<STRING,INT>"),
        table("e", "a INT, ts TIMESTAMP, nt TIMESTAMP_NTZ, d DATE"),
        table("rates", "a INT, p DECIMAL(4,4), q DECIMAL(3,2), w DECIMAL(9,0)"),
    )
}

TEXTS = """
TABLE u
TABLE u UNION ALL (TABLE u)
SELECT a FROM u WHERE a IN (TABLE keys_of_s)
WITH q AS (TABLE u) SELECT a FROM q WHERE EXISTS (TABLE s)
SELECT a FROM u WHERE EXISTS (SELECT 1 FROM r WHERE r.a = u.a LIMIT 1)
SELECT a FROM u WHERE NOT EXISTS (SELECT r.b FROM r WHERE r.a = u.a ORDER BY r.b LIMIT 3)
SELECT a, h FROM u LIMIT 0
SELECT a, h FROM u ORDER BY a, NULL, h, 'x', z LIMIT 1 + 1 OFFSET (2 - 1)
SELECT a, COUNT(NULL) AS n, COUNT(DISTINCT NULL) AS d FROM u GROUP BY a
SELECT COUNT(NULL) AS n FROM u
SELECT a, NULL AS x FROM u UNION ALL SELECT a, h FROM u
SELECT NULL AS a, z FROM u UNION SELECT a, NULL FROM u
SELECT a, NULL AS d FROM u EXCEPT SELECT a, d FROM r
(SELECT NULL, a FROM u) UNION ALL SELECT b, a FROM n UNION ALL SELECT NULL, h FROM u
SELECT window.end, COUNT(*) AS c FROM (SELECT window(ts, '1 hour') AS window FROM e) GROUP BY window.end
SELECT COUNT(window) AS n FROM (SELECT a, window(ts, '1 hour') AS window FROM e)
SELECT SUM(1) OVER w AS s FROM (SELECT window(d, '1 day') window FROM e) WINDOW w AS (PARTITION BY window.end)
SELECT a FROM u WHERE a IN (VALUES 1, 2, NULL)
SELECT a FROM u WHERE a NOT IN (VALUES 1, 2)
SELECT a, SUM(h) AS h FROM u GROUP BY a HAVING h > 0
SELECT h, MAX(z) AS z FROM u GROUP BY h HAVING z > '' OR z IS NULL
SELECT a + 1 AS a, COUNT(*) AS c FROM u GROUP BY a HAVING a > 1
SELECT a % 2 AS h, SUM(a) AS a FROM u GROUP BY h, 1 HAVING h > 0 AND a > 0
SELECT SUM(a) AS h FROM u GROUP BY h HAVING h > 0
SELECT * FROM (SELECT a, h, z FROM u) PIVOT (COUNT(z) FOR (a, h) IN ((1, 1) AS x, (2, NULL) AS y))
SELECT * FROM u PIVOT (MAX(z) AS m, COUNT(*) AS n FOR (a, h) IN ((1, 1) AS x, (0, -1) AS y))
SELECT a FROM u WHERE a + 1 > h AND NOT (a = h)
SELECT q.a FROM (SELECT CAST(a AS STRING) FROM r) AS q
SELECT CAST(a AS STRING) FROM u ORDER BY a LIMIT 3
SELECT CAST(u.a AS STRING), (h), z::INT FROM u ORDER BY h, a, z LIMIT 3
SELECT DISTINCT(a) FROM u ORDER BY a LIMIT 3
SELECT DISTINCT a, u.h FROM u ORDER BY u.a DESC, h LIMIT 3
SELECT a, h AS b, z FROM u ORDER BY -b, a LIMIT 3
SELECT h AS a, z FROM u ORDER BY a + 1, z LIMIT 3
SELECT a + h AS h FROM u ORDER BY abs(h) LIMIT 2
SELECT a, GROUPING(a) AS g FROM u GROUP BY ROLLUP(a) ORDER BY g DESC, CASE WHEN g = 0 THEN a END LIMIT 4
SELECT h, RANK() OVER (ORDER BY h) AS n FROM u ORDER BY n + 1 DESC LIMIT 3
SELECT a, SUM(h) AS s FROM u GROUP BY a ORDER BY MAX(h) DESC, SUM(h) + 1
SELECT MAX(h) AS m FROM u LIMIT 1
SELECT a + 1 AS b, b * 2 AS c, c - b AS d FROM u
SELECT a + 1 AS h, h * 2 AS c FROM u
SELECT h, SUM(a) AS s, s + h AS t, COUNT(*) AS n, s / n AS m FROM u GROUP BY h
SELECT a, RANK() OVER (ORDER BY a) AS k, k <= 2 AS first FROM u
SELECT a + 1 AS B, b * 10 AS c FROM u ORDER BY c, B LIMIT 3
SELECT r.a + 1 AS k, k + s.h AS v FROM r JOIN s ON r.a = s.a
SELECT a AS k, (SELECT MAX(h) FROM s WHERE s.a = u.a) AS m, k + 1 AS n FROM u
SELECT v.h AS x, COUNT(*) AS n FROM u AS v JOIN u USING (a) GROUP BY ALL ORDER BY 2, x IS NULL, x LIMIT 2
SELECT a, (SELECT MAX(h) FROM s LIMIT 1) AS m FROM u
SELECT a FROM r WHERE EXISTS (SELECT 1 FROM s WHERE r.f = r.g GROUP BY s.h)
SELECT a FROM r WHERE a IN (SELECT MAX(h) FROM s WHERE r.f = r.g AND s.a = r.a GROUP BY s.c)
SELECT a, e FROM n LATERAL VIEW explode(x) v AS e
SELECT a, e FROM n LATERAL VIEW OUTER explode(x) v e WHERE e > 1 OR e IS NULL
SELECT * FROM n LATERAL VIEW posexplode(x) v
SELECT a, v.* FROM n LATERAL VIEW OUTER posexplode(w) v AS p, e
SELECT a, v.*, y.* FROM n LATERAL VIEW explode(x) v AS e LATERAL VIEW OUTER explode(array(e, a)) y AS f
SELECT a, e, f FROM n LATERAL VIEW explode(x) v AS e LATERAL VIEW explode_outer(w) v AS f WHERE v.f <> 'a'
SELECT a, p, q FROM n LATERAL VIEW inline(z) v
SELECT a, v.c, d FROM n LATERAL VIEW OUTER inline(z) v AS c, d
SELECT a, explode(x) FROM n
SELECT *, explode_outer(x) AS e FROM n WHERE a > 0
SELECT a, posexplode(w) FROM n
SELECT a, posexplode_outer(w) AS (p, e) FROM n
SELECT explode(x) AS e, a, explode(w) AS f FROM n
SELECT a, inline_outer(z) FROM n
SELECT DISTINCT explode(x) AS e FROM n
SELECT a, explode(split(b, ',')) AS e FROM n WHERE a > 0
SELECT explode(array(a, a + 1, 7)) AS e FROM n ORDER BY e LIMIT 3
SELECT k, v FROM m LATERAL VIEW explode(m) w AS k, v
SELECT a, posexplode_outer(m) FROM m
SELECT a, e FROM n, LATERAL explode(n.x) AS v(e)
SELECT n.a, v.*, c FROM n LEFT JOIN LATERAL posexplode(x) v ON TRUE JOIN s ON s.a = v.col
SELECT n.a, v.col FROM n CROSS JOIN LATERAL explode(w) v
SELECT n.a, e FROM n JOIN LATERAL explode_outer(x) AS v(e) ON v.e > n.a OR e IS NULL
SELECT u.a, q.* FROM u, LATERAL (SELECT a AS k, c FROM s WHERE s.a = u.a) AS q
SELECT u.a, c, v FROM u, LATERAL (SELECT s.*, c || u.z AS v FROM s WHERE s.h < u.h AND s.c > 'a') AS q
SELECT u.a, q.* FROM u LEFT JOIN LATERAL (SELECT c, h + 1 AS i FROM s WHERE s.a = u.a) AS q ON q.i > 1
SELECT u.a, q.b, q.n FROM u, LATERAL (SELECT MAX(c) AS b, COUNT(*) AS n FROM s WHERE s.a = u.a) AS q
SELECT u.a, e, f FROM u, LATERAL (SELECT u.a + 1 AS e, u.h AS f) AS q WHERE q.e > 1
SELECT n.a, e FROM n, LATERAL (SELECT explode(x) AS e) AS q, LATERAL (SELECT c FROM s WHERE s.a = q.e) AS p
SELECT a FROM u WHERE EXISTS (SELECT 1 FROM n LATERAL VIEW explode(x) v AS e WHERE e = u.a)
SELECT e, COUNT(*) AS k FROM n LATERAL VIEW explode(w) v AS e GROUP BY e HAVING COUNT(*) > 1
SELECT n.a, s.c, e FROM n, s LATERAL VIEW explode(x) v AS e WHERE n.a = s.a AND e > 1
SELECT f = g < h AS v FROM r
SELECT f <=> g = h AS v, f != g <> h AS w FROM r
SELECT f = h IS NULL AS v, f = g IS NOT TRUE AS w FROM r
SELECT f = g IN (true, h) AS v, f < g NOT IN (false) AS w FROM r
SELECT f = g BETWEEN h AND true AS v, a NOT BETWEEN 1 AND 2 OR f AS w FROM r
SELECT f IS DISTINCT FROM g = h AS v, f IS NOT DISTINCT FROM g <> h AS w FROM r
SELECT NOT f = g AND h AS v, NOT f OR g = h AS w, !f = g AS y FROM r
SELECT b || 'x' LIKE '%x' AS v, b LIKE 'a' || '%' AS w, b NOT LIKE '_' AS y FROM r
SELECT 'a' || b || 'c' = 'abc' AS v, a + 1 * 2 - 3 % 2 AS w, -a * 2 AS y FROM r
SELECT a % 2 = 1 AND b > 'a' OR f AND NOT g AS v FROM r WHERE a <> 1 OR b == 'a'
SELECT d * 2 AS v, d * 2L AS w, d + 1.005 AS y, d * d * d * d * d * d AS z FROM r
SELECT a, c FROM r JOIN s USING (a)
SELECT * FROM r JOIN (SELECT a, b FROM r) AS q USING (b, a)
SELECT * FROM u JOIN (SELECT a, c FROM s) AS q USING (a)
SELECT a, u.a AS b, s.a AS d, z FROM u LEFT JOIN s USING (a)
SELECT a, u.a AS b, s.a AS d, z FROM u RIGHT JOIN s USING (a)
SELECT a, u.a AS b, s.a AS d, u.h FROM u FULL JOIN s USING (a)
SELECT * FROM u NATURAL JOIN s
SELECT * FROM u NATURAL LEFT JOIN (SELECT a, c FROM s) AS q JOIN (SELECT a, x FROM r) AS p USING (a)
SELECT q.*, u.z FROM (SELECT a, b FROM r) AS q, u WHERE q.a = u.a
SELECT * EXCEPT (d, x, t) FROM r
SELECT u.* EXCEPT (z), s.c FROM u CROSS JOIN s
SELECT COUNT(*) FILTER (WHERE a > 1) AS n, SUM(a) FILTER (WHERE f) AS m, MIN(b) AS o FROM r
SELECT f, COUNT(DISTINCT b) FILTER (WHERE a > 0) AS n FROM r GROUP BY ALL
SELECT a AS k, COUNT(*) AS a FROM u GROUP BY k HAVING COUNT(*) > 0
SELECT b, SUM(a) AS n FROM r GROUP BY 1 HAVING n > 0 ORDER BY n DESC
SELECT r.a, c, z FROM r, s, u WHERE r.a = u.a AND s.a = u.a AND (r.b > 'a' OR s.h = u.h) AND u.h < 9
SELECT * FROM u, (SELECT c FROM s) AS q, (SELECT b FROM r) AS p WHERE q.c = u.z AND p.b = q.c AND true
SELECT r.b, u.z FROM u CROSS JOIN r JOIN s ON s.a = r.a WHERE u.a + s.h = r.a OR r.b IS NULL
SELECT r.b, u.z FROM u, r LEFT JOIN s ON s.a = r.a WHERE u.a = s.h AND s.c = r.b
SELECT p.b, q.a FROM ((SELECT a FROM u) AS q RIGHT JOIN u AS w ON q.a = w.a) JOIN r AS p ON p.a = w.a
SELECT p * q AS v, p + w AS y, q < p AS z FROM rates WHERE w >= 0 OR p IS NULL
SELECT a FROM u UNION SELECT h FROM u ORDER BY 1
SELECT a * 1Y AS v, 1Y * d AS w, 10Y + d AS y, 1S * d AS z, -128Y AS o, -32768S AS p FROM r
SELECT b, COUNT(*) AS n FROM r GROUP BY ALL UNION (SELECT z, 1 FROM u)
SELECT IF(f, a, 7) AS v, NVL(b, 'none') AS w, IFNULL(a, 0) AS y, COALESCE(a, d) AS z FROM r
SELECT a::STRING AS v, CAST('1.50' AS DECIMAL(4,2)) AS w, '2024-01-31'::DATE AS y, 5L AS z FROM r
SELECT `A` AS `sélect`, "quoted" AS q FROM r AS `from` WHERE `from`.a = 1
WITH q AS (SELECT a FROM u), p AS (SELECT a FROM q WHERE a > 0) SELECT q.a FROM q, p WHERE q.a = p.a
SELECT DECODE(a, 1, 'x', NULL, 'y', b) AS v, DECODE(b, 'a', 1, NULL) AS w, DECODE(a, d, 1, 2) AS y FROM r
SELECT a FROM r WHERE b RLIKE '^a|b+' OR b NOT RLIKE '[^a]' OR regexp_like(b, 'x*')
SELECT a FROM u EXCEPT SELECT h FROM u INTERSECT SELECT a FROM r
SELECT a FROM u INTERSECT ALL SELECT a FROM s MINUS ALL SELECT h FROM u
SELECT a FROM u UNION ALL SELECT h FROM u EXCEPT SELECT a FROM r UNION SELECT h FROM s
SELECT * FROM u LEFT SEMI JOIN s USING (a)
SELECT * FROM u LEFT SEMI JOIN (SELECT h, c AS z FROM s) AS q USING (z, h)
SELECT * FROM u JOIN (SELECT a, c FROM s) q USING (a) ANTI JOIN (SELECT c FROM s WHERE h > 1) p USING (c)
SELECT a FROM u WHERE (h, a) IN (SELECT * EXCEPT (c, g) FROM s AS q) AND EXISTS (SELECT s.*, NULL FROM s)
SELECT a FROM u WHERE a IN ((SELECT a FROM s) UNION (SELECT h FROM s)) AND h < ((SELECT MAX(h) FROM s))
SELECT u.a, z FROM u ANTI JOIN r ON u.a = r.a AND r.f SEMI JOIN s ON s.h < u.h
SELECT a, z FROM u WHERE a IN (SELECT a FROM s) AND h NOT IN (SELECT h FROM s WHERE h IS NOT NULL)
SELECT a, z FROM u WHERE a NOT IN (SELECT h FROM s)
SELECT a, z FROM u WHERE (a, h) NOT IN (SELECT a, h FROM s)
SELECT a, z FROM u WHERE (a, h) IN (SELECT a, h FROM s WHERE c > 'a')
SELECT a, h FROM u WHERE EXISTS (SELECT 1 FROM s WHERE a = u.a AND h <> u.h)
SELECT a, h FROM u WHERE NOT EXISTS (SELECT * FROM r JOIN s ON r.a = s.a WHERE r.a = u.h OR r.f)
SELECT a FROM u WHERE a IN (SELECT MAX(a) FROM r GROUP BY b HAVING MAX(d) > 1) AND NOT h IN (SELECT a FROM r)
SELECT a FROM u WHERE EXISTS (SELECT a FROM s WHERE s.a IN (SELECT a FROM r WHERE f) AND s.h = u.h)
SELECT z, COUNT(*) AS n FROM u WHERE EXISTS (SELECT 1 FROM s WHERE s.a = u.a) GROUP BY z HAVING COUNT(*) < 9
SELECT a FROM r WHERE d IN (SELECT g FROM s) AND a >= 0
SELECT a FROM r WHERE a IN (SELECT d FROM r) AND d NOT IN (SELECT g FROM s WHERE g IS NOT NULL)
SELECT a, (SELECT MAX(h) FROM s WHERE s.a = u.a) AS m, (SELECT COUNT(*) FROM s WHERE s.a = u.a) AS n FROM u
SELECT a, (SELECT COUNT(c) + 1 FROM s WHERE u.a = s.a AND h > 0) AS n, (SELECT MIN(a) FROM r) FROM u
SELECT a FROM u WHERE a > (SELECT MIN(h) FROM s) AND h <= (SELECT SUM(h) FROM s WHERE s.a <=> u.a)
SELECT a FROM u WHERE h = (SELECT MIN(h) FROM s WHERE s.a = u.a) OR h > (SELECT COUNT(*) FROM s WHERE a = u.h)
SELECT z, SUM(h) AS n FROM u GROUP BY z HAVING SUM(h) > (SELECT MIN(h) FROM s) AND z <> 'a'
SELECT u.a FROM u, s WHERE u.a = s.a AND s.h > (SELECT MIN(q.h) FROM s AS q WHERE q.a = u.a)
SELECT a FROM u WHERE a IN (SELECT a FROM s WHERE h > (SELECT 0.5 * SUM(q.h) FROM s q WHERE q.a = s.a))
SELECT a, h FROM s ORDER BY h DESC, a LIMIT 3
SELECT a, h FROM s ORDER BY 2 NULLS LAST, 1 DESC LIMIT 2 OFFSET 1
SELECT a AS h, h AS a FROM s ORDER BY a DESC NULLS FIRST, h LIMIT 3
SELECT a, COUNT(*) AS n FROM s GROUP BY a ORDER BY n DESC, a LIMIT 2
SELECT a FROM s UNION SELECT a FROM u ORDER BY a DESC LIMIT 2
SELECT COUNT(*) AS n, MAX(a) AS m FROM (SELECT a, h FROM s ORDER BY a DESC, h OFFSET 1) AS q
SELECT AVG(CAST(a AS DECIMAL(8, 2)) + 0.005) AS m FROM s
SELECT h, AVG(DISTINCT CAST(a AS DECIMAL(18, 6)) * 0.7) AS m FROM s GROUP BY h
SELECT h, COUNT_IF(a > 1) AS n, bool_and(a > 1) AS b, bool_or(a IS NULL) AS c FROM s GROUP BY h
WITH t (h, b) AS (SELECT a, h FROM s) SELECT b, h FROM t WHERE h > 1
SELECT q.z, t.b FROM (SELECT a, COUNT(*) FROM s GROUP BY a) AS q (z, n) JOIN u AS t (b, z, w) ON q.z = t.b
SELECT COUNT(*) FILTER (WHERE h IS NULL) AS n, COUNT(DISTINCT a) FILTER (WHERE h > 1) AS d FROM s
SELECT a, bool_and(h > 0) FILTER (WHERE a > 1) AS b FROM s GROUP BY a HAVING COUNT_IF(h > 2) < 2
SELECT a, RANK() OVER (PARTITION BY b ORDER BY a) AS n, dense_rank() OVER (ORDER BY a DESC) AS m FROM r
SELECT percent_rank() OVER (ORDER BY a) AS p, CUME_DIST() OVER (ORDER BY a NULLS LAST) AS c FROM r
SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n FROM (SELECT DISTINCT a, b FROM r)
SELECT ntile(3) OVER w AS n, LAG(a) OVER w AS p FROM (SELECT DISTINCT a, b FROM r) WINDOW w AS (ORDER BY a, b)
SELECT lead(b, 2, 'z') OVER (ORDER BY a, b DESC) AS p FROM (SELECT DISTINCT a, b FROM r)
SELECT FIRST_VALUE(h) OVER w AS p, nth_value(h, 2) OVER w AS q FROM u WINDOW w AS (PARTITION BY a ORDER BY h)
SELECT last_value(h) IGNORE NULLS OVER (PARTITION BY a ORDER BY h DESC) AS p FROM u
SELECT last(h, true) OVER (PARTITION BY a ORDER BY h DESC) AS p FROM u
SELECT SUM(a) OVER (PARTITION BY b) AS s, AVG(d) OVER (PARTITION BY b) AS m, COUNT(*) OVER () AS n FROM r
SELECT a, MAX(x) OVER (ORDER BY a) AS m, SUM(d) OVER (PARTITION BY f ORDER BY t) AS s FROM r
SELECT SUM(a) OVER (PARTITION BY f ORDER BY a RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS s FROM r
SELECT COUNT(b) OVER (ORDER BY t RANGE BETWEEN 30 PRECEDING AND CURRENT ROW) AS n FROM r
SELECT SUM(h) OVER (ORDER BY a, h ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM u
SELECT MIN(d) OVER (ORDER BY a, d ROWS 2 PRECEDING) AS m FROM (SELECT DISTINCT a, d FROM r)
SELECT b, RANK() OVER (ORDER BY COUNT(*) DESC) AS k, SUM(SUM(a)) OVER () AS t FROM r GROUP BY b
SELECT b, SUM(a) AS s FROM r GROUP BY b HAVING COUNT(*) > 1 QUALIFY RANK() OVER (ORDER BY b) < 3
SELECT a, b FROM (SELECT DISTINCT a, b FROM r) QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) = 1
SELECT b, MAX(a) AS m FROM r GROUP BY b QUALIFY SUM(m) OVER () > 3 AND rank() OVER (ORDER BY m) < 3
SELECT b, a + 1 AS m FROM r QUALIFY SUM(m) OVER (PARTITION BY b) > 2
SELECT a, dense_rank() OVER (ORDER BY b) AS k FROM r QUALIFY k = 2 OR MAX(a) OVER (PARTITION BY f) = a
SELECT DISTINCT b, COUNT(*) OVER (PARTITION BY b) + 1 AS n FROM r
SELECT a, CASE WHEN SUM(a) OVER (PARTITION BY b) > 2 THEN 'x' ELSE b END AS c FROM r
SELECT a, COUNT(*) FILTER (WHERE f) OVER (PARTITION BY b) AS n FROM r
SELECT a, b FROM r WHERE f OR EXISTS (SELECT 1 FROM u WHERE u.a = r.a)
SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a = r.a) AS e FROM r
SELECT a, NOT EXISTS (SELECT * FROM u WHERE u.h < r.a) AS e FROM r
SELECT a FROM r WHERE NOT (a IN (SELECT a FROM u) OR f)
SELECT a FROM r WHERE NOT (a NOT IN (SELECT h FROM u) AND f)
SELECT a FROM r WHERE a NOT IN (SELECT h FROM u) OR b = 'a'
SELECT CASE WHEN a NOT IN (SELECT h FROM u) THEN 1 WHEN NOT (a IN (SELECT a FROM u) AND f) THEN 2 END c FROM r
SELECT a, IF(NOT (a IN (SELECT h FROM u) OR f), FALSE, TRUE) AS c FROM r
SELECT b, COUNT(CASE WHEN (a, b) NOT IN (SELECT h, z FROM u) THEN 1 END) AS n FROM r GROUP BY b
SELECT a FROM r WHERE CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.h >= r.a) THEN 1 ELSE 2 END = 2
SELECT b, SUM(CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.a = r.a) THEN 1 ELSE 0 END) AS n FROM r GROUP BY b
SELECT a FROM r WHERE (a, b) IN (SELECT a, z FROM u) OR (SELECT MAX(h) FROM u) = a
SELECT a FROM r WHERE EXISTS (SELECT 1 FROM u WHERE u.a = r.a AND (u.h = 1 OR EXISTS (SELECT 1 FROM s)))
SELECT a FROM r WHERE EXISTS (SELECT any(f) FROM r WHERE a > 1000)
SELECT a FROM r WHERE EXISTS (SELECT h FROM u WHERE u.a = r.a GROUP BY h HAVING COUNT(*) > 1)
SELECT a FROM r WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.h < r.a GROUP BY u.z HAVING MAX(u.h) > r.a)
SELECT a FROM r WHERE a IN (SELECT MAX(h) FROM u WHERE u.z = r.b GROUP BY u.a)
SELECT a FROM r WHERE a NOT IN (SELECT COUNT(*) FROM u WHERE u.a >= r.a GROUP BY u.h)
SELECT a FROM r WHERE a IN (SELECT h FROM u WHERE u.a = r.a ORDER BY h DESC, z LIMIT 2)
SELECT a FROM r WHERE f OR EXISTS (SELECT h FROM u WHERE u.a <= r.a GROUP BY ALL HAVING COUNT(*) > 1)
SELECT a, (SELECT MAX(h) FROM u WHERE u.a < r.a) AS m FROM r
SELECT a, t, (SELECT COUNT(*) FROM u WHERE u.a < r.a OR u.z = r.b) AS m FROM r
SELECT a, (SELECT h FROM u WHERE u.a = r.a ORDER BY h DESC LIMIT 1) AS m FROM r
SELECT a, (SELECT h FROM u WHERE u.a = r.a ORDER BY h, z LIMIT 1 OFFSET 1) AS m FROM r
SELECT a, (SELECT DISTINCT a FROM u WHERE u.a = r.a) AS m FROM r
SELECT a, (SELECT SUM(g) FROM s WHERE s.a = r.a GROUP BY s.a) AS m FROM r
SELECT a, COUNT(*) AS n FROM r GROUP BY a HAVING EXISTS (SELECT 1 FROM u WHERE u.a = r.a)
SELECT a AS y, COUNT(*) AS n FROM r GROUP BY y HAVING a IN (SELECT h FROM u)
SELECT a, 1 AS one, COUNT(*) AS n FROM r GROUP BY ALL HAVING NOT EXISTS (SELECT 1 FROM u WHERE u.a = r.a)
SELECT b AS a, RANK() OVER w AS n, MAX(d) OVER (w) AS m FROM r WINDOW w AS (PARTITION BY f ORDER BY a)
SELECT a, (SELECT x FROM (SELECT a, sort_array(collect_list(h)) x FROM u GROUP BY a) q WHERE q.a = r.a) FROM r
SELECT q.y.e AS e, y.F FROM (SELECT struct(a AS e, b AS f, d) AS y FROM r) AS q WHERE y.e > 0
SELECT MAX(y.d) AS m, y.g FROM (SELECT named_struct('d', d, 'g', f) AS y FROM r) GROUP BY y.g
SELECT q.y.z.e AS e FROM (SELECT named_struct('z', struct(a AS e)) AS y FROM r) AS q
SELECT a, c.e FROM r LATERAL VIEW OUTER inline(array(struct(a AS e), named_struct('e', a + 1))) c AS e
SELECT x FROM n UNION ALL SELECT sort_array(collect_set(a)) FROM u GROUP BY z
SELECT a, b, COUNT(*) AS n FROM r GROUP BY 1, b HAVING a IN (SELECT h FROM u) OR COUNT(*) > 1
SELECT a, EXISTS (SELECT 1 FROM u WHERE u.h > r.a) AS e, COUNT(*) AS n FROM r GROUP BY a
SELECT r.a, s.c FROM r JOIN s ON r.a = s.a AND EXISTS (SELECT 1 FROM u WHERE u.a = s.h)
SELECT r.a, q.h FROM r, LATERAL (SELECT h FROM u WHERE u.a = r.a ORDER BY h DESC, z LIMIT 2) AS q
SELECT r.a, q.h, q.n FROM r LEFT JOIN LATERAL (SELECT h, COUNT(*) n FROM u WHERE u.a <= r.a GROUP BY h) q
SELECT r.a, q.h FROM r, LATERAL (SELECT DISTINCT u.h FROM u WHERE u.a = r.a) AS q
SELECT a, SUM(a) OVER (ORDER BY t RANGE BETWEEN INTERVAL 2 DAYS PRECEDING AND CURRENT ROW) AS n FROM r
SELECT a, COUNT(*) OVER (PARTITION BY b ORDER BY t DESC RANGE INTERVAL '1' MONTH PRECEDING) AS n FROM r
SELECT a, MAX(a) OVER (ORDER BY CAST(t AS TIMESTAMP) RANGE INTERVAL 36 HOURS PRECEDING) AS n FROM r
SELECT b, COUNT(*) AS n FROM r GROUP BY b ORDER BY MAX(a) DESC, b LIMIT 2
SELECT b, f, COUNT(*) AS n, SUM(a) AS s FROM r GROUP BY ROLLUP (b, f)
SELECT b, f, COUNT(b) AS n, GROUPING(b) AS g, GROUPING_ID() AS i FROM r GROUP BY CUBE (b, f)
SELECT b, f, a, MAX(d) AS m, GROUPING_ID(b, f, a) AS i FROM r GROUP BY GROUPING SETS ((b, f), (a), ())
SELECT b, f, COUNT(*) AS n, GROUPING_ID() AS i FROM r GROUP BY GROUPING SETS ((f), (b, f), ())
SELECT b, f, COUNT(*) AS n, GROUPING_ID() AS i FROM r GROUP BY ROLLUP (f), b
SELECT b, f, COUNT(*) AS n FROM r GROUP BY b, ROLLUP (f)
SELECT b, f, COUNT(*) AS n FROM r GROUP BY b, f WITH CUBE
SELECT b, f, COUNT(*) AS n FROM r GROUP BY b, f GROUPING SETS ((b), (b, f), (b))
SELECT COALESCE(b, 'all') AS k, COUNT(DISTINCT a) AS n FROM r GROUP BY ROLLUP (b), CUBE (f) HAVING MAX(a) > 1
SELECT upper(b) AS k, SUM(CASE WHEN b IS NULL THEN 1 ELSE 0 END) AS s FROM r GROUP BY ROLLUP (upper(b))
SELECT b, COUNT(*) AS n FROM r WHERE a > 1000 GROUP BY ROLLUP (b)
SELECT COUNT(*) AS n FROM r WHERE a > 1000 GROUP BY GROUPING SETS (())
SELECT b, COUNT(*) AS n FROM r GROUP BY ROLLUP (b, (a <= 1) AND f)
SELECT b, COUNT(*) AS n FROM r GROUP BY GROUPING SETS (b, (a <= 1) OR f, (b, NOT f, a > 1 AND f))
SELECT b, COUNT(*) AS n FROM r GROUP BY b, CUBE ((a, f), a IN (1, 2))
SELECT b, RANK() OVER (PARTITION BY GROUPING(b) ORDER BY COUNT(*)) AS k FROM r GROUP BY ROLLUP (1)
SELECT b AS c, f, COUNT(*) AS n FROM r GROUP BY ROLLUP (c, f) HAVING GROUPING(f) = 1
SELECT a, h, z, COUNT(*) AS n FROM u GROUP BY ROLLUP ((a, h), z)
SELECT a, h, COUNT(*) AS n FROM u GROUP BY GROUPING SETS (a, ROLLUP (h), (a, h))
SELECT q.k, u.z FROM (SELECT a, RANK() OVER (ORDER BY b) AS k FROM r) AS q JOIN u ON u.a = q.k
SELECT h, stddev(a) AS v, std(g) AS w, stddev_pop(a) AS y, variance(a) AS z FROM s GROUP BY h
SELECT h, var_pop(DISTINCT a) AS v, var_samp(g) FILTER (WHERE a > 0) AS w FROM s GROUP BY h
SELECT h, covar_pop(a, g) AS y FROM s GROUP BY h
SELECT covar_samp(a, h) AS v, corr(a, h) + 1 AS w, stddev(x) AS y FROM (SELECT s.*, 0.5D * h AS x FROM s) q
SELECT a, max_by(h, struct(c, h)) AS v, min_by(h, h) AS w, max_by(a, c) AS y FROM s GROUP BY a
SELECT a, min_by(upper(c), (h, c)) FILTER (WHERE h > 1) AS v FROM s GROUP BY a HAVING max_by(h, h) > 0
SELECT a, sort_array(collect_list(c)) AS v, sort_array(collect_set(h), false) AS w FROM s GROUP BY a
SELECT array_sort(array_agg(DISTINCT g)) AS v FROM s
SELECT sort_array(collect_list(h) FILTER (WHERE a > 1)) AS w FROM s
SELECT h, listagg(c, ',') WITHIN GROUP (ORDER BY c) AS v FROM s GROUP BY h
SELECT string_agg(DISTINCT c) WITHIN GROUP (ORDER BY c DESC) AS w FROM s
SELECT h, percentile(a, 0.3) AS v, median(DISTINCT g) AS w FROM s GROUP BY h
SELECT h, percentile_cont(0.7) WITHIN GROUP (ORDER BY a DESC) AS y FROM s GROUP BY h
SELECT h, COUNT(*) AS a FROM s GROUP BY h HAVING percentile_cont(0.5) WITHIN GROUP (ORDER BY a) > 0
SELECT a, bit_and(h) AS v, bit_or(h) AS w, bit_xor(DISTINCT h) AS y FROM u GROUP BY a
SELECT every(f) AS v, some(g) AS w, any(h) AS y, any(f AND g) FILTER (WHERE a > 1) AS z, mean(a) AS m FROM r
SELECT a, COUNT(DISTINCT h, c) AS n, COUNT(h, c) AS m FROM s GROUP BY a
SELECT a, COUNT(DISTINCT h) AS o, COUNT(DISTINCT c) AS n, SUM(DISTINCT g) AS p FROM s GROUP BY a
SELECT h, COUNT(DISTINCT a, c) FILTER (WHERE a > 1) AS n, COUNT(DISTINCT c, 1) AS m FROM s GROUP BY h
""".strip().splitlines()


WINDOWS_OF_TIME = """
SELECT window.start, window.end AS until, a, COUNT(*) AS n FROM e GROUP BY window(ts, '10 minutes'), a
SELECT window.start, COUNT(*) FROM e GROUP BY window(ts, '1 hour', '25 minutes') HAVING window.end > '2000'
SELECT Window.Start AS s, SUM(a) AS a FROM e WHERE a > 0 GROUP BY window(e.ts, '7 days', '7 days', '3 hours')
SELECT window(nt, 60000000) AS w, COUNT(*) AS n FROM e GROUP BY window(nt, 60000000)
SELECT window(nt, '1 hour 30 minutes').end AS w, COUNT(*) AS n FROM e GROUP BY window(nt, '1 hour 30 minutes')
SELECT window, MIN(a) AS a FROM e GROUP BY window(d, '1 week')
SELECT window(d, '3 days', '2 days') AS w, COUNT(*) AS n FROM e GROUP BY 1
SELECT window(ts, '1 day') AS w, COUNT(*) AS n FROM e GROUP BY w
SELECT a, window(ts, '1 second') AS w FROM e
SELECT session_window.start, session_window.end, SUM(1) n FROM e GROUP BY session_window(ts, '9 hours'), a
SELECT session_window.start, a FROM e GROUP BY session_window(ts, '40 days'), a
SELECT session_window(nt, '7 days') AS w, MAX(a) AS m FROM e AS x WHERE x.a > 0 GROUP BY 1 HAVING COUNT(*) > 0
SELECT session_window, MIN(a) FROM e GROUP BY session_window(d, '1 week') HAVING session_window.end > MAX(ts)
SELECT session_window.start AS s, SUM(a) n FROM (TABLE e) GROUP BY a % 2, session_window(ts, '25 hours')
SELECT s, MAX(h) AS h FROM (SELECT h, window(ts, '1 day').start AS s FROM e JOIN u USING (a)) GROUP BY s
""".strip().splitlines()


@contextmanager
def as_other_databases_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The parser of sqlglot, where `=` binds less tightly than `<`, and BETWEEN tighter than both."""
    with monkeypatch.context() as patched:
        for name in ("_parse_equality", "_parse_between", "_parse_is_rhs"):
            patched.setattr(SparkText.Parser, name, getattr(SparkParser, name))
        parse_query.cache_clear()
        yield
    parse_query.cache_clear()


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_read_as_spark_reads_it(spark: SparkSession, text: str) -> None:
    assert misread(Workspace(spark), text, bind_query(text, WORLD), WORLD) == ""


@pytest.mark.parametrize("text", WINDOWS_OF_TIME)
def test_a_window_of_time_is_that_of_spark(spark: SparkSession, text: str) -> None:
    assert misread(Workspace(spark), text, bind_query(text, WORLD, partial(type_of, spark)), WORLD) == ""


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("SELECT f = g < h AS v FROM r", "on made-up rows, its rows are not those of the text"),
        ("SELECT f = g BETWEEN h AND true AS v FROM r", "on made-up rows"),
    ],
)
def test_another_reading_is_seen(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str, difference: str
) -> None:
    with as_other_databases_read(monkeypatch):
        assert misread(Workspace(spark), text, bind_query(text, WORLD), WORLD).startswith(difference)


@pytest.mark.parametrize(
    ("text", "other", "difference"),
    [
        (
            "SELECT a FROM u",
            "SELECT a + 1L AS a FROM u",
            "to Spark a column is a int, to the engine a",
        ),
        ("SELECT a FROM u", "SELECT a AS b FROM u", "to Spark a column is a int, to the engine b INT"),
        ("SELECT a FROM u", "SELECT a, h FROM u", "to Spark it has 1 columns, not 2"),
        ("SELECT MAX(a) AS m FROM u", "SELECT MIN(a) AS m FROM u", "on made-up rows"),
        ("SELECT DISTINCT a FROM u", "SELECT a FROM u", "on made-up rows"),
        (
            "SELECT a FROM u",
            "SELECT a * 2147483647 AS a FROM u",
            "on made-up rows, it fails where the text does not: ",
        ),
        ("SELECT u.a FROM u JOIN s ON u.a = s.a", "SELECT u.a FROM u JOIN s ON u.a <=> s.a", "on made-up"),
        ("SELECT a FROM u WHERE z LIKE ' %'", "SELECT a FROM u WHERE z LIKE '%'", "on made-up rows"),
    ],
)
def test_a_plan_of_another_query_is_seen(spark: SparkSession, text: str, other: str, difference: str) -> None:
    assert misread(Workspace(spark), text, bind_query(other, WORLD), WORLD).startswith(difference)
