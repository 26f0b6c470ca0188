"""Truth: averages that are continued from hidden columns.

AVG(BIGINT) is the exact sum divided by the count. Spark adds the values as doubles: up to 2**53 that is the
same, and beyond its last bits depend on the order. AVG of DECIMAL is Spark's own, in its last digit, too.
"""

from __future__ import annotations

from collections import Counter
from decimal import ROUND_HALF_UP, Decimal, localcontext

import duckdb
import pytest
from pyspark.sql import SparkSession

from dynamic_tables.definition import DynamicTable
from dynamic_tables.plan.functions import EXACT_AVERAGE, INTERNAL
from dynamic_tables.store.port import Action
from tests.views import assert_maintained, create_maintained, view_rows
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


DECIMALS = {
    "a": "DECIMAL(5,2)",
    "b": "DECIMAL(11,4)",
    "c": "DECIMAL(12,2)",
    "d": "DECIMAL(18,6)",
    "e": "DECIMAL(18,18)",
    "f": "DECIMAL(18,0)",
    "g": "DECIMAL(1,1)",
}
AVERAGED = (
    f"SELECT k, {', '.join(f'AVG({name}) AS {name}' for name in DECIMALS)} FROM t GROUP BY k",
    "SELECT AVG(a) AS a, AVG(d) AS d, AVG(e) AS e, COUNT(*) AS n FROM t",
    "SELECT k, AVG(c) FILTER (WHERE a > 0) AS c, MAX(c) AS m, AVG(CASE WHEN f < 0 THEN f END) AS f "
    "FROM t GROUP BY k",
)
DRAWN = (
    "SELECT CAST({first} + id AS INT), CAST({first} + id AS INT) % 13, "
    "CAST(hash(id, 1) % 99999 / 100.0 AS DECIMAL(5,2)), CAST(hash(id, 2) / 10000.0 AS DECIMAL(11,4)), "
    "CAST(hash(id, 3) / 100.0 AS DECIMAL(12,2)), "
    "CAST(CAST(hash(id, 4) AS DECIMAL(18,6)) / 7 AS DECIMAL(18,6)), "
    "CAST(hash(id, 5) / 3000000000 AS DECIMAL(18,18)), "
    "CAST(xxhash64(id, 6) % 1000000000000000000 AS DECIMAL(18,0)), "
    "CAST(hash(id, 7) % 10 / 10.0 AS DECIMAL(1,1)) FROM RANGE({rows}) AS r (id)"
)
NINES = ", ".join(
    f"CAST('{text}' AS {DECIMALS[name]})"
    for name, text in {
        "a": "-999.99",
        "b": "9999999.9999",
        "c": "9999999999.99",
        "d": "-999999999999.999999",
        "e": "0.999999999999999999",
        "f": "999999999999999999",
        "g": "-0.9",
    }.items()
)
OF_DECIMALS = (
    ["INSERT INTO t " + DRAWN.format(first=0, rows=300)],
    [f"INSERT INTO t SELECT CAST(1000 + id AS INT), CAST(20 + id % 2 AS INT), {NINES} FROM RANGE(7) r (id)"],
    # Divided as doubles the average is half of a last digit less than the exact one: it rounds down.
    [
        "INSERT INTO t SELECT CAST(2000 + id AS INT), 30, NULL, "
        "CAST(2006784.7639 + CASE WHEN id = 0 THEN 0.0063 ELSE 0 END AS DECIMAL(11,4)), "
        "NULL, NULL, NULL, NULL, NULL FROM RANGE(160) r (id)"
    ],
    # One row is left in some groups, thirds and ties in others.
    [
        "DELETE FROM t WHERE k IN (3, 4) AND id > 20",
        "UPDATE t SET a = -a, d = d / 3, e = NULL WHERE id % 3 = 1",
    ],
    ["INSERT INTO t " + DRAWN.format(first=5000, rows=41), "DELETE FROM t WHERE k = 20 AND id <> 1000"],
    ["UPDATE t SET a = NULL, b = NULL, c = NULL, f = NULL WHERE k = 21", "DELETE FROM t WHERE k = 5"],
)


def test_averages_of_decimals_are_those_of_spark(spark: SparkSession) -> None:
    with written_in_memory(spark) as account:
        account.create_base_table("t", {"id": "INT", "k": "INT", **DECIMALS})
        create_maintained(account, AVERAGED)
        assert_maintained(account, AVERAGED, "t", OF_DECIMALS)
        averaged = account.store.definitions()["d0"]
        assert isinstance(averaged, DynamicTable)
        assert {"$STATE_0_avg", "$STATE_6_avg"} <= dict(averaged.state).keys()


@pytest.mark.parametrize(
    ("precision", "scale", "sums"),
    [(18, 2, "9999999999999999.99"), (18, 18, "0.999999999999999999"), (5, 0, "99999"), (1, 1, "0.9")],
)
def test_averages_of_decimals_in_duckdb_keep_all_their_digits(precision: int, scale: int, sums: str) -> None:
    """DuckDB refused a text such as 4999999999999999995000E-6: more digits than stand before its point."""
    form = INTERNAL[EXACT_AVERAGE].duckdb
    assert form is not None
    type_ = f"DECIMAL({precision + 4}, {scale + 4})"
    last = Decimal(1).scaleb(-scale - 4)
    for sum_ in (Decimal(sums), -Decimal(sums), Decimal(0), Decimal(1).scaleb(-scale), 7 * Decimal(sums)):
        for count in (1, 2, 3, 7, 11):
            with localcontext(prec=60):
                due = (sum_ / count).quantize(last, ROUND_HALF_UP)
            if abs(due) >= Decimal(10) ** (precision - scale):
                continue
            sum_type = f"DECIMAL({precision + 10}, {scale})"
            text = form.format(f"{sum_:f}::{sum_type}", None, f"{count}::BIGINT", scale + 4, None, type=type_)
            assert duckdb.execute(f"SELECT {text}").fetchall() == [(due,)], (sum_, count)
