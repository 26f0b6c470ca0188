"""Columns of every type in real Delta tables: refreshes give what Spark makes of the query."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.port import Action
from dynamic_tables.store.sizes import Sizes
from oracle.delta_reader import newest_version, read_rows
from workload.schema import Column
from workload.types import INT, TIMESTAMP

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

TYPES = {
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "dec": "DECIMAL(38,10)",
    "real": "FLOAT",
    "double": "DOUBLE",
    "flag": "BOOLEAN",
    "bytes": "BINARY",
    "day": "DATE",
    "local": "TIMESTAMP_NTZ",
    "instant": "TIMESTAMP",
}

ROWS = """
    (1Y, 300S, 1.5, 0.1F, 0.1D, TRUE, X'00FF', DATE '2024-02-29', TIMESTAMP_NTZ '2024-03-31 02:30:00',
        TIMESTAMP '2024-03-31 02:30:00.000001'),
    (-128Y, -32768S, 9999999999999999999999999999.9999999999, -0.0F, -0.0D, FALSE, X'', DATE '0001-01-01',
        TIMESTAMP_NTZ '9999-12-31 23:59:59', TIMESTAMP '9999-12-31 23:59:59.999999'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (127Y, 0S, 0, CAST('NaN' AS FLOAT), CAST('NaN' AS DOUBLE), TRUE, X'61', DATE '1500-01-01',
        TIMESTAMP_NTZ '1500-01-01 00:00:00', TIMESTAMP '1500-01-01 00:00:00'),
    (127Y, 0S, 0, CAST('NaN' AS FLOAT), CAST('NaN' AS DOUBLE), TRUE, X'61', DATE '1500-01-01',
        TIMESTAMP_NTZ '1500-01-01 00:00:00', TIMESTAMP '0001-01-01 00:00:00')
"""

QUERIES = {
    "copied": "SELECT * FROM t WHERE tiny IS NULL OR tiny <> 5",
    "once": "SELECT DISTINCT tiny, real, bytes, instant, local FROM t",
    "extremes": "SELECT bytes, instant, count(*) AS n, min(tiny) AS least, max(instant) AS latest, "
    "max(bytes) AS last, sum(small) AS total, avg(tiny) AS mean FROM t GROUP BY bytes, instant",
    "met": "SELECT l.tiny, r.bytes AS b FROM t l JOIN t r ON l.instant = r.instant AND l.small < r.tiny + 9",
}

CHANGES = (
    (
        "INSERT INTO t SELECT tiny, small, dec, real, double, flag, X'01', day, local, instant FROM t",
        "UPDATE t SET tiny = 5, instant = TIMESTAMP '1969-12-31 23:59:59.999999' WHERE bytes = X'61'",
    ),
    (
        "DELETE FROM t WHERE instant = TIMESTAMP '9999-12-31 23:59:59.999999' OR tiny IS NULL",
        "UPDATE t SET small = 7 WHERE real = 0.1F",
    ),
)


def test_refreshes_of_every_type_follow_the_query(tmp_path: Path, spark: SparkSession) -> None:
    clock = SimulatedClock()
    account = Account.open(str(tmp_path), spark, clock)
    account.create_base_table("t", TYPES)
    clock.set(10)
    account.execute(f"INSERT INTO t VALUES {ROWS}")
    for name, query in QUERIES.items():
        account.create_dynamic_table(name, query)
        assert account.dynamic_table(name).incremental, account.dynamic_table(name).reason
    for time, change in enumerate(CHANGES, 11):
        clock.set(time)
        account.execute(*change)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM delta.`{tmp_path}/t`")
        for name, query in QUERIES.items():
            account.refresh(name)
            assert shown(account.read(name).toArrow()) == shown(spark.sql(query).toArrow()), (name, change)
    spark.catalog.dropTempView("t")


def shown(table: pa.Table) -> Counter[str]:
    """The rows as a bag of texts, since NaN is not equal to itself; -0.0 and 0.0 are one value."""
    columns = [
        column if pa.types.is_binary(column.type) else column.cast("string") for column in table.columns
    ]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return Counter(repr(row).replace("'-0'", "'0'") for row in rows)


def test_minus_zero_meets_zero_in_files_too(tmp_path: Path, spark: SparkSession) -> None:
    """Spark by itself finds none of three rows with -0.0 in a file where a condition asks for 0.0."""
    types = {"x": "DOUBLE", "y": "FLOAT"}
    clock = SimulatedClock()
    account = Account.open(str(tmp_path), spark, clock)
    account.create_base_table("z", {"k": "INT", **types})
    clock.set(10)
    minus = ", ".join(f"CAST('-0.0' AS {type_})" for type_ in types.values())
    account.execute(f"INSERT INTO z VALUES (1, {minus}), (1, {minus}), (1, {minus})")
    zero = {column: f"{column} = CAST('0.0' AS {type_})" for column, type_ in types.items()}
    for column, is_zero in zero.items():
        account.create_dynamic_table(f"zeros_{column}", f"SELECT k, {column} FROM z WHERE {is_zero}")
        assert account.read(f"zeros_{column}").count() == 3
    clock.set(11)
    account.execute(*(f"UPDATE z SET k = k + 1 WHERE {is_zero}" for is_zero in zero.values()))
    for column in types:
        account.refresh(f"zeros_{column}")
        assert [row["k"] for row in account.read(f"zeros_{column}").collect()] == [3, 3, 3]


def test_days_that_the_old_calendar_lacks_are_found_in_files(tmp_path: Path, spark: SparkSession) -> None:
    """Spark by itself asks a file for the 20th where a condition asks for the 10th of October 1582."""
    clock = SimulatedClock()
    account = Account.open(str(tmp_path), spark, clock)
    account.create_base_table("days", {"k": "INT", "day": "DATE"})
    clock.set(10)
    account.execute("INSERT INTO days SELECT 1, DATE'1582-10-10' FROM range(3)")
    account.create_dynamic_table("tenth", "SELECT k, day FROM days WHERE day = DATE'1582-10-10'")
    assert account.read("tenth").count() == 3
    clock.set(11)
    account.execute("UPDATE days SET k = k + 1 WHERE day IN (DATE'1582-10-10', DATE'1582-10-14')")
    account.refresh("tenth")
    assert [row["k"] for row in account.read("tenth").collect()] == [2, 2, 2]


def test_a_constant_of_the_first_year_is_no_error(tmp_path: Path, spark: SparkSession) -> None:
    account = Account.open(str(tmp_path), spark, SimulatedClock())
    account.create_base_table("t", {"k": "INT"})
    table = account.create_dynamic_table("d", "SELECT k, TIMESTAMP '0001-01-01 00:00:00' AS z FROM t")
    assert table.incremental


LEGACY = {
    "spark.sql.session.timeZone": "America/Los_Angeles",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
}
"""As old versions of Spark wrote dates and times."""


def test_times_of_old_versions_of_spark_are_read_as_spark_reads_them(
    tmp_path: Path, spark: SparkSession
) -> None:
    old = spark.newSession()
    for name, value in LEGACY.items():
        old.conf.set(name, value)
    place = f"delta.`{tmp_path / 'written'}`"
    tracked = "'delta.enableRowTracking'='true', 'delta.enableDeletionVectors'='true'"
    old.sql(f"CREATE TABLE {place} (k INT, at TIMESTAMP) USING delta TBLPROPERTIES ({tracked})")
    old.sql(f"INSERT INTO {place} VALUES (1, TIMESTAMP '1899-06-01 00:00:00')")
    clock = SimulatedClock()
    store = DeltaStore(str(tmp_path / "account"), old, clock, sizes=Sizes(small_files=1))
    account = Account(store=store, clock=clock)
    account.attach("t", str(tmp_path / "written"))
    account.create_dynamic_table("d", "SELECT k, at FROM t")
    for time, text in enumerate(("1700-06-01 00:00:00", "1500-01-01 00:00:00", "2020-01-01 00:00:00"), 10):
        clock.set(time)
        old.sql(f"INSERT INTO {place} VALUES ({time}, TIMESTAMP '{text}')")
        assert account.refresh("d")[0].action is Action.INCREMENTAL
        expected = shown(spark.read.format("delta").load(str(tmp_path / "written")).toArrow())
        assert shown(account.read("d").toArrow()) == expected, text


def test_other_readers_find_the_times_that_were_written(tmp_path: Path, spark: SparkSession) -> None:
    """Of every year: in 96 bits, Spark's default form, the last day of time is one of 1816 to them."""
    account = Account.open(str(tmp_path / "account"), spark, SimulatedClock())
    account.create_base_table("t", {"k": "INT", "at": "TIMESTAMP"})
    account.execute(
        "INSERT INTO t VALUES (1, TIMESTAMP'9999-12-31 23:59:59.999999'), (2, TIMESTAMP'0001-01-01 00:00:00')"
    )
    account.create_dynamic_table("d", "SELECT k, at FROM t")
    columns = (Column("k", INT), Column("at", TIMESTAMP))
    for name in ("t", "d"):
        path = tmp_path / "account" / name
        times = [str(at) for _, at in sorted(read_rows(path, newest_version(path), columns))]
        assert times == ["9999-12-31 23:59:59.999999", "0001-01-01 00:00:00"]


FIRSTS = {
    "by_time": "SELECT * FROM v QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC, id) = 1",
    "by_double": "SELECT id, k, x, upper(s) AS u FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k "
    "ORDER BY x DESC, id) AS n FROM v WHERE s IS NOT NULL) WHERE n = 1",
}
VERSIONS = """(1, 0.0D, TIMESTAMP'2024-01-01 00:00:00', 1.5D, 'a'), (3, NULL, NULL, -0.0D, 'c'),
    (2, -0.0D, TIMESTAMP'2024-01-02 00:00:00', CAST('NaN' AS DOUBLE), 'b'), (4, NULL, NULL, 0.0D, 'd')"""


def test_first_rows_by_times_and_doubles_follow_the_query(tmp_path: Path, spark: SparkSession) -> None:
    """The campaign draws neither times nor doubles as the order of first rows."""
    clock = SimulatedClock()
    account = Account.open(str(tmp_path), spark, clock)
    account.create_base_table(
        "v", {"id": "INT", "k": "DOUBLE", "at": "TIMESTAMP", "x": "DOUBLE", "s": "STRING"}
    )
    clock.set(10)
    account.execute(f"INSERT INTO v VALUES {VERSIONS}")
    for name, query in FIRSTS.items():
        account.create_dynamic_table(name, query, refresh_mode="INCREMENTAL")
    changes = (
        "INSERT INTO v VALUES (6, 0.0D, TIMESTAMP'2024-01-03 00:00:00', 2.0D, 'f')",
        "DELETE FROM v WHERE id = 6",
        "UPDATE v SET at = TIMESTAMP'1900-01-01 00:00:00', x = NULL WHERE id = 2",
        "UPDATE v SET s = 'zz' WHERE id IN (1, 3)",
        "UPDATE v SET s = NULL, k = CAST('NaN' AS DOUBLE) WHERE id = 1",
    )
    for time, change in enumerate(changes, 11):
        clock.set(time)
        account.execute(change)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM delta.`{tmp_path}/v`")
        for name, query in FIRSTS.items():
            account.refresh(name)
            assert shown(account.read(name).toArrow()) == shown(spark.sql(query).toArrow()), (name, change)
    spark.catalog.dropTempView("v")
