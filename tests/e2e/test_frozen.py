"""A frozen part on Delta: data that expire or are late, another definition, history that is copied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaign.audit.audit import AuditVerdict, audit
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

SUMS = "SELECT day, SUM(n) AS n FROM e GROUP BY day"
FROZEN = "day < current_date() - 30"
OLD, NEW = "DATE'2020-01-01'", "DATE'2999-01-01'"


@pytest.fixture
def account(tmp_path: Path, spark: SparkSession) -> Iterator[Account]:
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    account.create_base_table("e", [("day", "DATE"), ("n", "INT")])
    account.execute(f"INSERT INTO e VALUES ({OLD}, 1), ({OLD}, 2), ({NEW}, 4)")
    account.create_dynamic_table("s", SUMS, frozen_where=FROZEN)
    yield account
    account.store.close()  # type: ignore[attr-defined]


def rows(account: Account, name: str) -> list[tuple[str, object]]:
    return sorted((str(day)[:4], n) for day, n in account.read(name).collect())


def test_results_outlive_their_data_and_late_data_are_counted(account: Account, tmp_path: Path) -> None:
    account.create_dynamic_table("above", "SELECT s.day, s.n FROM s JOIN e ON s.n + 1 = e.n")
    account.execute(
        f"DELETE FROM e WHERE day = {OLD}", f"INSERT INTO e VALUES ({NEW}, 8), (DATE'2020-02-02', 13)"
    )
    below, above = account.refresh("above")
    assert below.action is above.action is Action.INCREMENTAL
    # The old group goes, and another old one comes: both too late.
    assert (below.record.inserted, below.record.deleted, below.record.late) == (1, 1, 2)
    assert rows(account, "s") == [("2020", 3), ("2999", 12)]
    assert rows(account, "above") == [("2020", 3), ("2999", 12)]
    assert account.describe("s").refreshes[-1].late == 2
    account.reinitialize("s")
    assert rows(account, "s") == [("2020", 3), ("2999", 12)]

    assert audit(tmp_path / "account").verdict is AuditVerdict.HOLDS
    again = Account.open(str(tmp_path / "account"), account.store.session, WallClock())  # type: ignore[attr-defined]
    assert "FROZEN_WHERE = 'day < current_date() - 30'" in again.script()
    again.store.session.sql(f"DELETE FROM delta.`{tmp_path}/account/s` WHERE n = 3")  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="reinitialize"):
        again.refresh("s")
    again.reinitialize("s")
    assert rows(again, "s") == [("2020", 3), ("2999", 12)]
    again.store.close()  # type: ignore[attr-defined]


def test_a_definition_that_would_change_the_frozen_part_is_refused(account: Account) -> None:
    for query, frozen, mode, remedy in (
        ("SELECT day, COUNT(*) AS m FROM e GROUP BY day", FROZEN, "AUTO", "gives day DATE, n BIGINT"),
        (SUMS, "day < current_date() - 60", "AUTO", "backfill_from='s'"),
        (SUMS, "", "AUTO", "backfill_from='s'"),
        (SUMS, FROZEN, "FULL", "backfill_from='s'"),
    ):
        with pytest.raises(DefinitionError, match=f"would change its frozen part; .*{remedy}"):
            account.create_dynamic_table("s", query, frozen_where=frozen, refresh_mode=mode, or_replace=True)
    doubled = "SELECT day, 2 * SUM(n) AS n FROM e GROUP BY day"
    account.create_dynamic_table("s", doubled, frozen_where=FROZEN, or_replace=True)
    assert rows(account, "s") == [("2020", 3), ("2999", 8)]


def test_history_is_copied(account: Account) -> None:
    account.create_base_table("before", [("day", "DATE"), ("n", "BIGINT")])
    account.execute(f"INSERT INTO before VALUES ({OLD}, 70), ({OLD}, 70), ({NEW}, 80)")
    account.create_dynamic_table("t", SUMS, frozen_where=FROZEN, backfill_from="before")
    assert rows(account, "t") == [("2020", 70), ("2020", 70), ("2999", 4)]
    account.execute("UPDATE e SET n = n + 1")
    (refreshed,) = account.refresh("t")
    assert (refreshed.action, refreshed.record.late) == (Action.INCREMENTAL, 2)
    assert rows(account, "t") == [("2020", 70), ("2020", 70), ("2999", 5)]
    account.drop("before")
    account.reinitialize("t")
    assert rows(account, "t") == [("2020", 70), ("2020", 70), ("2999", 5)]
    for options, reason in (
        ({"backfill_from": "s"}, "has backfill_from and no frozen_where"),
        ({"backfill_from": "x", "frozen_where": FROZEN}, "there is no such table"),
        ({"backfill_from": "e", "frozen_where": FROZEN}, "whose columns are day DATE, n INT"),
        ({"frozen_where": "n >"}, "frozen_where of u"),
        ({"frozen_where": "x < 1"}, "frozen_where of u"),
        ({"frozen_where": "n < rand()"}, "frozen_where of u"),
    ):
        with pytest.raises(DefinitionError, match=reason):
            account.create_dynamic_table("u", SUMS, **options)  # type: ignore[arg-type]


def test_a_source_that_changes_the_columns_fails_the_refresh(account: Account) -> None:
    account.create_view("v", "SELECT day, n FROM e")
    account.create_dynamic_table("w", "SELECT * FROM v", frozen_where=FROZEN)
    account.create_view("v", "SELECT day, CAST(n AS STRING) AS n FROM e", or_replace=True)
    with pytest.raises(DefinitionError, match=r"gives day DATE, n STRING now, .* that gives day DATE, n INT"):
        account.refresh("w")
    assert len(rows(account, "w")) == 3
    account.create_dynamic_table(
        "w", "SELECT day, CAST(n AS INT) AS n FROM v", frozen_where=FROZEN, or_replace=True
    )
    assert rows(account, "w") == [("2020", 1), ("2020", 2), ("2999", 4)]
