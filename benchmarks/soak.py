"""Real time on Delta: twelve dynamic tables, a writer, and the process that refreshes is killed every minute.

`python -m benchmarks.soak --minutes 30` prints what was done and whether every table is its query at its data
timestamp, evaluated by DuckDB on the versions of the base tables. Exit status 1: one is not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from dynamic_tables.account import Account
from dynamic_tables.definition import DynamicTable
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = {
    "r_big": "SELECT a, b FROM r WHERE b > 50",
    "r_sum": "SELECT a, SUM(b) AS b FROM r GROUP BY a",
    "r_many": "SELECT a, COUNT(*) AS b FROM r GROUP BY a",
    "s_big": "SELECT a, b FROM s WHERE b > 50",
    "s_sum": "SELECT a, SUM(b) AS b FROM s GROUP BY a",
    "joined": "SELECT r_sum.a AS a, s_sum.b AS b FROM r_sum JOIN s_sum ON r_sum.a = s_sum.a",
    "either": "SELECT a, b FROM r_big UNION ALL SELECT a, b FROM s_big",
    "left_only": "SELECT r_sum.a AS a, s_sum.b AS b FROM r_sum LEFT JOIN s_sum ON r_sum.a = s_sum.a",
    "per_key": "SELECT a, COUNT(*) AS b FROM either GROUP BY a",
    "most": "SELECT MAX(b) AS b, COUNT(*) AS a FROM joined",
    "last": "SELECT a, b FROM per_key WHERE b > 2",
    "top": "SELECT joined.a AS a, per_key.b AS b FROM joined JOIN per_key ON joined.a = per_key.a",
}
LAGS = ("20 seconds", "40 seconds", "60 seconds", None)


@dataclass(slots=True)
class Figures:
    """What was done. `wrong`: tables that are not their query."""

    writes: int = 0
    kills: int = 0
    refreshes: int = 0
    failed: int = 0
    checked: int = 0
    wrong: tuple[str, ...] = ()


def main() -> int:
    """Runs the soak and prints its figures; returns the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        return _soak(Path(folder), chosen.minutes, random.Random(chosen.seed))


def _soak(folder: Path, minutes: float, draw: random.Random) -> int:
    spark = open_session(app_name="soak")
    account = _made(folder, spark)
    figures = Figures()
    runner = _runner(folder)
    start = last_kill = time.monotonic()
    while time.monotonic() - start < 60 * minutes:
        _write(spark, folder, draw)
        figures.writes += 1
        time.sleep(2)
        # The last process must have come so far that it can be told to stop.
        left = 60 * minutes - (time.monotonic() - start)
        if time.monotonic() - last_kill > 60 and left > 40:
            os.killpg(runner.pid, signal.SIGKILL)
            runner.wait()
            figures.kills += 1
            runner, last_kill = _runner(folder), time.monotonic()
    runner.send_signal(signal.SIGTERM)
    ended_well = runner.wait(timeout=120) == 0
    _judge(account, spark, figures)
    rows = account.dynamic_tables().to_pylist()
    actions = Counter(row["refresh_action"] for row in account.refresh_history().to_pylist())
    print(f"{minutes:g} minutes: {figures.writes} transactions, {figures.kills} kills")
    print(f"{figures.refreshes} refreshes ({dict(actions)}), {figures.failed} failed")
    for row in rows:
        lags = [f"{row[name] or 0:.0f}" for name in ("median_lag_sec", "p95_lag_sec", "maximum_lag_sec")]
        print(
            f"  {row['name']}: target {row['target_lag_sec']} s; lag median, 95 %, most: {', '.join(lags)} s"
        )
    print(
        f"stopped well: {ended_well}; {figures.checked} tables are their query, wrong: {list(figures.wrong)}"
    )
    return 0 if ended_well and not figures.wrong else 1


def _made(folder: Path, spark: SparkSession) -> Account:
    for base in ("r", "s"):
        spark.sql(
            f"CREATE TABLE delta.`{folder}/{base}` (a INT, b BIGINT) USING delta TBLPROPERTIES "
            "('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true')"
        )
        spark.sql(f"INSERT INTO delta.`{folder}/{base}` SELECT CAST(id % 20 AS INT), id FROM range(100)")
    account = Account.open(str(folder / "account"), spark, WallClock(), minimum_lag=SECOND)
    for base in ("r", "s"):
        account.attach(base, str(folder / base))
    for number, (name, query) in enumerate(QUERIES.items()):
        lag = LAGS[number % len(LAGS)] if name != "top" else "60 seconds"
        account.create_dynamic_table(name, query, target_lag=lag)
    account.create_refresh_group("g", ["r_sum", "s_sum"], "repeatable_read")
    return account


def _runner(folder: Path) -> subprocess.Popen[bytes]:
    program = "from dynamic_tables.command.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, "run", str(folder / "account")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _write(spark: SparkSession, folder: Path, draw: random.Random) -> None:
    base, key, value = draw.choice(("r", "s")), draw.randrange(20), draw.randrange(100)
    place = f"delta.`{folder}/{base}`"
    match draw.randrange(4):
        case 0:
            spark.sql(f"UPDATE {place} SET b = b + 1 WHERE a = {key}")
        case 1:
            spark.sql(f"DELETE FROM {place} WHERE a = {key} AND b < {value // 4}")
        case _:
            spark.sql(f"INSERT INTO {place} VALUES ({key}, {value}), ({(key + 1) % 20}, {value + 7})")


def _judge(account: Account, spark: SparkSession, figures: Figures) -> None:
    """Compares every table with its query at its data timestamp, and counts the failed refreshes."""
    wrong = []
    for name in QUERIES:
        table = account.dynamic_table(name)
        records = account.store.refreshes(table)
        times = [record.frontier.timestamp for record in records]
        figures.refreshes += len(times)
        if times != sorted(set(times)):
            wrong.append(f"{name}: its data timestamps do not grow")
        bases = _bases(account, table, len(records) - 1)
        with duckdb.connect(":memory:") as connection:
            for base, version in bases.items():
                rows = account.store.read(base, version).toArrow()  # type: ignore[attr-defined]
                connection.register("rows", rows)
                connection.execute(f"CREATE TABLE {base} AS SELECT a, b FROM rows")
            for other, query in QUERIES.items():
                if all(source in bases for source in _all_bases(account, other)):
                    connection.execute(f"CREATE VIEW {other} AS {query}")
            due = Counter(connection.execute(f"SELECT * FROM {name}").fetchall())
        stored: Any = account.store.read(name, account.store.newest(name))  # type: ignore[attr-defined]
        if Counter(tuple(row) for row in stored.collect()) != due:
            wrong.append(name)
        figures.checked += 1
    history = account.refresh_history().to_pylist()
    figures.failed = sum(row["state"] == "FAILED" for row in history)
    figures.wrong = tuple(wrong)


def _bases(account: Account, table: DynamicTable, number: int) -> dict[str, int]:
    """Returns the versions of the base tables behind a refresh of a table, by the frontiers."""
    found: dict[str, int] = {}
    for source, version in account.store.refreshes(table)[number].frontier.sources.items():
        definition = account.store.definitions()[source]
        if isinstance(definition, DynamicTable):
            history = [each.version for each in account.store.history(definition).versions]
            found.update(_bases(account, definition, history.index(version.version)))
        else:
            found[source] = version.version
    return found


def _all_bases(account: Account, name: str) -> set[str]:
    table = account.dynamic_table(name)
    return set(_bases(account, table, len(account.store.refreshes(table)) - 1))


if __name__ == "__main__":
    sys.exit(main())
