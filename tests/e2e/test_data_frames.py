"""An account read and written by data frames, and a dynamic table that somebody edited."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import CorruptTable, DefinitionError, StoreError
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.log import numbered
from dynamic_tables.store.port import Action
from dynamic_tables.store.sizes import Sizes

pytestmark = [pytest.mark.nightly, pytest.mark.spark]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """The folder of an account with a table and its grouping, at time 10; tests change copies of it."""
    path = tmp_path_factory.mktemp("made") / "account"
    account = Account.open(str(path), spark, SimulatedClock(10))
    account.create_base_table("r", {"k": "INT", "v": "STRING"})
    account.write("r", spark.sql("SELECT 'a' AS v, CAST(id AS INT) AS k FROM RANGE(3)"))
    account.create_dynamic_table("n", "SELECT v, COUNT(*) AS n FROM r GROUP BY v")
    account.store.close()  # type: ignore[attr-defined]
    return path


@pytest.fixture
def account(tmp_path: Path, spark: SparkSession, made: Path) -> Iterator[Account]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    account = Account.open(str(tmp_path), spark, SimulatedClock(20))
    yield account
    account.store.close()  # type: ignore[attr-defined]


def rows(account: Account, name: str, at: int | None = None) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in account.read(name, at).collect())


def test_frames_are_written_and_read_at_any_data_timestamp(account: Account, spark: SparkSession) -> None:
    assert account.read("n").columns == ["v", "n"]
    account.write("r", spark.sql("SELECT 9 AS k, 'b' AS v"), "overwrite")
    assert account.refresh("n")[-1].action is Action.INCREMENTAL
    assert (rows(account, "r"), rows(account, "n")) == ([(9, "b")], [("b", 1)])
    assert rows(account, "r", 10) == rows(account, "r", 19) == [(0, "a"), (1, "a"), (2, "a")]
    assert rows(account, "n", 10) == [("a", 3)]


def test_old_data_timestamps_are_read_by_a_process_that_begins_late(
    account: Account, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbered, "WHOLE_EVERY", 2)
    for time in (20, 30, 40):
        account.clock.set(time)  # type: ignore[attr-defined]
        account.execute(f"INSERT INTO r VALUES ({time}, 'b')")
    again = Account.open(str(tmp_path), spark, SimulatedClock(50))
    assert [row[0] for row in rows(again, "r", 10)] == [0, 1, 2]
    assert [row[0] for row in rows(again, "r", 35)] == [0, 1, 2, 20, 30]
    again.store.close()  # type: ignore[attr-defined]


def test_what_cannot_be_read_or_written_is_one_line(account: Account, spark: SparkSession) -> None:
    frame = spark.sql("SELECT 9 AS k, 'b' AS v")
    account.create_view("w", "SELECT k FROM r")
    for refused, message in (
        (lambda: account.read("w"), "w is a view"),
        (lambda: account.read("n", 15), "n cannot be read at 15: n has no version with this data timestamp"),
        (lambda: account.write("n", frame), "n is no base table"),
        (lambda: account.write("r", frame, "upsert"), "no mode 'upsert'; there are: append, overwrite"),
    ):
        with pytest.raises(DefinitionError, match=message):
            refused()
    with pytest.raises(StoreError, match="r: "):
        account.write("r", spark.sql("SELECT 'x' AS other"))
    assert len(rows(account, "r")) == 3


def test_an_edited_table_is_repaired_by_the_command_that_the_message_names(
    account: Account, spark: SparkSession, tmp_path: Path
) -> None:
    account.create_dynamic_table("above", "SELECT v, n * 2 AS m FROM n")
    spark.sql(f"DELETE FROM delta.`{tmp_path}/n`")
    with pytest.raises(CorruptTable, match=r'account\.reinitialize\("n"\)'):
        account.refresh("above")
    assert [result.action for result in account.reinitialize("n")] == [Action.REINITIALIZE]
    assert rows(account, "n") == [("a", 3)]
    account.clock.set(30)  # type: ignore[attr-defined]
    account.execute("INSERT INTO r VALUES (3, 'a')")
    assert [result.action for result in account.refresh("above")] == [Action.INCREMENTAL] * 2
    assert (rows(account, "n"), rows(account, "above")) == ([("a", 4)], [("a", 8)])


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [Sizes(), Sizes(named_bytes=0)], ids=["small", "large"])
def test_a_frame_keeps_to_the_version_that_it_was_made_for(
    sizes: Sizes, tmp_path: Path, spark: SparkSession
) -> None:
    """Whichever way it finds its files, and however the table goes on."""
    clock = SimulatedClock(10)
    account = Account(store=DeltaStore(str(tmp_path), spark, clock, sizes=sizes), clock=clock)
    account.create_base_table("r", {"k": "INT", "v": "STRING"})
    account.execute("INSERT INTO r VALUES (1, 'a'), (2, 'a'), (3, NULL)")
    account.create_dynamic_table("d", "SELECT k, v FROM r WHERE k > 1")
    first = account.read("r"), account.read("d")
    clock.set(20)
    # A file with a deletion vector, and another one.
    account.execute("DELETE FROM r WHERE k = 2", "INSERT INTO r VALUES (4, 'b')")
    account.refresh("d")
    second = account.read("r"), account.read("d")
    past = account.read("d", 10)
    clock.set(30)
    account.execute("INSERT OVERWRITE r VALUES (7, 'x')")
    account.refresh("d")
    expected = [
        (first[0], {(1, "a"), (2, "a"), (3, None)}),
        (first[1], {(2, "a"), (3, None)}),
        (second[0], {(1, "a"), (3, None), (4, "b")}),
        (second[1], {(3, None), (4, "b")}),
        (past, {(2, "a"), (3, None)}),
        (account.read("r"), {(7, "x")}),
        (account.read("d"), {(7, "x")}),
    ]
    for frame, held in expected:
        assert {tuple(row) for row in frame.collect()} == held
        assert frame.count() == len(held)
    assert past.where("v IS NULL").count() == 1
