"""`dvs audit` of an account on Delta: a good one holds, an edited one is found with the rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from campaign.audit.audit import Finding, audit
from campaign.cli import main
from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import WallClock

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


def copy_of(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "shop"))


def test_a_good_account_holds(shop: Path) -> None:
    found = audit(shop)
    judged = {table.name: table for table in found.tables}
    assert {name: table.facts for name, table in judged.items()} == dict.fromkeys(judged, ())
    assert [judged[name].finding for name in ("copies", "top", "totals")] == [Finding.HOLDS] * 3
    assert found.finding is Finding.HOLDS


def test_rows_edited_by_hand_are_found(shop: Path, tmp_path: Path, spark: SparkSession) -> None:
    folder = copy_of(shop, tmp_path)
    spark.sql(f"UPDATE delta.`{folder}/totals` SET total = 99 WHERE region = 'south'")
    done = CliRunner().invoke(main, ["audit", str(folder), "--json", "--html", str(tmp_path / "page.html")])
    assert done.exit_code == 1
    [totals] = [table for table in json.loads(done.output)["tables"] if table["name"] == "totals"]
    assert totals["verdict"] == "violated"
    assert [row[:2] for row in totals["missing"]] == [["south", "10"]]
    assert [row[:2] for row in totals["extra"]] == [["south", "99"]]
    assert any("(UPDATE) was written by another writer" in fact for fact in totals["facts"])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "violated" in page
    assert "<code>99</code>" in page


def test_a_row_stored_twice_and_a_row_id_twice_are_found(
    shop: Path, tmp_path: Path, spark: SparkSession
) -> None:
    folder = copy_of(shop, tmp_path)
    spark.sql(f"INSERT INTO delta.`{folder}/copies` SELECT * FROM delta.`{folder}/copies` WHERE amount = 12")
    [copies] = audit(folder, only=["copies"]).tables
    assert copies.finding is Finding.VIOLATED
    assert copies.extra_count == 1
    assert any("occurs 2 times" in fact for fact in copies.facts)


def test_a_version_that_is_gone_is_unknown(shop: Path, tmp_path: Path) -> None:
    folder = copy_of(shop, tmp_path)
    for file in (folder / "sales").glob("*.parquet"):
        file.unlink()
    found = audit(folder, only=["copies"])
    assert found.finding is Finding.UNKNOWN
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
