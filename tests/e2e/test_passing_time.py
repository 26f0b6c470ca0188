"""The current time in definitions on Delta: what the text means at the data timestamp, and no other time."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.sql import SparkSession

from campaign.audit.audit import AuditVerdict, audit
from dynamic_tables.account import Account
from dynamic_tables.errors import RefreshFailed, UnsupportedError

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

HOUR = 3_600_000_000


@dataclass(slots=True)
class MovedClock:
    """A clock that the test moves, from 2026-11-27 22:30 UTC on."""

    simulated: ClassVar[bool] = False
    time: int = 1_795_818_600_000_000

    def now(self) -> int:
        self.time += 1
        return self.time


INCREMENTAL = {
    "recent": "SELECT id FROM e WHERE ts > current_timestamp() - INTERVAL 3 HOURS",
    "days": "SELECT d, COUNT(*) AS n FROM e WHERE d >= current_date - INTERVAL 1 DAY GROUP BY d",
    "hours": "SELECT id FROM e WHERE date_trunc('hour', now()) > ts OR ts IS NULL",
    "whole": "SELECT id FROM e WHERE now() - ts < INTERVAL 2 HOURS AND datediff(current_date(), d) < 1",
    "of_view": "SELECT id % 2 AS k, MAX(ts) AS m FROM soon GROUP BY ALL HAVING MAX(ts) > localtimestamp()",
    "first": "SELECT id, ts FROM e "
    "QUALIFY row_number() OVER (PARTITION BY id % 2 ORDER BY ts, id) = 1 AND ts < now()",
    "pairs": "SELECT a.id, b.id AS other FROM e a "
    "LEFT JOIN e b ON a.id = b.id + 1 AND b.ts < now() AND a.d = curdate()",
}
FULL = {
    "shown": "SELECT id, now(), ts < now() AS past FROM e",
    "grouped": "SELECT ts < now() AS past, COUNT(*) AS n FROM e GROUP BY ALL",
    "since": "SELECT id, unix_timestamp() - id AS s FROM e SORT BY id",
}
VIEW = "SELECT * FROM e WHERE ts < now() + INTERVAL '90' MINUTE"


def at_time(text: str, time: int) -> str:
    """A text with the current time as a constant, by plain replacement."""
    moment = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=time)
    day, at = f"DATE'{moment.date()}'", f"TIMESTAMP'{moment}'"
    for call in ("current_date()", "current_date", "curdate()"):
        text = text.replace(call, day)
    text = text.replace("localtimestamp()", f"CAST({at} AS TIMESTAMP_NTZ)").replace(
        "unix_timestamp()", f"unix_timestamp({at})"
    )
    return text.replace("current_timestamp()", at).replace("now()", at)


def rows(account: Account, name: str) -> Counter[tuple[object, ...]]:
    return Counter(map(tuple, account.read(name).collect()))


@pytest.fixture
def account(spark: SparkSession, tmp_path: Path) -> Account:
    account = Account.open(str(tmp_path), spark, MovedClock())
    account.create_base_table("e", {"id": "INT", "ts": "TIMESTAMP", "d": "DATE"})
    hours = [(number, f"TIMESTAMP'2026-11-27 {19 + number}:30:00'") for number in range(5)]
    listed = ", ".join(f"({number}, {ts}, CAST({ts} AS DATE))" for number, ts in hours)
    late = "(5, NULL, NULL), (6, TIMESTAMP'2026-11-28 01:00:00', DATE'2026-11-28')"
    account.execute(f"INSERT INTO e VALUES {listed}, {late}")
    account.create_view("soon", VIEW)
    return account


def test_each_refresh_is_the_text_at_its_data_timestamp(
    account: Account, spark: SparkSession, tmp_path: Path
) -> None:
    clock = account.clock
    assert isinstance(clock, MovedClock)
    for name, text in INCREMENTAL.items():
        account.create_dynamic_table(name, text, refresh_mode="INCREMENTAL")
    for name, text in FULL.items():
        assert account.create_dynamic_table(name, text).reason, name
    account.create_dynamic_table("above", "SELECT COUNT(*) AS n FROM recent")
    steps = (
        "",
        "",
        "UPDATE e SET ts = TIMESTAMP'2026-11-28 03:00:00' WHERE id IN (2, 5)",
        "",
        "DELETE FROM e WHERE id = 4",
    )
    for change in steps:
        clock.time += HOUR
        if change:
            account.execute(change)
        tables = (*INCREMENTAL, *FULL, "above")
        done = account.refresh_together(tables)
        assert len({each.timestamp for each in done}) == 1
        timestamp = done[0].timestamp
        account.read("e").createOrReplaceTempView("e")
        spark.sql(at_time(VIEW, timestamp)).createOrReplaceTempView("soon")
        account.read("recent").createOrReplaceTempView("recent")
        for name in tables:
            text = {**INCREMENTAL, **FULL, "above": "SELECT COUNT(*) AS n FROM recent"}[name]
            expected = Counter(map(tuple, spark.sql(at_time(text, timestamp)).collect()))
            assert rows(account, name) == expected, (name, timestamp)
        actions = {each.table: each.action.value for each in done}
        assert {actions[name] for name in FULL} == {"FULL"}
        assert {actions[name] for name in (*INCREMENTAL, "above")} <= {"INCREMENTAL", "NO_DATA"}
    assert account.refresh("recent")[-1].action.value == "NO_DATA"
    verdicts = {each.name: each.verdict for each in audit(tmp_path).tables}
    assert {verdicts[name] for name in ("recent", "days", "pairs", "above", "grouped")} == {
        AuditVerdict.HOLDS
    }
    assert AuditVerdict.VIOLATED not in verdicts.values()


def test_a_clock_that_goes_back_is_an_error_and_contents_stay(account: Account) -> None:
    clock = account.clock
    assert isinstance(clock, MovedClock)
    account.create_dynamic_table("recent", INCREMENTAL["recent"])
    account.create_dynamic_table("all", "SELECT id FROM e")
    before = rows(account, "recent")
    clock.time -= 24 * HOUR
    with pytest.raises(
        RefreshFailed, match=r"the clock went back: it says 2026-11-26T22:3.*Z, and the contents are of"
    ):
        account.refresh("recent")
    assert rows(account, "recent") == before
    account.refresh("all")
    clock.time += 25 * HOUR
    assert account.refresh("recent")[-1].action.value == "INCREMENTAL"


def test_the_time_outside_of_conditions_cannot_be_incremental(account: Account) -> None:
    with pytest.raises(UnsupportedError, match="current time: in a select list"):
        account.create_dynamic_table("shown", FULL["shown"], refresh_mode="INCREMENTAL")
