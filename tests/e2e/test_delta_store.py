"""The engine on real Delta tables: what is in the commits, what survives, what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.definition import BaseTable, RefreshMode
from dynamic_tables.errors import ChangeDoesNotFit, CorruptTable, DefinitionError, RefreshFailed, StoreError
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.clock import SimulatedClock, WallClock
from dynamic_tables.store import delta
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.log.files import HadoopFiles, LocalFiles
from dynamic_tables.store.log.touched import AddAction
from dynamic_tables.store.port import Action, Relation
from dynamic_tables.store.spark.commit_settings import APPLICATION, USER_METADATA, VERSION
from dynamic_tables.store.tables import folder, refresh_commits, small_merge
from dynamic_tables.store.tables.refresh_commits import stored_columns
from dynamic_tables.versions import Frontier, SourceVersion

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def filled_folder(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A folder of an account with a table and its grouping; tests change copies of it."""
    path = tmp_path_factory.mktemp("filled") / "account"
    made = Shop(path, spark, path)
    made.make()
    made.store.close()
    return path


BY_ZERO = r"REMAINDER_BY_ZERO|DIVIDE_BY_ZERO"


class Shop:
    """An account in a folder, with a table r(k, v) of two rows at time 10 and its grouping g."""

    def __init__(self, path: Path, spark: SparkSession, filled_folder: Path) -> None:
        self.path, self.spark, self.clock = path, spark, SimulatedClock()
        self.filled_folder = filled_folder
        self.account = Account.open(str(path), spark, self.clock)

    def make(self) -> None:
        self.account.create_base_table("r", {"k": "INT", "v": "STRING"})
        self.at(10, "INSERT INTO r VALUES (1, 'a'), (2, 'a')")
        self.account.create_dynamic_table("g", "SELECT v, count(*) AS n FROM r GROUP BY v")

    def filled(self) -> Shop:
        """This shop with the table and its grouping, from a copy of a folder that has them."""
        self.store.close()
        shutil.copytree(self.filled_folder, self.path, dirs_exist_ok=True)
        self.clock.set(10)
        self.account = Account.open(str(self.path), self.spark, self.clock)
        return self

    def at(self, time: int, *statements: str) -> None:
        self.clock.set(time)
        if statements:
            self.account.execute(*statements)

    def refresh(self, name: str = "g") -> RefreshResult:
        return self.account.refresh(name)[-1]

    def rows(self, name: str = "g") -> list[tuple[object, ...]]:
        table = self.account.dynamic_table(name)
        rows = self.store.current(table).rows()
        return sorted((row[:-1] if table.incremental else row for row in rows), key=str)

    def reopened(self) -> Shop:
        other = Shop(self.path, self.spark, self.filled_folder)
        other.clock.set(self.clock.time)
        return other

    @property
    def store(self) -> DeltaStore:
        assert isinstance(self.account.store, DeltaStore)
        return self.account.store

    def log(self, name: str, version: int) -> dict[str, list[dict[str, object]]]:
        file = self.path / name / "_delta_log" / f"{version:020d}.json"
        actions: dict[str, list[dict[str, object]]] = {}
        for line in file.read_text().splitlines():
            for kind, body in json.loads(line).items():
                actions.setdefault(kind, []).append(body)
        return actions

    def versions(self, name: str) -> int:
        return len(list((self.path / name / "_delta_log").glob("*.json")))


@pytest.fixture
def shop(tmp_path: Path, spark: SparkSession, filled_folder: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path / "account", spark, filled_folder)
    yield shop
    shop.store.close()


def test_definitions_frontier_and_refresh_history_survive_a_restart(shop: Shop) -> None:
    shop.filled()
    shop.account.create_view("twos", "SELECT k, v FROM r WHERE k > 1")
    shop.account.create_dynamic_table(
        "t", "SELECT k, v FROM twos", target_lag=60, refresh_mode=RefreshMode.INCREMENTAL
    )
    shop.at(20, "INSERT INTO r VALUES (3, 'it''s ${x}')")
    shop.refresh("t")
    again = shop.reopened()
    assert again.store.definitions() == shop.store.definitions()
    assert list(again.store.definitions()) == ["r", "g", "twos", "t"]
    assert again.account.describe("t") == shop.account.describe("t")
    assert again.account.describe("t").data_timestamp == 20
    again.at(30, "DELETE FROM r WHERE k = 2")
    assert again.refresh("t").action is Action.INCREMENTAL
    assert again.rows("t") == [(3, "it's ${x}")]


def test_a_refresh_without_changes_is_a_commit_with_its_frontier_and_fence(shop: Shop) -> None:
    shop.filled().at(20)
    result = shop.refresh()
    assert result.action is Action.NO_DATA
    actions = shop.log("g", result.version)
    table_id = shop.log("g", 0)["metaData"][0]["id"]
    assert [(txn["appId"], txn["version"]) for txn in actions["txn"]] == [(table_id, 2)]
    metadata = json.loads(str(actions["commitInfo"][0]["userMetadata"]))
    assert metadata["refresh"]["frontier"]["timestamp"] == 20
    assert "remove" not in actions


def test_an_incremental_refresh_with_an_empty_change_set_is_a_commit_too(shop: Shop) -> None:
    shop.filled()
    before = shop.versions("g")
    shop.at(20, "UPDATE r SET v = v")
    result = shop.refresh()
    assert (result.action, result.record.changed) == (Action.INCREMENTAL, False)
    assert (result.version, shop.versions("g")) == (before, before + 1)
    shop.at(30)
    assert shop.refresh().action is Action.NO_DATA


@pytest.mark.nightly
def test_optimize_changes_nothing(shop: Shop) -> None:
    shop.filled().at(20, "INSERT INTO r VALUES (3, 'b')")
    shop.refresh()
    shop.at(30, "OPTIMIZE r")
    assert "OPTIMIZE" in str(shop.log("r", shop.versions("r") - 1)["commitInfo"][0]["operation"])
    assert shop.refresh().action is Action.NO_DATA
    shop.spark.sql(f"OPTIMIZE delta.`{shop.path}/g`")
    shop.at(40, "DELETE FROM r WHERE k = 3")
    assert shop.refresh().action is Action.INCREMENTAL
    assert shop.rows() == [("a", 2)]


@pytest.mark.nightly
def test_a_compaction_that_repeats_what_a_refresh_says_is_no_refresh(shop: Shop) -> None:
    shop.filled().at(20, "INSERT INTO r VALUES (3, 'b')")
    result = shop.refresh()
    # As Delta's automatic compaction does, in the session that has committed the refresh.
    repeating = shop.spark.newSession()
    metadata = str(shop.log("g", result.version)["commitInfo"][0]["userMetadata"])
    repeating.conf.set(USER_METADATA, metadata)
    repeating.sql(f"OPTIMIZE delta.`{shop.path}/g`")
    assert shop.log("g", result.version + 1)["commitInfo"][0]["userMetadata"] == metadata
    assert shop.rows() == [("a", 2), ("b", 1)]
    shop.at(30, "DELETE FROM r WHERE k = 3")
    assert shop.reopened().refresh().action is Action.INCREMENTAL
    assert shop.rows() == [("a", 2)]
    # Here the same commit changes rows.
    repeating.sql(f"DELETE FROM delta.`{shop.path}/g`")
    with pytest.raises(CorruptTable, match=r"is no refresh but changed rows; `account.reinitialize"):
        shop.rows()
    shop.at(40)
    assert shop.account.reinitialize("g")[-1].action is Action.REINITIALIZE
    assert shop.rows() == [("a", 2)]


def test_rows_of_other_types_are_refused_before_a_commit(shop: Shop) -> None:
    shop.filled()
    table, before = shop.account.dynamic_table("g"), shop.versions("g")
    record = replace(shop.store.refreshes(table)[-1], frontier=Frontier(20, {}, "g"))
    columns = {name: str(type_) for name, type_ in stored_columns(table)} | {"n": "DECIMAL(38,20)"}
    items = ", ".join(f"CAST(1.5 AS {type_}) AS `{name}`" for name, type_ in columns.items())
    for change in ("", ", 'INSERT' AS `$OPERATION`"):
        rows = shop.store.workspace.query(f"SELECT {items}{change}")
        write = shop.store.commits.merge if change else shop.store.commits.overwrite
        for relation in (rows, shop.store.workspace.small(rows.frame)):
            with pytest.raises(StoreError, match="g: column n is of type BIGINT, and a row for it has"):
                write(table, relation, record)  # type: ignore[arg-type]
    assert shop.versions("g") == before


@pytest.mark.nightly
def test_restore_overwrite_and_truncate_are_followed(shop: Shop) -> None:
    shop.filled().at(20, "MERGE INTO r USING (SELECT 1 AS k) AS s ON r.k <=> s.k WHEN MATCHED THEN DELETE")
    shop.refresh()
    assert shop.rows() == [("a", 1)]
    for time, statement, rows in (
        (30, "RESTORE TABLE r TO VERSION AS OF 1", [("a", 2)]),
        (40, "INSERT OVERWRITE r VALUES (7, 'x')", [("x", 1)]),
        (50, "TRUNCATE TABLE r", []),
    ):
        shop.at(time, statement)
        assert shop.refresh().action is Action.INCREMENTAL
        assert shop.rows() == rows


def test_a_replaced_table_is_another_table(shop: Shop) -> None:
    shop.filled()
    tracked = {k: v for k, v in _properties(shop).items() if not k.startswith("delta.rowTracking")}
    shop.at(20, "CREATE OR REPLACE TABLE r (k INT, v STRING)", "INSERT INTO r VALUES (1, 'new')")
    result = shop.refresh()
    assert (result.action, result.record.reason) == (Action.REINITIALIZE, "r was replaced")
    assert shop.rows() == [("new", 1)]
    assert {k: v for k, v in _properties(shop).items() if not k.startswith("delta.rowTracking")} == tracked
    assert list(shop.reopened().store.definitions()) == ["r", "g"]


@pytest.mark.nightly
def test_a_table_replaced_with_other_types_is_bound_again(shop: Shop) -> None:
    shop.filled()
    shop.account.create_dynamic_table("above", "SELECT * FROM g")
    shop.at(20, "CREATE OR REPLACE TABLE r (k INT, v BIGINT)", "INSERT INTO r VALUES (1, 5), (2, 5)")
    assert [result.action for result in shop.account.refresh("above")] == [Action.REINITIALIZE] * 2
    assert shop.rows() == [(5, 2)]
    assert shop.rows("above") == [(5, 2)]
    assert str(shop.account.dynamic_table("above").columns[0][1]) == "BIGINT"
    shop.at(30, "INSERT INTO r VALUES (3, 6)")
    assert [result.action for result in shop.reopened().account.refresh("above")] == [Action.INCREMENTAL] * 2
    assert shop.rows("above") == [(5, 2), (6, 1)]


@pytest.mark.nightly
def test_a_column_that_another_writer_adds_is_followed(shop: Shop) -> None:
    shop.filled()
    shop.account.create_dynamic_table("all_of_it", "SELECT * FROM r")
    shop.at(20)
    shop.spark.sql(f"ALTER TABLE delta.`{shop.path}/r` ADD COLUMN (w INT)")
    shop.spark.sql(f"INSERT INTO delta.`{shop.path}/r` VALUES (3, 'b', 7)")
    assert shop.refresh().action is Action.INCREMENTAL
    assert [row[:2] for row in shop.rows()] == [("a", 2), ("b", 1)]
    assert shop.refresh("all_of_it").action is Action.REINITIALIZE
    assert shop.rows("all_of_it") == [(1, "a", None), (2, "a", None), (3, "b", 7)]


def test_a_table_over_an_older_one_and_a_younger_base_table_starts_anew(shop: Shop) -> None:
    shop.filled().at(20)
    shop.account.create_base_table("young", {"v": "STRING"})
    shop.account.create_dynamic_table("both", "SELECT g.v, g.n FROM g JOIN young ON g.v = young.v")
    assert shop.account.describe("both").data_timestamp == 20
    assert shop.account.describe("g").data_timestamp == 20


@pytest.mark.nightly
def test_views_and_settings_of_the_caller_change_nothing(shop: Shop) -> None:
    shop.filled()
    shop.account.create_base_table("s", {"k": "INT"})
    other = shop.spark.newSession()
    other.sql("CREATE TEMPORARY VIEW r AS SELECT 99 AS k, 'view' AS v")
    other.sql("CREATE TEMPORARY VIEW s AS SELECT 99 AS k")
    other.conf.set("spark.sql.ansi.enabled", "false")
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    shop.clock.set(20)
    account = Account.open(str(shop.path), other, shop.clock)
    account.execute("INSERT INTO s SELECT k FROM r")
    assert sorted(row[0] for row in shop.spark.sql(f"SELECT k FROM delta.`{shop.path}/s`").collect()) == [
        1,
        2,
    ]
    with pytest.raises(StoreError, match=BY_ZERO):
        account.execute("INSERT INTO s SELECT k % (k - k) FROM r")
    account.store.close()  # type: ignore[attr-defined]


def _properties(shop: Shop) -> dict[str, str]:
    return dict(shop.store.folder.polled("r").newest.table.properties)


def test_settings_of_a_commit_do_not_stay_and_later_writes_are_not_swallowed(shop: Shop) -> None:
    shop.filled().at(20, "INSERT INTO r VALUES (3, 'b')")
    shop.refresh()
    for name in (USER_METADATA, APPLICATION, VERSION):
        assert shop.store.session.conf.get(name, None) is None
    shop.store.session.sql(f"INSERT INTO delta.`{shop.path}/g` VALUES ('zzz', 1, 1, 'x')")
    last = shop.log("g", shop.versions("g") - 1)
    assert "txn" not in last
    assert "userMetadata" not in last["commitInfo"][0]
    with pytest.raises(CorruptTable, match=r"g: version 3 \(WRITE\) is no refresh but changed rows"):
        shop.rows()


def test_settings_do_not_stay_after_a_failure(shop: Shop) -> None:
    shop.filled()
    with pytest.raises(StoreError, match=BY_ZERO):
        shop.at(20, "UPDATE r SET k = k % (k - k)")
    for name in (USER_METADATA, APPLICATION, VERSION):
        assert shop.store.session.conf.get(name, None) is None


def test_the_same_data_timestamp_cannot_be_committed_twice(shop: Shop) -> None:
    shop.filled().at(20, "INSERT INTO r VALUES (3, 'b')")
    other = shop.reopened()
    stale = other.store.refreshes(other.account.dynamic_table("g"))
    shop.refresh()
    table = other.account.dynamic_table("g")
    with pytest.raises(StoreError, match="another process refreshed g during this refresh"):
        other.store.touch(table, stale[-1])
    other.store.refreshes(table)
    with pytest.raises(StoreError, match="g already has a refresh at data timestamp 10 or later"):
        other.store.touch(table, stale[-1])
    assert shop.rows() == [("a", 2), ("b", 1)]


def test_a_foreign_commit_enters_with_the_next_data_timestamp(shop: Shop) -> None:
    shop.filled().at(20)
    shop.spark.sql(f"INSERT INTO delta.`{shop.path}/r` VALUES (3, 'b')")
    shop.account.refresh("g", 10)
    assert shop.rows() == [("a", 2)]
    assert shop.refresh().record.inserted == 1
    assert shop.rows() == [("a", 2), ("b", 1)]
    base = shop.store.definitions()["r"]
    assert isinstance(base, BaseTable)
    assert [version.timestamp for version in shop.store.history(base).versions] == [0, 10, 20]
    with pytest.raises(StoreError, match="the data timestamp 20 is decided already"):
        shop.account.execute("INSERT INTO r VALUES (4, 'b')")
    shop.clock.set(21)
    assert shop.account.execute("INSERT INTO r VALUES (4, 'b')") == {"r": 3}


@pytest.mark.nightly
def test_a_failing_query_leaves_the_contents(shop: Shop) -> None:
    shop.filled()
    shop.account.create_dynamic_table("q", "SELECT 10 % k AS n FROM r")
    shop.at(20, "INSERT INTO r VALUES (0, 'z')")
    with pytest.raises(RefreshFailed, match=BY_ZERO) as caught:
        shop.refresh("q")
    assert "\n" not in str(caught.value)
    assert shop.rows("q") == [(0,), (0,)]
    assert shop.account.describe("q").data_timestamp == 10
    shop.at(30, "DELETE FROM r WHERE k = 0")
    assert shop.refresh("q").action is Action.INCREMENTAL


def test_a_transaction_over_tables_is_all_or_nothing(shop: Shop) -> None:
    shop.filled()
    shop.account.create_base_table("s", {"k": "INT"})
    with pytest.raises(StoreError):
        shop.at(20, "INSERT INTO s VALUES (1)", "UPDATE r SET k = k % (k - k)")
    shop.account.create_dynamic_table("d", "SELECT k FROM s")
    assert shop.rows("d") == []
    assert shop.refresh().action is Action.NO_DATA


@pytest.mark.nightly
def test_a_last_statement_without_effect_completes_its_transaction(shop: Shop) -> None:
    shop.filled().at(20, "INSERT INTO r VALUES (3, 'b')", "DELETE FROM r WHERE k = 99")
    assert shop.refresh().action is Action.INCREMENTAL
    shop.at(30, "DELETE FROM r WHERE k = 99", "DELETE FROM r WHERE k = 98")
    assert shop.refresh().action is Action.NO_DATA


def folded(store: DeltaStore, row: str, *, few: bool) -> Relation:
    """A folded change set of one row; few are committed by the engine itself, many by MERGE."""
    text = f"SELECT * FROM VALUES ({row}) AS t(v, n, `$ROW_ID`, `$OPERATION`)"
    return store.workspace.materialized(text, ()) if few else store.workspace.query(text)


@pytest.mark.nightly
@pytest.mark.parametrize("few", [True, False])
def test_changes_that_do_not_fit_are_refused(shop: Shop, few: bool) -> None:
    shop.filled()
    table = shop.account.dynamic_table("g")
    record = shop.store.refreshes(table)[-1]
    record = replace(record, frontier=replace(record.frontier, timestamp=20))
    plan = shop.account.rules.apply(table.columns)
    before = shop.versions("g")
    for row in ("'b', 1L, 'gs1:b', 'DELETE'", "'b', 1L, 'gs1:b', 'UPDATE'", "'a', 3L, 'gs1:a', 'INSERT'"):
        with pytest.raises(ChangeDoesNotFit, match="MERGE refused"):
            shop.store.merge(table, folded(shop.store, row, few=few), plan, record)
    assert shop.versions("g") == before
    lenient = DeltaStore(str(shop.path), shop.spark, shop.clock, strict_merge=False)
    lenient.merge(table, folded(lenient, "'a', 3L, 'gs1:a', 'INSERT'", few=few), plan, record)
    assert shop.rows() == [("a", 3)]
    record = replace(record, frontier=replace(record.frontier, timestamp=30))
    absent = folded(lenient, "'b', 1L, 'gs1:b', 'DELETE'", few=few)
    assert lenient.merge(table, absent, plan, record) == before + 1
    assert shop.rows() == [("a", 3)]


@pytest.mark.nightly
def test_a_version_is_readable_until_its_files_are_gone(shop: Shop) -> None:
    shop.filled().at(20, "UPDATE r SET v = 'b' WHERE k = 1")
    old = SourceVersion(1, 10, 1, "")
    assert shop.store.readable("r", old)
    removed = shop.log("r", 2)["remove"]
    assert removed
    for action in removed:
        (shop.path / "r" / str(action["path"])).unlink()
    assert not shop.store.readable("r", old)
    assert not shop.store.readable("r", SourceVersion(99, 10, 1, ""))
    result = shop.refresh()
    assert result.action is Action.REINITIALIZE
    assert "no longer readable" in result.record.reason


@pytest.mark.nightly
def test_an_account_lives_on_after_its_old_logs_were_cleaned_up(tmp_path: Path, spark: SparkSession) -> None:
    clock = SimulatedClock()
    store = DeltaStore(str(tmp_path), spark, clock, properties={"delta.checkpointInterval": "2"})
    account = Account(store=store, clock=clock)
    account.create_base_table("r", {"k": "INT"})
    account.create_dynamic_table("d", "SELECT k FROM r")
    for time in range(1, 6):
        clock.set(time)
        account.execute(f"INSERT INTO r VALUES ({time})")
        account.refresh("d")
    for name in ("r", "d"):
        for version in range(4):
            (tmp_path / name / "_delta_log" / f"{version:020d}.json").unlink()
        for version in range(4):
            (tmp_path / name / "_delta_log" / f".{version:020d}.json.crc").unlink(missing_ok=True)
    again = Account.open(str(tmp_path), spark, clock)
    assert again.store.definitions() == store.definitions()
    assert again.describe("d").data_timestamp == 5
    assert [record.frontier.timestamp for record in again.describe("d").refreshes] == [3, 4, 5]
    assert not again.store.readable("r", SourceVersion(2, 2, 2, ""))
    assert again.store.readable("r", SourceVersion(4, 4, 4, ""))
    clock.set(10)
    again.execute("DELETE FROM r WHERE k = 1")
    assert again.refresh("d")[-1].action is Action.INCREMENTAL
    rows = again.store.current(again.dynamic_table("d")).rows()
    assert sorted(str(row[0]) for row in rows) == ["2", "3", "4", "5"]


@pytest.mark.nightly
def test_after_a_vacuum_below_its_frontier_a_table_starts_anew(shop: Shop) -> None:
    shop.filled()
    shop.account.create_dynamic_table("above", "SELECT v FROM g")
    shop.at(20, "INSERT OVERWRITE r VALUES (7, 'x')")
    shop.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    shop.spark.sql(f"VACUUM delta.`{shop.path}/r` RETAIN 0 HOURS")
    shop.spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    first, second = shop.reopened().account.refresh("above", 10), shop.account.refresh("above")
    assert first == ()
    assert [(each.action, each.record.reason) for each in second] == [
        (Action.REINITIALIZE, "version 1 of r is no longer readable"),
        (Action.INCREMENTAL, "changed: g"),
    ]
    assert shop.rows() == [("x", 1)]
    assert [row[:1] for row in shop.rows("above")] == [("x",)]
    shop.at(30, "INSERT INTO r VALUES (8, 'y')")
    assert shop.refresh().action is Action.INCREMENTAL


def test_what_is_no_table_of_the_account_concerns_nobody_else(shop: Shop) -> None:
    shop.filled()
    shop.account.create_dynamic_table("above", "SELECT v FROM g")
    (shop.path / "stray").mkdir()
    shop.spark.sql(f"CREATE TABLE delta.`{shop.path}/foreign` (k INT) USING delta")
    shop.spark.sql(f"CREATE TABLE delta.`{shop.path}/newer` (k INT) USING delta {NEWER}")
    again = shop.reopened()
    account = again.account
    assert list(account.store.definitions()) == ["r", "g", "above"]
    (shop.path / "stray" / "file.txt").write_text("x")
    for name, message in (
        ("stray", r"stray.*is no Delta table"),
        ("foreign", r"foreign: a table without dvs\.definition"),
        ("newer", r"newer: its dvs\.definition cannot be read .*unknown kind 'spaceship'"),
    ):
        for ask in (
            lambda name: account.create_base_table(name, {"k": "INT"}),
            lambda name: account.create_dynamic_table("d", f"SELECT k FROM {name}"),
            lambda name: account.execute(f"INSERT INTO {name} VALUES (1)"),
            lambda name: account.read(name),
        ):
            with pytest.raises(CorruptTable, match=message) as caught:
                ask(name)
            assert "\n" not in str(caught.value)
    again.at(20, "INSERT INTO r VALUES (3, 'b')")
    assert [result.action for result in account.refresh("above")] == [Action.INCREMENTAL] * 2
    account.drop("above")
    assert list(account.store.definitions()) == ["r", "g"]


NEWER = """TBLPROPERTIES ('dvs.definition' = '{"kind": "spaceship"}')"""


@pytest.mark.nightly
def test_a_commit_that_cannot_be_read_concerns_the_tables_above_it(shop: Shop) -> None:
    shop.filled()
    shop.account.create_dynamic_table("above", "SELECT v FROM g")
    shop.account.create_base_table("s", {"k": "INT"})
    (shop.path / "g" / "_delta_log" / f"{1:020d}.json").write_text("{no json")
    again = shop.reopened()
    account = again.account
    for name in ("g", "above"):
        with pytest.raises(CorruptTable, match="g: commit 1 of its Delta log cannot be read"):
            account.refresh(name)
    again.at(20, "INSERT INTO r VALUES (3, 'b')", "INSERT INTO s VALUES (1)")
    account.create_dynamic_table("beside", "SELECT v FROM r")
    assert account.read("beside").count() == 3


@pytest.mark.nightly
def test_a_dropped_name_can_be_used_again(shop: Shop) -> None:
    shop.filled()
    shop.account.drop("g")
    assert sorted(path.name for path in shop.path.iterdir()) == [".dropped", "_operations", "_ticks", "r"]
    shop.account.create_dynamic_table("g", "SELECT k FROM r")
    assert shop.rows() == [(1,), (2,)]
    shop.account.drop("g")
    shop.account.drop("r")
    shop.account.create_base_table("r", {"x": "BIGINT"})
    shop.at(20, "INSERT INTO r VALUES (5)")
    shop.account.create_dynamic_table("d", "SELECT x FROM r")
    assert shop.rows("d") == [(5,)]


@pytest.mark.nightly
def test_text_that_no_rule_covers_is_typed_and_run_by_spark(shop: Shop) -> None:
    shop.filled()
    shop.account.create_view(
        "w", "SELECT k, CAST(regr_count(k, k) OVER (ORDER BY k DESC) AS INT) AS n FROM r"
    )
    table = shop.account.create_dynamic_table(
        "top", "SELECT k, n, CAST(k AS DECIMAL(5,2)) AS d FROM w WHERE n = 1"
    )
    assert not table.incremental
    assert [str(type_) for _, type_ in table.columns] == ["INT", "INT", "DECIMAL(5,2)"]
    assert str(shop.rows("top")) == "[(2, 1, Decimal('2.00'))]"
    with pytest.raises(DefinitionError, match="which dynamic tables do not hold"):
        shop.account.create_dynamic_table("bad", "SELECT make_dt_interval(k) AS l FROM r")


def test_a_dynamic_table_reads_another_at_its_data_timestamp(shop: Shop) -> None:
    shop.filled()
    shop.account.create_dynamic_table("full", "SELECT v, n FROM g", refresh_mode=RefreshMode.FULL)
    shop.account.create_dynamic_table("top", "SELECT n, count(*) AS c FROM full GROUP BY n")
    shop.at(20, "INSERT INTO r VALUES (3, 'b')")
    results = shop.account.refresh("top")
    assert [(r.table, r.action) for r in results] == [
        ("g", Action.INCREMENTAL),
        ("full", Action.FULL),
        ("top", Action.INCREMENTAL),
    ]
    assert shop.rows("top") == [(1, 1), (2, 1)]


def test_both_ways_to_files_agree(tmp_path: Path, spark: SparkSession) -> None:
    hadoop, local = HadoopFiles(spark), LocalFiles()
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "f.json").write_text("é", encoding="utf-8")
    for files in (hadoop, local):
        assert list(files.folders(f"{tmp_path}/a")) == ["b"]
        assert [name for name in files.files(f"{tmp_path}/a") if not name.startswith(".")] == ["f.json"]
        assert list(files.folders(f"{tmp_path}/none")) == []
        assert files.read(f"{tmp_path}/a/f.json") == "é"
        assert files.read(f"{tmp_path}/a/none") is None
        assert files.exists(f"{tmp_path}/a/b")
    for files in (hadoop, local):
        data = f"{tmp_path}/a/{type(files).__name__}.bin"
        files.write(data, bytes(range(256)) * 2_000)
        with pytest.raises(OSError, match=f"{type(files).__name__}.bin"):
            files.write(data, b"again")
        assert files.read_bytes(data) == bytes(range(256)) * 2_000
        with files.open(data) as stream:
            assert stream.seek(-3, 2) == 511_997
            assert (stream.read(9), stream.read(9)) == (b"\xfd\xfe\xff", b"")
            stream.seek(255)
            assert stream.read(300_000) == (bytes(range(256)) * 2_000)[255:300_255]
        with pytest.raises(OSError, match="none"):
            files.open(f"{tmp_path}/a/none")
    for files in (hadoop, local):
        file = f"{tmp_path}/a/ticks/{type(files).__name__}.json"
        assert [files.put(file, text) for text in ("first", "second")] == [True, False]
        assert (files.read(file) or "").strip() == "first"
    for files, other in ((hadoop, "c/d"), (local, "c/e")):
        (tmp_path / other).mkdir(parents=True)
        (tmp_path / "a" / "b" / "mine").touch()
        with pytest.raises(FileExistsError, match="is there already"):
            files.rename(f"{tmp_path}/a/b", f"{tmp_path}/{other}")
        files.rename(f"{tmp_path}/a/b", f"{tmp_path}/{other}", over=True)
        assert (tmp_path / other / "mine").exists()
        assert not (tmp_path / "a" / "b").exists()
        files.rename(f"{tmp_path}/{other}", f"{tmp_path}/{other}2")
        files.rename(f"{tmp_path}/{other}2", f"{tmp_path}/{other}")
        (tmp_path / "a" / "b").mkdir()
    hadoop.remove(f"{tmp_path}/c/d")
    local.remove(f"{tmp_path}/c/e")
    for files, name in ((hadoop, "one"), (local, "other")):
        (tmp_path / "c" / name).touch()
        files.remove(f"{tmp_path}/c/{name}")
    assert list((tmp_path / "c").iterdir()) == []


@pytest.mark.nightly
def test_small_changes_are_written_without_spark_wherever_hadoop_reaches(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine's disk, through Hadoop as an object store is."""
    for module in (delta, folder):
        monkeypatch.setattr(module, "files_of", lambda _, spark: HadoopFiles(spark))
    account = Account.open(str(tmp_path), spark, WallClock())
    account.create_base_table("r", {"k": "INT", "v": "INT"})
    account.execute("INSERT INTO r VALUES (1, 1), (1, 2), (2, 5), (3, 6)")
    account.create_dynamic_table("t", "SELECT k, SUM(v) AS s FROM r GROUP BY k")
    account.execute(
        "UPDATE r SET v = 9 WHERE v = 2", "DELETE FROM r WHERE k = 3", "INSERT INTO r VALUES (4, 7)"
    )
    assert account.refresh("t")[-1].action is Action.INCREMENTAL
    account.execute("DELETE FROM r WHERE k = 2")
    account.refresh("t")
    logs = sorted((tmp_path / "t" / "_delta_log").glob("*.json"))[1:]
    commits = [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]
    assert {lines[0]["commitInfo"]["engineInfo"] for lines in commits} == {"dynamic-tables"}
    assert any(line["add"].get("deletionVector") for lines in commits for line in lines if "add" in line)
    stored = spark.read.format("delta").load(str(tmp_path / "t")).select("k", "s")
    assert sorted(map(tuple, stored.collect())) == [(1, 10), (4, 7)]


REFUSED = (
    "INSERT INTO r SELECT java_method('java.lang.System', 'exit', 0)",
    "INSERT INTO r SELECT reflect('java.lang.System', 'getenv', 'HOME'), 'x'",
    "DELETE FROM delta.`/tmp/x`",
    "DELETE FROM r WHERE k IN (SELECT k FROM parquet.`/etc`)",
    "INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT 1",
    "INSERT INTO IDENTIFIER('r') SELECT 1",
    "INSERT INTO delta.`/tmp/x` SELECT 1",
    "INSERT INTO other.r SELECT 1, 'x'",
    "INSERT INTO r SELECT * FROM identifier('r')",
    "UPDATE r SET k = 1 WHERE k IN (SELECT id FROM range(3))",
    "UPDATE parquet.`/tmp/x` SET k = 1",
    "DELETE FROM r /* a comment /* ends */",
    "DELETE FROM r; DELETE FROM r",
    "DELETE FROM g",
    "DELETE FROM nobody",
    "DROP TABLE r",
    "CREATE OR REPLACE TABLE r (k INT) LOCATION '/tmp/x'",
    "CREATE OR REPLACE TABLE r AS SELECT 1 AS k",
    "OPTIMIZE r ZORDER BY k",
    "SELECT 1",
    "",
)


def test_statements_outside_the_account_are_refused(shop: Shop) -> None:
    shop.filled()
    before = shop.versions("r")
    for statement in REFUSED:
        with pytest.raises(DefinitionError):
            shop.account.execute(statement)
    with pytest.raises(DefinitionError):
        shop.account.execute("DELETE FROM r", "DROP TABLE r")
    assert shop.versions("r") == before


@pytest.mark.nightly
def test_few_first_rows_are_a_commit_of_the_engines_own(shop: Shop) -> None:
    """With the columns that the first refresh adds; what is written anew takes the place of all files."""
    shop.filled()
    first = shop.log("g", 1)
    assert [body["engineInfo"] for body in first["commitInfo"]] == ["dynamic-tables"]
    assert (len(first["add"]), "remove" in first) == (1, False)
    shop.at(15, "INSERT INTO r VALUES (3, 'b')")
    shop.refresh()
    # Of the two files of now a definition with other columns replaces both.
    shop.at(20)
    text = "SELECT v, max(k) AS most, DATE '1582-10-10' AS day FROM r GROUP BY v"
    shop.account.create_dynamic_table("g", text, or_replace=True)
    newest = shop.log("g", shop.versions("g") - 1)
    assert [body["engineInfo"] for body in newest["commitInfo"]] == ["dynamic-tables"]
    assert (len(newest["add"]), len(newest["remove"]), len(newest["metaData"])) == (1, 2, 1)
    read = shop.spark.sql(f"SELECT v, most, CAST(day AS STRING) FROM delta.`{shop.path}/g`").collect()
    assert sorted(tuple(row) for row in read) == [("a", 2, "1582-10-10"), ("b", 3, "1582-10-10")]


@pytest.mark.nightly
@pytest.mark.parametrize("text", ["SELECT k, ARRAY(k) AS l FROM r", "SELECT v FROM r"])
def test_a_table_without_row_ids_is_written_by_spark(shop: Shop, text: str) -> None:
    shop.filled()
    shop.at(20)
    shop.account.create_dynamic_table("g", text, refresh_mode=RefreshMode.FULL, or_replace=True)
    newest = shop.log("g", shop.versions("g") - 1)
    assert [str(body["engineInfo"])[:12] for body in newest["commitInfo"]] == ["Apache-Spark"]
    assert len(shop.rows()) == shop.account.read("g").count() > 0


@pytest.mark.nightly
@pytest.mark.parametrize("mode", [RefreshMode.INCREMENTAL, RefreshMode.FULL])
def test_a_replaced_definition_may_have_columns_of_which_delta_demands_more(
    shop: Shop, mode: RefreshMode
) -> None:
    shop.filled()
    shop.at(20)
    text = "SELECT v, MAX(k) AS k, TIMESTAMP_NTZ '2024-01-01' AS at FROM r GROUP BY v"
    shop.account.create_dynamic_table("g", text, refresh_mode=mode, or_replace=True)
    shop.at(30, "INSERT INTO r VALUES (3, 'b')")
    shop.refresh()
    read = shop.spark.sql(f"SELECT v, k, CAST(at AS STRING) FROM delta.`{shop.path}/g`").collect()
    assert sorted(map(tuple, read)) == [("a", 2, "2024-01-01 00:00:00"), ("b", 3, "2024-01-01 00:00:00")]


def test_what_is_altered_while_new_columns_are_written_stays(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit that brings the columns takes the place of the whole description of the table."""
    shop.filled()
    shop.at(20)
    rightly = small_merge.new_file
    times: list[object] = []
    altered = f"ALTER TABLE delta.`{shop.path}/g` SET TBLPROPERTIES ('my.note' = 'kept')"

    def altered_meanwhile(*given: Any) -> AddAction:
        if not times:
            times.append(shop.spark.sql(altered))
        return rightly(*given)

    monkeypatch.setattr(refresh_commits, "new_file", altered_meanwhile)
    shop.account.create_dynamic_table("g", "SELECT v, max(k) AS m FROM r GROUP BY v", or_replace=True)
    assert times
    properties = shop.spark.sql(f"SHOW TBLPROPERTIES delta.`{shop.path}/g`").collect()
    assert ("my.note", "kept") in [tuple(each) for each in properties]
    assert shop.rows() == [("a", 2)]


@pytest.mark.parametrize(
    ("query", "mode", "error"),
    [
        ("SELECT r.*, s.* FROM r JOIN r AS s USING (k)", "AUTO", "two output columns are named k"),
        ("SELECT r.*, s.* FROM r JOIN r AS s USING (k)", "FULL", "two output columns are named k"),
        ("SELECT k AS `a b` FROM r", "AUTO", "a dynamic table has no column named 'a b', because of ' '"),
        ("SELECT * FROM (SELECT k AS `a b` FROM r)", "FULL", "a dynamic table has no column named 'a b'"),
    ],
)
def test_a_name_that_no_table_can_have_is_named(shop: Shop, query: str, mode: str, error: str) -> None:
    """Spark's own error named the table twice, and not the column."""
    shop.filled()
    with pytest.raises(DefinitionError, match=f"^{error}"):
        shop.account.create_dynamic_table("w", query, refresh_mode=mode)
