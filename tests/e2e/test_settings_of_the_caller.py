"""Every setting of Spark and Delta, changed in the session that an account is given: nothing else changes.

All settings are changed at once. `DVS_DEPTH=250 python -m pytest tests/e2e/test_settings_of_the_caller.py`
changes 40 at a time, one account after the other, so that one setting cannot hide what another one does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.spark.commit_settings import VERSION
from engines.callers import SETTINGS
from tests.depth import examples

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

AT_ONCE = max(1, 10_000 // examples(1))

OF_DELTA = "org.apache.spark.sql.delta.sources.DeltaSQLConf"
NUMBER = re.compile(r"(-?\d+)(\.\d+)?([A-Za-z]*)")

NOT_LISTED: Mapping[str, str] = {
    "spark.databricks.delta.properties.defaults.appendOnly": "true",
    "spark.databricks.delta.properties.defaults.columnMapping.mode": "name",
    "spark.databricks.delta.properties.defaults.autoOptimize.autoCompact": "true",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "2",
    "spark.databricks.delta.autoCompact.minNumFiles": "2",
    "spark.databricks.delta.autoCompact.enabled": "true",
    "spark.sql.session.timeZone": "Asia/Tokyo",
    # More tasks, or compiled code, for each of a hundred queries would take minutes.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "parquet.filter.dictionary.enabled": "true",
}
"""Settings that Spark does not list or whose other values are not to be guessed."""

PLACES = ("spark.sql.catalog.", "spark.sql.warehouse.dir")
"""Where tables are found: with another value there are none."""


def module(spark: SparkSession, name: str) -> Any:
    """A Scala object of the JVM."""
    jvm: Any = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(f"{name}$", True, loader).getField("MODULE$").get(None)


def defaults(spark: SparkSession) -> Mapping[str, str]:
    """Every setting that a session may change, with its default as a text."""
    module(spark, OF_DELTA)  # Delta's settings are listed once its object is loaded
    listing = module(spark, "org.apache.spark.sql.internal.SQLConf")
    entries, found = listing.getConfigEntries().iterator(), {}
    while entries.hasNext():
        entry = entries.next()
        if not listing.isStaticConfigKey(entry.key()) and not entry.key().startswith(PLACES):
            found[entry.key()] = entry.defaultValueString()
    return dict(sorted(found.items()))


def others(default: str, refusal: str) -> Iterator[str]:
    """Values unlike a default, the likely ones first; `refusal`: what Spark says of a value that is none."""
    if default in ("true", "false"):
        yield "false" if default == "true" else "true"
    elif number := NUMBER.fullmatch(default):
        whole, fraction, unit = int(number[1]), number[2], number[3]
        yield from ("0.7",) if fraction else (f"{each}{unit}" for each in (whole + 1, 1, whole - 1))
    else:
        # Of an enumeration Spark names the values.
        listed = refusal.partition("one of")[2].splitlines()[:1]
        known = re.findall(r"[\w-]+", " ".join(listed))
        yield from (value for value in (*known, "true", "1", "1mb") if value.upper() != default.upper())


def changed(spark: SparkSession) -> Mapping[str, str]:
    """Every setting with a value that is not its default."""
    conf: Any = spark.newSession()._jsparkSession.sessionState().conf()

    def refusal_of(name: str, value: str) -> str:
        try:
            conf.setConfString(name, value)
        except Exception as error:  # noqa: BLE001  # what py4j raises
            return str(error) or "refused"
        return ""

    found: dict[str, str] = {}
    for name, default in defaults(spark).items():
        plain = default in ("true", "false") or NUMBER.fullmatch(default)
        listed = "" if plain else refusal_of(name, "?")
        taken = (value for value in others(default, listed) if not refusal_of(name, value))
        value = next(taken, None)
        if value is not None:
            found[name] = value
    return {**found, **NOT_LISTED}


class Journey:
    """The life of a small account: what each step gave, and what is in its folder at the end."""

    NAMES = ("r", "own", "merged", "full", "above")

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self.seen: list[tuple[str, object]] = []
        self.clock = SimulatedClock(10)
        self.account = Account.open(str(folder / "account"), session, self.clock)
        self.write()
        self.account.store.close()  # type: ignore[attr-defined]
        self.seen += [(name, stored(folder / "account" / name)) for name in self.NAMES]

    def step(self, what: str, run: Callable[[], object]) -> None:
        try:
            self.seen.append((what, run()))
        except Exception as error:  # noqa: BLE001  # an error is an outcome here
            self.seen.append((what, f"{type(error).__name__}: {error}"))

    def write(self) -> None:
        account = self.account
        columns = {"k": "INT", "v": "STRING", "d": "DECIMAL(38,10)", "t": "TIMESTAMP", "x": "DOUBLE"}
        self.step("create", lambda: account.create_base_table("r", columns).columns)
        self.run(f"INSERT INTO r VALUES {', '.join(map(row, range(1, 7)))}")
        self.define(
            "own", "SELECT k, v, d * d AS p, d / 3 AS q, t, CAST(t AS DATE) AS day, x FROM r WHERE k > 1"
        )
        self.define("merged", "SELECT k, ARRAY(v, CAST(x AS STRING)) AS a, CAST(t AS STRING) AS t FROM r")
        self.define("full", 'SELECT v, AVG(d) AS a, SUM(d * k) AS s, MAX("v") AS m FROM r GROUP BY v', "FULL")
        self.define("above", "SELECT v, COUNT(*) AS n, SUM(p) AS s, MAX(day) AS m FROM own GROUP BY v")
        update, delete = "UPDATE r SET d = d + 1 WHERE k = 2", "DELETE FROM r WHERE k = 3"
        self.at(20, f"INSERT INTO r VALUES {row(7)}", update, delete)

    def run(self, *statements: str) -> None:
        self.step(statements[0], lambda: self.account.execute(*statements))

    def define(self, name: str, query: str, mode: str = "AUTO") -> None:
        self.step(name, lambda: self.account.create_dynamic_table(name, query, refresh_mode=mode).columns)

    def refreshed(self, name: str) -> object:
        return [result.action for result in self.account.refresh(name)]

    def at(self, time: int, *statements: str) -> None:
        self.clock.set(time)
        self.run(*statements)
        for name in ("above", "merged", "full"):
            self.step(f"refresh {name}", partial(self.refreshed, name))


def row(k: int) -> str:
    return f"({k}, 'v{k % 3}', {k}.5, TIMESTAMP '20{k:02}-03-04 22:06:07.123456', {k}.25D)"


def stored(folder: Path) -> Sequence[str]:
    """What a table's log, files and rows say, but for random ids and times; read without Spark.

    How many files a commit has follows from how many tasks have written it.
    """
    told: list[str] = []
    for log in sorted((folder / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        lines = {repr(said(folder, kind, body)) for action in actions for kind, body in action.items()}
        added = sum(json.loads(action["add"]["stats"])["numRecords"] for action in actions if "add" in action)
        told += [f"{log.name}: {added} rows", *sorted(lines)]
    rows = pa.table(QueryBuilder().register("t", DeltaTable(folder)).execute("SELECT * FROM t").read_all())
    columns = [column.to_pylist() for column in rows.columns]
    return [*told, *sorted(map(repr, zip(*columns, strict=True)))]


def said(folder: Path, kind: str, body: Mapping[str, Any]) -> object:
    match kind:
        case "commitInfo":
            metadata = json.loads(body.get("userMetadata", "{}"))
            refresh = metadata.get("refresh", {})
            part = {name: metadata.get(name) for name in ("timestamp", "part", "parts", "number")}
            return body["operation"], part, {**refresh, "seconds": 0, "frontier": 0}
        case "metaData":
            random = "delta.rowTracking.materialized"
            properties = {k: v for k, v in body["configuration"].items() if not k.startswith(random)}
            return body["schemaString"], body["partitionColumns"], sorted(properties.items())
        case "txn":
            return body["version"]
        case "add":
            schema = pq.ParquetFile(folder / body["path"]).schema
            columns = [schema.column(place) for place in range(len(schema))]
            types = [(column.physical_type, str(column.logical_type)) for column in columns]
            return body["dataChange"], types
        case "remove":
            return "remove", body["dataChange"]
        case _:
            return body if kind == "protocol" else ""


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sequence[tuple[str, object]]:
    return Journey(spark.newSession(), tmp_path_factory.mktemp("plain")).seen


def test_no_setting_of_a_session_changes_what_is_stored(
    spark: SparkSession, tmp_path: Path, plain: Sequence[tuple[str, object]]
) -> None:
    settings = list(changed(spark).items())
    assert len(settings) > 1000
    for start in range(0, len(settings), AT_ONCE):
        some = dict(settings[start : start + AT_ONCE])
        caller = spark.newSession()
        conf: Any = caller._jsparkSession.sessionState().conf()
        for name, value in some.items():
            conf.setConfString(name, value)
        for seen, expected in zip(Journey(caller, tmp_path / str(start)).seen, plain, strict=True):
            assert seen == expected, list(some)


def test_frames_are_read_and_written_whatever_their_session_says(spark: SparkSession, tmp_path: Path) -> None:
    clock, caller = SimulatedClock(10), spark.newSession()
    for name, value in {**SETTINGS, "spark.sql.runSQLOnFiles": "false"}.items():
        caller.conf.set(name, value)
    account = Account.open(str(tmp_path), caller, clock)
    account.create_base_table("r", {"k": "INT", "t": "TIMESTAMP"})
    for k in (1, 2):
        account.write("r", caller.sql(f"SELECT {k} AS K, TIMESTAMP_LTZ '2024-01-01 09:00:00.123456' AS t"))
    account.create_dynamic_table("n", "SELECT k, CAST(t AS STRING) AS t FROM r")
    assert sorted(map(tuple, account.read("n").collect())) == [
        (1, "2024-01-01 00:00:00.123456"),
        (2, "2024-01-01 00:00:00.123456"),
    ]
    rows = account.read("r")
    assert rows.sparkSession is caller
    assert rows.selectExpr("CAST(t AS STRING)").first() == ("2024-01-01 09:00:00.123456",)
    assert caller.conf.get(VERSION) == "1", "a commit's settings are not left in the caller's session"
    for version in (1, 2):
        commit = DeltaTable(tmp_path / "r").history()[-1 - version]
        assert json.loads(commit["userMetadata"])["dvs"] == 1
    account.attach("again", str(tmp_path / "r"))
    account.store.close()  # type: ignore[attr-defined]
