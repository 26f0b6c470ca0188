"""An account notices that another process has dropped tables and created others under their names."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.log.files import LocalFiles
from dynamic_tables.store.log.log import LoggedCommit, TableLog
from dynamic_tables.store.log.own_commit import OwnCommit, own_commit
from dynamic_tables.store.port import Action

pytestmark = [pytest.mark.nightly, pytest.mark.spark]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an account with tables, made once: to copy it is quick."""
    path = tmp_path_factory.mktemp("made") / "lake"
    one = Account.open(str(path), spark, WallClock())
    one.create_base_table("r", {"k": "INT", "a": "INT"})
    one.execute("INSERT INTO r VALUES (1, 1), (2, 2)")
    one.create_view("v", "SELECT k, a FROM r WHERE a > 1")
    one.create_dynamic_table("d", "SELECT k, count(*) AS n FROM v GROUP BY k")
    one.create_dynamic_table("e", "SELECT n FROM d")
    one.execute("INSERT INTO r VALUES (2, 3)")
    one.refresh("e")
    one.store.close()  # type: ignore[attr-defined]
    return path


@pytest.fixture
def accounts(spark: SparkSession, tmp_path: Path, lake: Path) -> tuple[Account, Account]:
    """Two accounts on one folder; the first one has refreshed and read its tables."""
    shutil.copytree(lake, tmp_path / "lake")
    one, other = (Account.open(str(tmp_path / "lake"), spark, WallClock()) for _ in range(2))
    for name in ("r", "d", "e"):
        one.read(name).collect()
    one.refresh("e")
    return one, other


def rows(account: Account, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in account.read(name).collect())


def test_tables_and_a_view_made_anew(accounts: tuple[Account, Account]) -> None:
    one, other = accounts
    assert rows(one, "d") == [(2, 2)]
    for name in ("e", "d", "v"):
        other.drop(name)
    other.create_view("v", "SELECT k, a FROM r WHERE a >= 1")
    other.create_dynamic_table("d", "SELECT k, sum(a) AS n FROM v GROUP BY k")
    other.create_dynamic_table("e", "SELECT n FROM d")
    assert rows(one, "d") == [(1, 1), (2, 5)]
    one.execute("INSERT INTO r VALUES (1, 10)")
    assert [result.table for result in one.refresh("e")] == ["d", "e"]
    assert rows(one, "e") == rows(other, "e") == [(5,), (11,)]


def test_a_definition_and_a_view_that_are_replaced(accounts: tuple[Account, Account]) -> None:
    one, other = accounts
    text = "SELECT k, sum(a) AS n FROM v GROUP BY k"
    other.create_dynamic_table("d", text, or_replace=True, initialize=False)
    assert one.initialize("d")[-1].action is Action.REINITIALIZE
    assert rows(one, "d") == [(2, 5)]
    other.create_view("v", "SELECT k, a FROM r WHERE a < 3", or_replace=True)
    assert [result.action for result in one.refresh("d")] == [Action.REINITIALIZE]
    assert rows(one, "d") == [(1, 1), (2, 2)]


def test_a_refresh_whose_definition_is_replaced_meanwhile_is_refused(
    accounts: tuple[Account, Account], tmp_path: Path, spark: SparkSession
) -> None:
    _, other = accounts
    texts = ["SELECT k, count(*) AS n FROM v WHERE k > 1 GROUP BY k"]

    def late(log: TableLog, own: OwnCommit, **how: Any) -> int:
        if texts:
            other.create_dynamic_table("d", texts.pop(), or_replace=True, initialize=False)
        return own_commit(log, own, **how)

    store = DeltaStore(str(tmp_path / "lake"), spark, WallClock(), own_commit=late)
    slow = Account(store=store, clock=WallClock())
    slow.execute("INSERT INTO r VALUES (1, 7), (2, 7)")
    with pytest.raises(RefreshFailed, match="d was replaced by another definition meanwhile"):
        slow.refresh("d")
    assert slow.refresh("d")[-1].action is Action.REINITIALIZE
    assert rows(slow, "d") == [(2, 3)]


def test_a_base_table_made_anew(accounts: tuple[Account, Account]) -> None:
    one, other = accounts
    for name in ("e", "d", "v", "r"):
        other.drop(name)
    other.create_base_table("r", {"k": "INT", "b": "STRING"})
    other.execute("INSERT INTO r VALUES (7, 'new')")
    assert rows(one, "r") == [(7, "new")]
    one.create_dynamic_table("d", "SELECT b FROM r")
    assert rows(one, "d") == [("new",)]


def test_what_is_dropped_and_not_made_again(accounts: tuple[Account, Account]) -> None:
    one, other = accounts
    other.drop("e")
    with pytest.raises(DefinitionError, match="no table or view named e"):
        one.refresh("e")
    other.drop("d")
    other.drop("v")
    with pytest.raises(DefinitionError, match="no table or view named d"):
        one.read("d")


def test_made_anew_while_its_log_is_read(
    accounts: tuple[Account, Account], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, other = accounts
    third = Account.open(other.store.folder.path, spark, WallClock())  # type: ignore[attr-defined]
    poll = TableLog.poll
    made: list[TableLog] = []

    def disturbed(log: TableLog) -> Sequence[LoggedCommit]:
        read = poll(log)
        if log.name == "e" and not made:
            made.append(log)
            other.drop("e")
            other.create_dynamic_table("e", "SELECT n + 1 AS m FROM d")
        return read

    monkeypatch.setattr(TableLog, "poll", disturbed)
    third.dynamic_table("e")
    assert third.dynamic_table("e").text == "SELECT n + 1 AS m FROM d"


def test_one_that_is_dropped_after_the_folder_was_listed(accounts: tuple[Account, Account]) -> None:
    one, other = accounts
    listed = one.store.definitions()
    other.drop("e")
    one.store.begin()
    assert listed.get("e") is None
    assert "d" in listed


def test_an_operation_looks_at_each_table_once(
    accounts: tuple[Account, Account], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = accounts
    for number in range(20):
        one.create_view(f"v{number}", "SELECT k FROM r")
    reads: list[str] = []
    read = LocalFiles.read

    def noted(files: LocalFiles, file: str) -> str | None:
        reads.append(file)
        return read(files, file)

    monkeypatch.setattr(LocalFiles, "read", noted)
    one.execute("INSERT INTO r VALUES (3, 3)")
    assert sum("/v" in file for file in reads) == 0
    one.refresh("e")
    assert len(reads) < 100
