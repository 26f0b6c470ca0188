"""Several writers on one account: processes that die, clocks that disagree, plain Spark beside the engine."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.errors import CorruptTable, RefreshFailed, StoreError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.names.statements import Statement
from dynamic_tables.store.port import Action
from dynamic_tables.store.spark.commit_settings import commit_settings
from dynamic_tables.store.tables import refresh_commits
from dynamic_tables.store.tables.refresh_commits import RefreshCommits
from dynamic_tables.store.ticks.base_log import Stamp
from dynamic_tables.store.ticks.data_time import DataTime
from dynamic_tables.store.transactions.transactions import Transactions

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

HOUR = 3_600_000_000
DEAD = "another-host:1:1"


@dataclass
class Shifted:
    """A wall clock that is ahead, or behind, by `by` microseconds."""

    by: int
    simulated: ClassVar[bool] = False

    def now(self) -> int:
        return WallClock().now() + self.by


class Office:
    """An account with tables r and s of one column, and the tables c over r, and b over both."""

    def __init__(self, path: Path, spark: SparkSession) -> None:
        self.path, self.spark = path, spark
        self.accounts: list[Account] = []
        self.mine = self.another()

    def make(self) -> None:
        for name in ("r", "s"):
            self.mine.create_base_table(name, {"k": "INT"})
        self.mine.execute("INSERT INTO r VALUES (1), (2)", "INSERT INTO s VALUES (1), (2)")

    def close(self) -> None:
        for account in self.accounts:
            assert isinstance(account.store, DeltaStore)
            account.store.close()

    def another(self, clock: Shifted | None = None) -> Account:
        account = Account.open(str(self.path), self.spark, clock or WallClock())
        self.accounts.append(account)
        return account

    def rows(self, name: str) -> list[int]:
        return sorted(row[0] for row in self.spark.sql(f"SELECT k FROM delta.`{self.path}/{name}`").collect())

    def by_plain_spark(self, text: str) -> None:
        self.spark.sql(text.format(r=f"delta.`{self.path}/r`", s=f"delta.`{self.path}/s`"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """The folder of an account with both tables; tests change copies of it."""
    office = Office(tmp_path_factory.mktemp("made") / "account", spark)
    office.make()
    office.close()
    return office.path


@pytest.fixture
def office(tmp_path: Path, spark: SparkSession, made: Path) -> Iterator[Office]:
    office = Office(shutil.copytree(made, tmp_path / "account"), spark)
    yield office
    office.close()


class Died(BaseException):
    """Stands for the end of a process."""


def die_before(monkeypatch: pytest.MonkeyPatch, part: int, beforehand: Callable[[], None]) -> None:
    """The next process to reach a part of a transaction dies, after something else has happened."""
    run = Transactions._run

    def dying(self: Transactions, statement: Statement, stamp: Stamp) -> None:
        if stamp.part == part:
            monkeypatch.undo()
            beforehand()
            monkeypatch.setattr(Transactions, "_undo_after_failure", lambda self, stamp: None)
            raise Died
        run(self, statement, stamp)

    monkeypatch.setattr(Transactions, "_run", dying)


def dying_writer(office: Office) -> Account:
    account = office.another()
    assert isinstance(account.store, DeltaStore)
    account.store.undoing.owner = DEAD
    return account


BOTH = ("INSERT INTO r VALUES (3)", "INSERT INTO s VALUES (3)")


def test_the_parts_of_a_dead_process_are_never_read_and_undone_by_the_next(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.mine.create_dynamic_table("d", "SELECT r.k FROM r JOIN s ON r.k = s.k")
    writer = dying_writer(office)
    monkeypatch.setattr("dynamic_tables.store.transactions.owner.LEASE_MS", 10**9)
    with monkeypatch.context() as patched:
        die_before(patched, 2, lambda: office.by_plain_spark("INSERT INTO {r} VALUES (4)"))
        with pytest.raises(Died):
            writer.execute(*BOTH)
    assert office.rows("r") == [1, 2, 3, 4]
    # It may still run, as far as others know: its part is not read, and nobody waits for it.
    office.mine.execute("INSERT INTO s VALUES (3), (4)")
    office.mine.refresh("d")
    assert office.rows("d") == [1, 2]
    # Once it counts as dead, its part is taken back, and nothing else.
    monkeypatch.setattr("dynamic_tables.store.transactions.owner.LEASE_MS", -1)
    office.mine.refresh("d")
    assert (office.rows("r"), office.rows("d")) == ([1, 2, 4], [1, 2, 4])


def test_a_zombie_cannot_go_on_after_it_was_undone(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = dying_writer(office)
    monkeypatch.setattr("dynamic_tables.store.transactions.owner.LEASE_MS", -1)
    run = Transactions._run

    def slow(self: Transactions, statement: Statement, stamp: Stamp) -> None:
        if stamp.part == 2:
            monkeypatch.setattr(Transactions, "_run", run)
            office.mine.execute("INSERT INTO r VALUES (4)")
        run(self, statement, stamp)

    monkeypatch.setattr(Transactions, "_run", slow)
    with pytest.raises(StoreError, match="was undone by another process"):
        writer.execute(*BOTH)
    assert (office.rows("r"), office.rows("s")) == ([1, 2, 4], [1, 2])


def test_a_failed_transaction_leaves_the_commits_of_others(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Transactions._run

    def meanwhile(self: Transactions, statement: Statement, stamp: Stamp) -> None:
        if stamp.part == 2:
            office.by_plain_spark("INSERT INTO {r} VALUES (4)")
        run(self, statement, stamp)

    monkeypatch.setattr(Transactions, "_run", meanwhile)
    with pytest.raises(StoreError, match=r"DIVIDE_BY_ZERO|REMAINDER_BY_ZERO"):
        office.mine.execute("DELETE FROM r WHERE k = 1", "UPDATE s SET k = k % (k - k)")
    assert (office.rows("r"), office.rows("s")) == ([1, 2, 4], [1, 2])


def test_what_another_deleted_between_two_parts_stays_deleted(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Transactions._run
    office.by_plain_spark("INSERT INTO {r} SELECT CAST(id AS INT) FROM RANGE(5, 9, 1, 1)")

    def meanwhile(self: Transactions, statement: Statement, stamp: Stamp) -> None:
        if stamp.part == 2:
            office.by_plain_spark("DELETE FROM {r} WHERE k = 6")
        run(self, statement, stamp)

    monkeypatch.setattr(Transactions, "_run", meanwhile)
    fails = "UPDATE s SET k = k % (k - k)"
    with pytest.raises(StoreError, match="another writer has changed the same rows of r meanwhile"):
        office.mine.execute("DELETE FROM r WHERE k = 5", "DELETE FROM r WHERE k = 7", fails)
    assert office.rows("r") == [1, 2, 8]
    assert len(office.mine.end_unfinished(keep=True)) == 1


def test_what_others_built_on_is_not_undone_but_can_be_kept(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.mine.create_dynamic_table("d", "SELECT k FROM r")
    with monkeypatch.context() as patched:
        die_before(patched, 2, lambda: office.by_plain_spark("UPDATE {r} SET k = 30 WHERE k = 3"))
        with pytest.raises(Died):
            dying_writer(office).execute(*BOTH)
    monkeypatch.setattr("dynamic_tables.store.transactions.owner.LEASE_MS", -1)
    with pytest.raises(StoreError, match="another writer has changed the same rows of r since"):
        office.mine.execute("INSERT INTO s VALUES (5)")
    assert len(office.mine.end_unfinished(keep=True)) == 1
    office.mine.refresh("d")
    assert office.rows("d") == office.rows("r") == [1, 2, 30]


def test_a_transaction_with_a_part_in_a_table_that_cannot_be_read_is_not_torn(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.mine.create_dynamic_table("over_r", "SELECT k FROM r")
    with monkeypatch.context() as without:
        without.setattr(DataTime, "add_write", lambda self: None)
        office.mine.execute(*BOTH)
    office.by_plain_spark("ALTER TABLE {s} ADD COLUMN (x VOID)")
    other = office.another()
    with pytest.raises(CorruptTable, match="column x is of type"):
        other.read("s")
    other.refresh("over_r")
    assert office.rows("over_r") == [1, 2]
    office.by_plain_spark("RESTORE TABLE {s} TO VERSION AS OF 2")
    third = office.another()
    third.refresh("over_r")
    assert office.rows("over_r") == [1, 2, 3]


def test_clocks_that_disagree_lose_no_commit(office: Office) -> None:
    ahead, behind = office.another(Shifted(HOUR)), office.another(Shifted(-HOUR))
    ahead.create_dynamic_table("d", "SELECT k FROM r")
    for value, writer in enumerate((office.mine, behind, ahead, behind), 3):
        writer.execute(f"INSERT INTO r VALUES ({value})")
    office.by_plain_spark("INSERT INTO {r} VALUES (7)")
    behind.refresh("d")
    assert office.rows("d") == [1, 2, 3, 4, 5, 6, 7]
    timestamps = [record.frontier.timestamp for record in office.mine.describe("d").refreshes]
    assert timestamps == sorted(set(timestamps))


def test_tables_of_one_time_agree_whatever_is_committed_between_their_refreshes(office: Office) -> None:
    office.mine.create_dynamic_table("c", "SELECT k FROM r")
    office.mine.create_dynamic_table("b", "SELECT c.k FROM c JOIN r ON c.k = r.k", refresh_mode="INCREMENTAL")
    office.by_plain_spark("INSERT INTO {r} VALUES (3)")

    def commit_between(result: object) -> None:
        office.by_plain_spark("INSERT INTO {r} VALUES (4)")

    office.mine.refresh("b", observe=commit_between)
    assert office.rows("c") == office.rows("b") == [1, 2, 3]


def test_statements_that_meet_are_run_again(office: Office) -> None:
    refused: list[BaseException] = []

    def work(account: Account, key: int) -> None:
        try:
            for _ in range(3):
                account.execute(f"UPDATE r SET k = k + 10 WHERE k % 10 = {key}")
        except Exception as error:  # noqa: BLE001  (a thread cannot raise into the test)
            refused.append(error)

    threads = [threading.Thread(target=work, args=(office.another(), key)) for key in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (refused, office.rows("r")) == ([], [31, 32])


def test_a_tick_that_was_cut_is_named_and_can_be_written_anew(office: Office) -> None:
    office.mine.create_dynamic_table("d", "SELECT k FROM r")
    last = max((office.path / "_ticks").glob("*.json"))
    last.write_text(last.read_text()[:20])
    with pytest.raises(CorruptTable, match=rf"{last.name}: this tick .* cannot be read"):
        office.another().refresh("d")
    last.unlink()
    later = office.another()
    later.execute("INSERT INTO r VALUES (3)")
    later.refresh("d")
    assert office.rows("d") == [1, 2, 3]


def test_a_merge_by_spark_that_another_refresh_outran_is_refused(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other refresh, to an earlier time, commits after this one has looked and before Spark does."""
    office.mine.create_dynamic_table("d", "SELECT k FROM r")
    other = office.another()
    office.by_plain_spark("INSERT INTO {r} VALUES (3)")
    earlier = WallClock().now()
    other.store.decide(earlier)
    office.by_plain_spark("INSERT INTO {r} VALUES (4)")
    monkeypatch.setattr(RefreshCommits, "_active", lambda self, table: None)
    outrun = [lambda: other.refresh("d", earlier)]

    def late(*given: Any) -> Any:
        while outrun:
            outrun.pop()()
        return commit_settings(*given)

    monkeypatch.setattr(refresh_commits, "commit_settings", late)
    with pytest.raises(RefreshFailed, match="another process refreshed d during this refresh"):
        office.mine.refresh("d")
    assert office.rows("d") == [1, 2, 3]
    assert [each.action for each in office.mine.refresh("d")] == [Action.INCREMENTAL]
    assert office.rows("d") == [1, 2, 3, 4]
