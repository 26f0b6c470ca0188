"""Refreshes on Delta by the size and the values of what changed: by position, by one file, by MERGE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.refresh import execute
from dynamic_tables.refresh.choice import NO_CHOICE, Choice, Past, Work
from dynamic_tables.refresh.execute import PROTOCOL
from dynamic_tables.schedule.clock import SimulatedClock, WallClock
from dynamic_tables.store.port import Action, Extent
from dynamic_tables.store.sizes import Sizes
from tests.views import with_sizes

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_changes_of_every_size_are_exact(tmp_path: Path, spark: SparkSession) -> None:
    """Rows here and there are looked up by position, hundreds are merged by Spark, most rows too."""
    account = with_sizes(tmp_path, spark, WallClock(), Sizes(literal_rows=100, changed_rows=100))
    account.create_base_table("r", {"k": "INT", "v": "BIGINT"})
    rows = spark.sql("SELECT CAST(id AS INT) AS k, id % 7 AS v FROM RANGE(600)")
    rows.write.format("delta").mode("append").save(f"{tmp_path}/r")
    query = "SELECT k, v * 2 AS w FROM r WHERE v <> 3"
    account.create_dynamic_table("d", query, refresh_mode="INCREMENTAL")
    for change in (
        "UPDATE r SET v = v + 1 WHERE k % 40 = 0",
        "UPDATE r SET v = v + 1 WHERE k % 2 = 0",
        "DELETE FROM r WHERE k < 550",
    ):
        account.execute(change)
        assert account.refresh("d")[-1].action is Action.INCREMENTAL
        stored = spark.sql(f"SELECT k, w FROM delta.`{tmp_path}/d`").collect()
        expected = spark.sql(query.replace("FROM r", f"FROM delta.`{tmp_path}/r`")).collect()
        assert sorted(stored) == sorted(expected), change
    account.store.close()  # type: ignore[attr-defined]


@pytest.mark.nightly
def test_nan_is_found_in_what_the_engine_wrote(tmp_path: Path, spark: SparkSession) -> None:
    account = Account.open(str(tmp_path), spark, WallClock())
    account.create_base_table("r", {"k": "INT", "x": "DOUBLE"})
    account.create_dynamic_table("d", "SELECT k, x FROM r")
    account.execute("INSERT INTO r VALUES (1, 1.0D), (2, CAST('NaN' AS DOUBLE)), (3, 3.0D)")
    assert account.refresh("d")[-1].action is Action.INCREMENTAL
    above = spark.sql(f"SELECT k FROM delta.`{tmp_path}/d` WHERE x > 5").collect()
    assert [row[0] for row in above] == [2]
    account.store.close()  # type: ignore[attr-defined]


@pytest.mark.nightly
def test_dates_that_python_does_not_have(tmp_path: Path, spark: SparkSession) -> None:
    account = Account.open(str(tmp_path), spark, WallClock())
    account.create_base_table("r", {"k": "INT", "d": "DATE"})
    account.create_dynamic_table("same", "SELECT k, d FROM r")
    account.create_dynamic_table("last", "SELECT k, MAX(d) AS d FROM r GROUP BY k")
    for statements in (
        ("INSERT INTO r VALUES (1, DATE'-0044-03-15'), (2, DATE'2024-01-01')",),
        ("UPDATE r SET d = DATE'+12345-06-07' WHERE k = 2", "DELETE FROM r WHERE k = 1"),
    ):
        account.execute(*statements)
        for name in ("same", "last"):
            assert account.refresh(name)[-1].action is Action.INCREMENTAL
    for name in ("same", "last"):
        found = account.read(name).selectExpr("k", "CAST(d AS STRING)").collect()
        assert [tuple(row) for row in found] == [(2, "+12345-06-07")]
    account.store.close()  # type: ignore[attr-defined]


def test_a_refresh_may_choose_to_be_full(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is chosen is done and told; the choice knows what commits touched, and how long refreshes took."""
    asked: list[tuple[Sequence[Past], Work]] = []

    def half_or_more(past: Sequence[Past], work: Work) -> Choice:
        asked.append((past, work))
        share = max(each.touched / each.total for each in work.extents.values())
        return Choice(Action.FULL, "chosen FULL: half") if share >= 0.5 else NO_CHOICE

    monkeypatch.setattr(execute, "LEAST_COUNTED", 5)
    account = Account.open(str(tmp_path), spark, WallClock())
    account.protocol = replace(PROTOCOL, choose=half_or_more)
    for name, key in (("r", []), ("keyed", ["k"])):
        account.create_base_table(name, {"k": "INT", "v": "INT"}, primary_key=key)
        account.execute(f"INSERT INTO {name} VALUES " + ", ".join(f"({k}, 0)" for k in range(20)))
    query = "SELECT v, COUNT(*) AS n FROM r GROUP BY v"
    account.create_dynamic_table("auto", query)
    account.create_dynamic_table("never", query, refresh_mode="INCREMENTAL")
    account.create_dynamic_table("above", "SELECT n FROM auto")
    account.create_dynamic_table("by_key", "SELECT k FROM keyed WHERE v > 0")

    def actions() -> list[Action]:
        return [account.refresh(name)[-1].action for name in ("auto", "never")]

    account.execute("UPDATE r SET v = 2 WHERE k < 12")
    assert actions() == [Action.FULL, Action.INCREMENTAL]
    assert account.describe("auto").refreshes[-1].reason == "changed: r; chosen FULL: half"
    ((past, work),) = asked
    assert [(each.action, each.seconds > 0) for each in past] == [(Action.INITIALIZE, True)]
    assert work.extents == {"r": Extent(24, 20)}
    assert (work.stored, work.passes) == (1, 0), "groups are kept from contents: no row of r is read again"
    account.refresh("above")
    account.execute("DELETE FROM r WHERE k = 1")
    assert actions() == [Action.INCREMENTAL] * 2
    assert [each.action for each in asked[-1][0]] == [Action.INITIALIZE, Action.FULL]
    account.refresh("above")
    for name in ("auto", "never"):
        assert sorted(map(tuple, account.read(name).collect())) == [(0, 8), (2, 11)]
    assert sorted(map(tuple, account.read("above").collect())) == [(8,), (11,)]
    # A table with a primary key was overwritten: what differs by key counts, and not the rows written again.
    account.write(
        "keyed", spark.sql("SELECT CAST(id AS INT) k, IF(id = 3, 1, 0) v FROM RANGE(20)"), "overwrite"
    )
    assert account.refresh("by_key")[-1].action is Action.INCREMENTAL
    assert asked[-1][1].extents == {"keyed": Extent(2, 20)}
    account.store.close()  # type: ignore[attr-defined]


@pytest.mark.nightly
def test_many_small_commits_are_rewritten_as_one_file(tmp_path: Path, spark: SparkSession) -> None:
    clock = SimulatedClock()
    account = with_sizes(tmp_path, spark, clock, Sizes(small_files=2))
    account.create_base_table("r", {"k": "INT"})
    account.create_dynamic_table("d", "SELECT k, 'x' AS tag FROM r")
    for time in range(1, 5):
        clock.set(time)
        account.execute(f"INSERT INTO r VALUES ({time})")
        assert account.refresh("d")[-1].action is Action.INCREMENTAL
    files = spark.sql(f"SELECT DISTINCT _metadata.file_name FROM delta.`{tmp_path}/d`").count()
    assert files == 1
    stored = account.store.current(account.dynamic_table("d")).rows()
    assert sorted(row[:2] for row in stored) == [(time, "x") for time in range(1, 5)]
    account.store.close()  # type: ignore[attr-defined]
