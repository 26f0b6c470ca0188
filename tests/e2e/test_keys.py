"""Primary keys on Delta: what is written again costs what differs, and two rows of one key are named."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WITHOUT_IDS = "USING delta"
"""A table without row tracking."""

ROWS = "VALUES (1, 'a', 10), (1, 'b', 20), (2, NULL, 30), (NULL, 'c', 40) AS r(id, part, n)"


@pytest.fixture
def account(tmp_path: Path, spark: SparkSession) -> Iterator[Account]:
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/daily` (id INT, part STRING, n INT) {WITHOUT_IDS}")
    spark.sql(f"INSERT INTO delta.`{tmp_path}/daily` SELECT * FROM {ROWS}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        account.attach("daily", f"{tmp_path}/daily", primary_key=["ID", "part"])
        account.create_dynamic_table("copied", "SELECT part, n FROM daily")
        account.create_dynamic_table(
            "pairs", "SELECT l.n AS a, r.n AS b FROM daily l LEFT JOIN daily r ON l.id = r.id"
        )
    yield account
    account.store.close()  # type: ignore[attr-defined]


def rows(account: Account, name: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, account.read(name).collect()), key=repr)


def test_what_is_written_again_costs_what_differs(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    daily = f"delta.`{tmp_path}/daily`"
    for statement in (
        f"INSERT OVERWRITE {daily} SELECT",
        f"CREATE OR REPLACE TABLE {daily} USING delta AS SELECT",
    ):
        # Twice in one interval; the same but for one row.
        spark.sql(f"{statement} id, part, CAST(0 AS INT) AS n FROM {ROWS}")
        spark.sql(f"{statement} id, part, CAST(IF(id = 2, n + 1, n) AS INT) AS n FROM {ROWS}")
        (copied,), (pairs,) = account.refresh("copied"), account.refresh("pairs")
        assert copied.action is pairs.action is Action.INCREMENTAL
        spark.sql(f"INSERT OVERWRITE {daily} SELECT * FROM {ROWS}")
        (copied,), (pairs,) = account.refresh("copied"), account.refresh("pairs")
        assert (copied.record.inserted, copied.record.deleted) == (1, 1)
        assert (pairs.record.inserted, pairs.record.deleted) == (1, 1)
    assert rows(account, "copied") == [("a", 10), ("b", 20), ("c", 40), (None, 30)]


@pytest.mark.nightly
def test_an_order_by_the_key_is_total(account: Account, tmp_path: Path, spark: SparkSession) -> None:
    over = "OVER (PARTITION BY n % 20 ORDER BY id, part)"
    query = f"SELECT id, part, LAST_VALUE(n) {over} AS l, NTH_VALUE(n, 2) {over} AS s FROM daily"
    account.create_dynamic_table("places", query, refresh_mode="INCREMENTAL")
    daily = f"delta.`{tmp_path}/daily`"
    spark.sql(f"INSERT INTO {daily} VALUES (2, 'a', 50), (NULL, NULL, 60)")
    spark.sql(f"UPDATE {daily} SET n = 80 WHERE id = 1 AND part = 'b'")
    (refreshed,) = account.refresh("places")
    assert refreshed.action is Action.INCREMENTAL
    expected = spark.sql(query.replace("daily", daily)).collect()
    assert rows(account, "places") == sorted(map(tuple, expected), key=repr)


def test_two_rows_of_one_key_fail_every_refresh_until_one_is_gone(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    daily = f"delta.`{tmp_path}/daily`"
    spark.sql(f"INSERT INTO {daily} VALUES (2, NULL, 31)")
    for _ in range(2):
        with pytest.raises(RefreshFailed, match=r"id = 2, part = None: .*n = 30\) and .*n = 31\)"):
            account.refresh("pairs")
    assert len(rows(account, "copied")) == 4
    with pytest.raises(RefreshFailed, match="2 rows of daily have the primary key"):
        account.create_dynamic_table("full", "SELECT id FROM daily", refresh_mode="FULL")
    spark.sql(f"DELETE FROM {daily} WHERE n = 30")
    (refreshed,) = account.refresh("copied")
    assert (refreshed.record.inserted, refreshed.record.deleted) == (1, 1)


@pytest.mark.nightly
def test_a_table_with_other_columns_is_written_anew_and_one_without_the_key_is_refused(
    account: Account, tmp_path: Path, spark: SparkSession
) -> None:
    daily = f"delta.`{tmp_path}/daily`"
    create = f"CREATE OR REPLACE TABLE {daily} USING delta AS SELECT"
    spark.sql(f"{create} id, part, CAST(n AS INT) AS n, 1 AS more FROM {ROWS}")
    (refreshed,) = account.refresh("copied")
    assert refreshed.action is Action.REINITIALIZE
    spark.sql(f"{create} part, CAST(n AS INT) AS n FROM {ROWS}")
    with pytest.raises(Exception, match="column id of its primary key is not there any more"):
        account.refresh("copied")
    spark.sql(f"{create} id, part, CAST(n AS INT) AS n FROM {ROWS}")
    account.refresh("copied")
    assert rows(account, "copied") == [("a", 10), ("b", 20), ("c", 40), (None, 30)]


def test_what_cannot_be_a_key_is_refused(account: Account) -> None:
    columns = [("id", "INT"), ("tags", "ARRAY<INT>")]
    for key, reason in (
        (["x"], "has no column x for its primary key; there are: id, tags"),
        (["id", "ID"], "names a column twice"),
        (["tags"], "cannot be part of a primary key"),
        (3, "give the names of its columns"),
    ):
        with pytest.raises(DefinitionError, match=reason):
            account.create_base_table("r", columns, primary_key=key)  # type: ignore[arg-type]
    table = account.create_base_table("r", columns, primary_key="id")
    assert table.key == ("id",)
    again = Account.open(account.store.folder.path, account.store.session, WallClock())  # type: ignore[attr-defined]
    assert [each.key for each in (again.existing("r"), again.existing("daily"))] == [("id",), ("id", "part")]  # type: ignore[union-attr]
    again.store.close()  # type: ignore[attr-defined]
