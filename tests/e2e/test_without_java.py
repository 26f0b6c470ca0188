"""The commands that look at an account start no JVM: tables, refreshes and the journal are small files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.command.main import command
from dynamic_tables.errors import SessionError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.spark.on_demand import is_waiting, on_demand

pytestmark = pytest.mark.spark

TRACKED = "TBLPROPERTIES ('delta.enableRowTracking' = 'true')"


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder of an account with an own and an attached base table, and no way to open a session."""
    place, folder = str(tmp_path / "prices"), str(tmp_path / "account")
    spark.sql(f"CREATE TABLE delta.`{place}` (k INT, p INT) USING delta {TRACKED}")
    account = Account.open(folder, spark, WallClock())
    account.create_base_table("r", {"k": "INT"})
    account.attach("prices", place)
    account.create_view("v", "SELECT r.k, p FROM r JOIN prices USING (k)")
    account.create_dynamic_table("d", "SELECT k, p FROM v", target_lag="1 minute")
    account.create_dynamic_table("e", "SELECT COUNT(*) AS n FROM d", target_lag="1 hour")
    account.execute("INSERT INTO r VALUES (1)")
    account.refresh("e")
    account.store.close()  # type: ignore[attr-defined]

    def refuse(**_: object) -> NoReturn:
        raise SessionError("a session is opened", observed="none is due", remedy="open none")

    monkeypatch.setattr("dynamic_tables.session.open_session", refuse)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_status_and_history_are_read_without_java(folder: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    status = run("status", folder, "--html", str(page))
    assert (status.exit_code, page.exists()) == (0, True), status.output
    assert "RUNNING" in status.output
    history = run("history", folder, "e")
    assert (history.exit_code, "MANUAL" in history.output) == (0, True), history.output

    # A source that is missing concerns the tables above it, and all are shown.
    (tmp_path / "prices").rename(tmp_path / "away")
    status = run("status", folder, "--html", str(page))
    assert status.exit_code == 0, status.output
    assert (
        f"missing: prices: the table attached from {tmp_path}/prices is not there any more" in status.output
    )
    rows = {row["name"]: row for row in json.loads(run("status", folder, "--json").stdout)}
    assert "is not there any more" in rows["d"]["scheduling_reason"]
    assert rows["e"]["scheduling_reason"] == "d, which it reads, cannot be refreshed"


def test_a_table_is_suspended_without_java(folder: str) -> None:
    assert run("suspend", folder, "d").exit_code == 0
    assert "SUSPENDED" in run("status", folder).output
    assert run("resume", folder, "d").exit_code == 0
    assert "SUSPENDED" not in run("status", folder).output


@pytest.mark.nightly
@pytest.mark.parametrize("arguments", [("refresh", "d"), ("run", "--once"), ("run", "--for", "1")])
def test_what_computes_ends_where_no_session_can_be_opened(folder: str, arguments: tuple[str, ...]) -> None:
    name, *rest = arguments
    refreshed = run(name, folder, *rest)
    assert (refreshed.exit_code, "a session is opened" in refreshed.output) == (1, True)
    assert "FAILED" not in run("history", folder).output


def test_a_session_on_demand_is_opened_once(spark: SparkSession) -> None:
    opened: list[SparkSession] = []

    def open_() -> SparkSession:
        opened.append(spark)
        return spark

    session = on_demand(open_)
    assert (is_waiting(session), opened) == (True, [])
    assert session.sql("SELECT 1 AS n").collect() == spark.sql("SELECT 1 AS n").collect()
    assert session.version == spark.version
    assert (is_waiting(session), opened) == (False, [spark])
    assert not is_waiting(spark)
