"""`dvs audit` of an account on Delta: a good one holds, an edited one is found with the rows."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from campaign.audit.audit import AuditVerdict, audit
from campaign.cli import main
from dynamic_tables.account import Account
from dynamic_tables.errors import SlowCapture
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action
from tests.schemas import unlike

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit") / "shop"
    account = Account.open(str(folder), spark, WallClock())
    account.create_base_table("sales", [("region", "STRING"), ("amount", "BIGINT"), ("weight", "DOUBLE")])
    account.execute("INSERT INTO sales VALUES ('north', 10, 0.1), ('south', 5, 0.2), ('south', 5, 0.2)")
    account.create_view("big", "SELECT * FROM sales WHERE amount > 5")
    account.create_dynamic_table(
        "totals", "SELECT region, SUM(amount) AS total, SUM(weight) AS w FROM sales GROUP BY region"
    )
    account.create_dynamic_table("copies", "SELECT amount, weight FROM sales")
    account.create_dynamic_table(
        "top", "SELECT b.region, t.total FROM big b JOIN totals t ON b.region = t.region"
    )
    account.create_dynamic_table("parts", "SELECT region, amount FROM sales", refresh_mode="FULL")
    account.execute("UPDATE sales SET amount = 12 WHERE region = 'north'")
    for name in ("top", "copies"):
        account.refresh(name)
    return folder


DEFINITIONS = {
    "sums": "SELECT v, SUM(k) AS n FROM tracked GROUP BY v",
    "above": "SELECT v FROM sums WHERE n > 1",
    "of_plain": "SELECT k, v FROM plain WHERE k > 1",
    "of_mapped": "SELECT key, v FROM mapped",
    "of_clone": "SELECT v, COUNT(*) AS n FROM cloned GROUP BY v",
    "of_view": "SELECT k FROM shown",
    "before_a_column": "SELECT own.k FROM own WHERE EXISTS (SELECT 1 FROM tracked t WHERE t.k = own.k)",
    "kept_once": "SELECT DISTINCT v FROM tracked",
    "ranked": "SELECT k, ROW_NUMBER() OVER (PARTITION BY v ORDER BY k) AS r FROM tracked",
    "least": "SELECT k FROM tracked ORDER BY k LIMIT 2",
    "either": "SELECT k FROM own UNION ALL SELECT k FROM plain",
    "in_full": "SELECT k, v FROM tracked",
}
"""A table over each kind of source, and of each kind of definition that the documents name."""


@pytest.mark.nightly
def test_every_kind_of_source_and_definition_has_a_verdict(tmp_path: Path, spark: SparkSession) -> None:
    tracked, mapped = "'delta.enableRowTracking' = 'true'", "'delta.columnMapping.mode' = 'name'"
    rows = "SELECT CAST(id AS INT) AS k, CAST(id % 2 AS STRING) AS v FROM RANGE(4)"
    place = {name: f"delta.`{tmp_path}/{name}`" for name in ("tracked", "plain", "mapped", "cloned")}
    spark.sql(f"CREATE TABLE {place['tracked']} USING delta TBLPROPERTIES ({tracked}) AS {rows}")
    spark.sql(f"CREATE TABLE {place['plain']} USING delta PARTITIONED BY (v) AS {rows}")
    spark.sql(f"CREATE TABLE {place['mapped']} USING delta TBLPROPERTIES ({tracked}, {mapped}) AS {rows}")
    spark.sql(f"ALTER TABLE {place['mapped']} RENAME COLUMN k TO key")
    spark.sql(f"CREATE TABLE {place['cloned']} SHALLOW CLONE {place['tracked']}")
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    account.create_base_table("own", [("k", "INT")])
    account.execute("INSERT INTO own VALUES (1), (7)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowCapture)
        for name in place:
            account.attach(name, f"{tmp_path}/{name}")
        account.create_view("shown", "SELECT t.k FROM tracked t JOIN own ON t.k = own.k")
        for name, query in DEFINITIONS.items():
            mode = "FULL" if name == "in_full" else "AUTO"
            account.create_dynamic_table(name, query, refresh_mode=mode)
        account.create_dynamic_table("not_yet", "SELECT k FROM own", initialize=False)
    spark.sql(f"ALTER TABLE delta.`{tmp_path}/account/own` ADD COLUMNS (note STRING)")
    spark.sql(f"UPDATE {place['tracked']} SET v = 'x' WHERE k = 1")
    spark.sql(f"DELETE FROM {place['cloned']} WHERE k = 2")
    done = {name: account.refresh(name)[-1].action for name in ("above", "of_clone", "ranked")}
    assert done["of_clone"] is Action.INCREMENTAL
    account.store.close()  # type: ignore[attr-defined]

    judged = {table.name: (table.verdict, table.facts) for table in audit(tmp_path / "account").tables}
    # delta-rs reads no table with column mapping.
    assert judged.pop("of_mapped")[0] in (AuditVerdict.HOLDS, AuditVerdict.UNKNOWN)
    assert judged.pop("not_yet") == (AuditVerdict.EMPTY, ())
    assert judged == dict.fromkeys(judged, (AuditVerdict.HOLDS, ()))
    assert {*judged, "of_mapped"} == {*DEFINITIONS}


def copy_of(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "shop"))


def test_a_good_account_holds(shop: Path) -> None:
    found = audit(shop)
    judged = {table.name: table for table in found.tables}
    assert {name: table.facts for name, table in judged.items()} == dict.fromkeys(judged, ())
    assert [judged[name].verdict for name in ("copies", "top", "totals")] == [AuditVerdict.HOLDS] * 3
    assert found.verdict is AuditVerdict.HOLDS


def test_rows_edited_by_hand_are_found(shop: Path, tmp_path: Path, spark: SparkSession) -> None:
    folder = copy_of(shop, tmp_path)
    spark.sql(f"UPDATE delta.`{folder}/totals` SET total = 99 WHERE region = 'south'")
    done = CliRunner().invoke(main, ["audit", str(folder), "--json", "--html", str(tmp_path / "page.html")])
    assert done.exit_code == 1
    assert unlike("audit", done.stdout) == ""
    [totals] = [table for table in json.loads(done.output)["tables"] if table["name"] == "totals"]
    assert totals["verdict"] == "violated"
    assert [row[:2] for row in totals["missing"]] == [["south", "10"]]
    assert [row[:2] for row in totals["extra"]] == [["south", "99"]]
    assert any("(UPDATE) was written by another writer" in fact for fact in totals["facts"])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "violated" in page
    assert "<code>99</code>" in page


def test_what_one_reading_alone_calls_wrong_is_unknown(tmp_path: Path, spark: SparkSession) -> None:
    # Spark writes 1.0E12 where DuckDB writes 1000000000000.0, and the engine leaves such a cast to Spark.
    account = Account.open(str(tmp_path / "shop"), spark, WallClock())
    account.create_base_table("sales", [("weight", "DOUBLE"), ("sold", "TIMESTAMP")])
    account.execute("INSERT INTO sales VALUES (1e12, TIMESTAMP'2024-01-31 10:00:00')")
    account.create_dynamic_table("texts", "SELECT CAST(weight AS STRING) AS w FROM sales")
    account.create_dynamic_table("times", "SELECT CAST(sold AS STRING) AS s, MONTH(sold) AS m FROM sales")
    account.create_dynamic_table(
        "windows", "SELECT window.start AS s, COUNT(*) AS n FROM sales GROUP BY window(sold, '6 hours')"
    )
    texts, times, windows = audit(tmp_path / "shop").tables
    assert texts.verdict is AuditVerdict.UNKNOWN
    assert texts.facts[0].startswith("no second reading of the query confirms the difference")
    assert (texts.missing, texts.extra) == ((("1000000000000.0",),), (("1.0E12",),))
    for held in (times, windows):
        assert (held.verdict, held.facts) == (AuditVerdict.HOLDS, ())


def test_a_row_stored_twice_and_a_row_id_twice_are_found(
    shop: Path, tmp_path: Path, spark: SparkSession
) -> None:
    folder = copy_of(shop, tmp_path)
    spark.sql(f"INSERT INTO delta.`{folder}/copies` SELECT * FROM delta.`{folder}/copies` WHERE amount = 12")
    [copies] = audit(folder, only=["copies"]).tables
    assert copies.verdict is AuditVerdict.VIOLATED
    assert copies.extra_count == 1
    assert any("occurs 2 times" in fact for fact in copies.facts)


def test_a_version_that_is_gone_is_unknown(shop: Path, tmp_path: Path) -> None:
    folder = copy_of(shop, tmp_path)
    for file in (folder / "sales").glob("*.parquet"):
        file.unlink()
    found = audit(folder, only=["copies"])
    assert found.verdict is AuditVerdict.UNKNOWN
    done = CliRunner().invoke(main, ["audit", str(folder), "--table", "copies"])
    assert done.exit_code == 3


def test_an_audit_writes_nothing(shop: Path) -> None:
    before = {table: DeltaTable(shop / table).version() for table in ("sales", "totals", "copies")}
    files = sorted(path for path in shop.rglob("*") if path.is_file())
    assert CliRunner().invoke(main, ["audit", str(shop), "--sample", "1"]).exit_code == 0
    assert files == sorted(path for path in shop.rglob("*") if path.is_file())
    assert before == {table: DeltaTable(shop / table).version() for table in before}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{empty}", "holds no table of an account"),
        ("{empty}/nothing", "is no folder"),
        ("{shop} --table sales", "no dynamic table sales"),
    ],
)
def test_what_is_no_account(shop: Path, tmp_path: Path, arguments: str, message: str) -> None:
    words = arguments.format(empty=tmp_path, shop=shop).split()
    done = CliRunner().invoke(main, ["audit", *words])
    assert done.exit_code == 2
    assert message in done.output
