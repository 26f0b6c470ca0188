"""Delta tables that exist already, as base tables of an account."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import (
    CorruptTable,
    DefinitionError,
    RefreshFailed,
    SlowCapture,
    StoreError,
    TimesWithoutZone,
)
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action
from dynamic_tables.store.transactions.owner import dead_process

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

TRACKED = "TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
VALUES = "SELECT CAST(id AS INT) AS k, CAST(id % 3 AS STRING) AS v FROM RANGE(0, 6, 1, 1)"


@pytest.fixture
def account(tmp_path: Path, spark: SparkSession) -> Iterator[Account]:
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    yield account
    account.store.close()  # type: ignore[attr-defined]


def rows(account: Account, name: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, account.read(name).collect()), key=repr)


def test_a_table_is_read_where_it_lies_and_left_there(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    sales = f"delta.`{tmp_path}/my sales`"
    spark.sql(f"CREATE TABLE {sales} USING delta {TRACKED} AS {VALUES}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = account.attach("Sales", f"{tmp_path}/my sales")
        account.create_dynamic_table("counts", "SELECT v, COUNT(*) AS n FROM sales GROUP BY v")
    assert (table.name, [name for name, _ in table.columns], table.row_ids) == ("sales", ["k", "v"], True)
    spark.sql(f"DELETE FROM {sales} WHERE k = 0")
    account.execute("INSERT INTO sales VALUES (7, '9')", "UPDATE sales SET v = '2' WHERE k = 1")
    (refreshed,) = account.refresh("counts")
    assert refreshed.action is Action.INCREMENTAL
    assert rows(account, "counts") == [("0", 1), ("1", 1), ("2", 3), ("9", 1)]
    assert spark.sql(f"SELECT * FROM {sales}").count() == 6

    again = Account.open(str(tmp_path / "account"), spark, WallClock())
    spark.sql(f"ALTER TABLE {sales} ADD COLUMN w INT")
    spark.sql(f"INSERT INTO {sales} VALUES (8, '9', 5)")
    assert again.refresh("counts")[0].action is Action.INCREMENTAL
    assert ("9", 2) in rows(again, "counts")
    with pytest.raises(DefinitionError, match="sales is read by counts"):
        again.drop("sales")
    again.drop("counts")
    again.drop("sales")
    assert list(again.store.definitions()) == []
    assert spark.sql(f"SELECT * FROM {sales}").count() == 7
    again.store.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "form",
    ["USING delta", "USING delta PARTITIONED BY (v)", "USING delta " + TRACKED[:-1] + ", {mapped})"],
    ids=["plain", "partitioned", "columns mapped by name"],
)
def test_tables_of_other_forms_are_maintained_too(
    account: Account, tmp_path: Path, spark: SparkSession, form: str
) -> None:
    mapped = "'delta.columnMapping.mode' = 'name'"
    sales = f"delta.`{tmp_path}/sales`"
    spark.sql(f"CREATE TABLE {sales} {form.replace('{mapped}', mapped)} AS {VALUES}")
    if "mapped" in form:
        spark.sql(f"ALTER TABLE {sales} RENAME COLUMN k TO key")
        spark.sql(f"ALTER TABLE {sales} RENAME COLUMN key TO k")
    if TRACKED[:-1] in form:
        account.attach("sales", f"{tmp_path}/sales")
    else:
        with pytest.warns(SlowCapture, match="has no row tracking.*ALTER TABLE delta") as caught:
            account.attach("sales", f"{tmp_path}/sales")
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowCapture)
        account.create_dynamic_table("odd", "SELECT k, v FROM sales WHERE k % 2 = 1")
    spark.sql(f"UPDATE {sales} SET v = 'x' WHERE k >= 4")
    spark.sql(f"INSERT INTO {sales} VALUES (9, '0'), (9, '0')")
    assert account.refresh("odd")[0].action is Action.INCREMENTAL
    expected = [(1, "1"), (3, "0"), (5, "x"), (9, "0"), (9, "0")]
    assert rows(account, "odd") == expected
    if "PARTITIONED" in form:
        # The statement that the warning names; it does the same to the plain table.
        spark.sql(f"ALTER TABLE {sales} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
        assert account.refresh("odd")[0].action is Action.REINITIALIZE
        spark.sql(f"DELETE FROM {sales} WHERE k = 9")
        assert account.refresh("odd")[0].action is Action.INCREMENTAL
        assert rows(account, "odd") == expected[:3]


def test_what_cannot_be_attached_is_refused_in_one_line(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    spark.sql(VALUES).write.parquet(f"{tmp_path}/parquet")
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/ids` USING delta AS SELECT 'x' AS `$ROW_ID`")
    for place, message in (
        (f"{tmp_path}/nothing", "nothing cannot be attached: there is no such Delta table"),
        ("no_such_table", "no_such_table cannot be attached: there is no such Delta table"),
        (f"{tmp_path}/parquet", "parquet cannot be attached"),
        (f"{tmp_path}/ids", "is a dynamic table of an account, by its column"),
    ):
        with pytest.raises(DefinitionError, match=message) as caught:
            account.attach("sales", place)
        assert "\n" not in str(caught.value)
    with pytest.raises(DefinitionError, match="'a b' is no name"):
        account.attach("a b", f"{tmp_path}/ids")
    assert list(account.store.definitions()) == []


def test_a_table_of_the_catalog_that_goes_away_concerns_itself_alone(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    spark.sql(f"CREATE TABLE named USING delta LOCATION '{tmp_path}/named' {TRACKED} AS {VALUES}")
    account.attach("sales", "named")
    account.create_base_table("r", {"k": "INT"})
    account.create_dynamic_table("d", "SELECT k FROM r")
    account.create_dynamic_table("above", "SELECT k FROM sales")
    assert len(rows(account, "above")) == 6
    spark.sql("DROP TABLE named")
    (tmp_path / "named").rename(tmp_path / "gone")
    fresh = Account.open(str(tmp_path / "account"), spark, WallClock())
    fresh.execute("INSERT INTO r VALUES (1)")
    assert fresh.refresh("d")[0].action is Action.INCREMENTAL
    with pytest.raises((CorruptTable, RefreshFailed), match=r"sales.*named is not there any more; .*drop"):
        fresh.refresh("above")
    (tmp_path / "gone").rename(tmp_path / "named")
    assert fresh.refresh("above")[0].action is Action.NO_DATA
    (tmp_path / "named").rename(tmp_path / "gone")
    last = Account.open(str(tmp_path / "account"), spark, WallClock())
    with pytest.raises(DefinitionError, match="sales is read by above"):
        last.drop("sales")
    last.drop("above")
    last.drop("sales")
    assert list(last.store.definitions()) == ["r", "d"]
    assert (tmp_path / "gone" / "_delta_log").is_dir()
    last.store.close()  # type: ignore[attr-defined]
    fresh.store.close()  # type: ignore[attr-defined]


def test_an_insert_reads_any_relation(account: Account, tmp_path: Path, spark: SparkSession) -> None:
    account.create_base_table("r", {"k": "INT", "v": "STRING"})
    spark.sql(VALUES).write.parquet(f"{tmp_path}/parquet")
    spark.sql(f"CREATE TABLE listed USING delta LOCATION '{tmp_path}/listed' AS {VALUES}")
    try:
        account.execute("INSERT INTO r SELECT CAST(id AS INT), 'range' FROM RANGE(2)")
        account.execute(f"INSERT INTO r SELECT k, 'path' FROM delta.`{tmp_path}/listed` WHERE k < 1")
        account.execute(f"INSERT INTO r SELECT k, 'parquet' FROM parquet.`{tmp_path}/parquet` WHERE k < 1")
        account.execute(
            "INSERT INTO r SELECT l.k, 'catalog' FROM default.listed AS l JOIN r ON l.k = r.k + 5"
        )
    finally:
        spark.sql("DROP TABLE listed")
    assert rows(account, "r") == [
        (0, "parquet"),
        (0, "path"),
        (0, "range"),
        (1, "range"),
        *[(5, "catalog")] * 3,
    ]


def test_what_lies_under_a_name_may_become_another_table(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    place = tmp_path / "50%25 sales#1"
    spark.sql(f"CREATE TABLE delta.`{place}` USING delta {TRACKED} AS {VALUES}")
    spark.sql(f"INSERT INTO delta.`{place}` VALUES (7, 'x')")
    account.attach("sales", str(place))
    account.create_dynamic_table("above", "SELECT k FROM sales")
    assert len(rows(account, "above")) == 7
    shutil.rmtree(place)
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/new` USING delta {TRACKED} AS SELECT 1 AS k, 'new' AS v")
    (tmp_path / "new").rename(place)
    assert account.refresh("above")[0].action is Action.REINITIALIZE
    assert rows(account, "above") == [(1,)]

    spark.sql(f"CREATE TABLE delta.`{tmp_path}/elsewhere` USING delta {TRACKED} AS SELECT 2 AS k, 'e' AS v")
    other = Account.open(str(tmp_path / "account"), spark, WallClock())
    account.execute("INSERT INTO sales VALUES (3, 'x')")
    other.drop("above")
    other.drop("sales")
    other.attach("sales", f"{tmp_path}/elsewhere")
    account.execute("INSERT INTO sales VALUES (4, 'x')")
    assert rows(account, "sales") == [(2, "e"), (4, "x")]
    other.store.close()  # type: ignore[attr-defined]


def test_a_reserved_name_that_comes_later_fails_until_it_is_gone(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    mapped = TRACKED[:-1] + ", 'delta.columnMapping.mode' = 'name')"
    sales = f"delta.`{tmp_path}/sales`"
    spark.sql(f"CREATE TABLE {sales} USING delta {mapped} AS {VALUES}")
    account.attach("sales", f"{tmp_path}/sales")
    account.create_dynamic_table("odd", "SELECT k FROM sales WHERE k % 2 = 1")
    for name in ("_METADATA", "$ROW_ID"):
        spark.sql(f"ALTER TABLE {sales} ADD COLUMN `{name}` STRING")
        spark.sql(f"DELETE FROM {sales} WHERE k = 1")
        with pytest.raises(
            CorruptTable, match=f"sales: the column name {re.escape(name)} is reserved; rename or drop"
        ):
            account.refresh("odd")
        spark.sql(f"ALTER TABLE {sales} DROP COLUMN `{name}`")
    assert account.refresh("odd")[0].action is Action.INCREMENTAL
    assert rows(account, "odd") == [(3,), (5,)]


@pytest.mark.parametrize(
    "end", ["SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')", "DROP FEATURE rowTracking"]
)
def test_rows_that_got_other_ids_while_row_tracking_was_off_are_read_anew(
    end: str, account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    sales = f"delta.`{tmp_path}/sales`"
    spark.sql(f"CREATE TABLE {sales} USING delta {TRACKED} AS {VALUES}")
    spark.sql(f"INSERT INTO {sales} VALUES (7, '9')")
    account.attach("sales", f"{tmp_path}/sales")
    account.create_dynamic_table("odd", "SELECT k FROM sales WHERE k % 2 = 1")
    spark.sql(f"ALTER TABLE {sales} {end}")
    spark.sql(f"OPTIMIZE {sales}")
    spark.sql(f"ALTER TABLE {sales} SET {TRACKED}")
    assert account.refresh("odd")[0].action is Action.REINITIALIZE
    spark.sql(f"DELETE FROM {sales} WHERE k IN (1, 7)")
    assert account.refresh("odd")[0].action is Action.INCREMENTAL
    assert rows(account, "odd") == [(3,), (5,)]


def test_transactions_of_another_account_are_not_taken_for_unfinished_ones(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    """The other account has tables r and s; r is attached here, where s is another table."""
    theirs = Account.open(str(tmp_path / "theirs"), spark, WallClock())
    for name in ("r", "s"):
        theirs.create_base_table(name, {"k": "INT"})
    account.attach("r", f"{tmp_path}/theirs/r")
    account.create_base_table("s", {"k": "INT"})
    account.create_dynamic_table("d", "SELECT k FROM r")
    theirs.store.undoing.owner = dead_process()  # type: ignore[attr-defined]
    theirs.execute("INSERT INTO r VALUES (1)", "INSERT INTO s VALUES (1)")
    account.execute("INSERT INTO s VALUES (5)")
    account.refresh("d")
    assert rows(account, "d") == rows(theirs, "r") == [(1,)]
    with pytest.raises(DefinitionError, match="is no table, it is an attached table"):
        theirs.attach("x", f"{tmp_path}/account/r")
    theirs.store.close()  # type: ignore[attr-defined]


def test_with_warnings_as_errors_nothing_is_left_behind(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/plain` USING delta AS {VALUES}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SlowCapture):
            account.attach("sales", f"{tmp_path}/plain")
        assert list(account.store.definitions()) == []
    spark.sql(f"ALTER TABLE delta.`{tmp_path}/plain` SET TBLPROPERTIES ('delta.appendOnly' = 'true')")
    with pytest.warns(SlowCapture):
        account.attach("sales", f"{tmp_path}/plain")
    with pytest.raises(StoreError, match="append-only; run the statements one by one"):
        account.execute("INSERT INTO sales VALUES (8, 'x')", "INSERT INTO sales VALUES (9, 'x')")
    account.execute("INSERT INTO sales VALUES (8, 'x')")
    assert len(rows(account, "sales")) == 7


@pytest.mark.parametrize("zoned", [True, False])
def test_times_without_a_zone_are_warned_of(
    account: Account, tmp_path: Path, spark: SparkSession, *, zoned: bool
) -> None:
    """A session in New York reads 10:00 as 15:00 in UTC, the account as 10:00: a copy was not its base."""
    writer, table = spark.newSession(), f"delta.`{tmp_path}/by_time`"
    writer.conf.set("spark.sql.session.timeZone", "America/New_York")
    writer.conf.set("spark.databricks.delta.write.utcTimestampPartitionValues", str(zoned).lower())
    writer.sql(f"CREATE TABLE {table} (k INT, ts TIMESTAMP) USING delta PARTITIONED BY (ts) {TRACKED}")
    writer.sql(f"INSERT INTO {table} VALUES (1, TIMESTAMP'2026-11-27 10:00:00')")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        account.attach("p", f"{tmp_path}/by_time")
    assert [each.category for each in caught] == [TimesWithoutZone] * (not zoned)
    assert {each.filename for each in caught} <= {__file__}
    account.create_dynamic_table("c", "SELECT unix_timestamp(ts) AS s FROM p")
    assert rows(account, "c") == [(1795791600 if zoned else 1795773600,)]
