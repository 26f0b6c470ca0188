"""Columns of type VARIANT in base tables, attached tables and dynamic tables, on Delta."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from campaign.audit.audit import AuditVerdict, audit
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action

pytestmark = pytest.mark.spark

LISTING = Path(__file__).parents[2] / "docs" / "operators" / "variants.md"

DOCUMENTS: Mapping[int, str | None] = {
    1: '{"a":1,"b":[1,2,"x"]}',
    2: None,
    3: "null",
    4: '[1,{"c":2.0},null]',
    5: '"s"',
    6: '{"b":{"x":1},"a":null}',
}


def document(text: str | None) -> str:
    return "CAST(NULL AS VARIANT)" if text is None else f"parse_json('{text}')"


@pytest.fixture
def account(tmp_path: Path, spark: SparkSession) -> Iterator[Account]:
    """An account with the table r(k, n, p) of documents."""
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    account.create_base_table("r", {"k": "INT", "n": "INT", "p": "VARIANT"})
    rows = ", ".join(f"({k}, {k % 3}, {document(text)})" for k, text in DOCUMENTS.items())
    account.execute(f"INSERT INTO r VALUES {rows}, (7, 1, CAST(DATE'2026-01-01' AS VARIANT))")
    yield account
    account.store.close()  # type: ignore[attr-defined]


def shown(frame: DataFrame) -> list[str]:
    """Rows with each VARIANT as its text and the types in it."""
    items = []
    for field in frame.schema.fields:
        kind = field.dataType.simpleString()
        column = f"`{field.name}`"
        items += [f"to_json({column})", f"schema_of_variant({column})"] if kind == "variant" else [column]
    return sorted(map(repr, frame.selectExpr(*items).collect()))


def assert_is_the_query(account: Account, name: str, text: str) -> None:
    held = account.read(name)
    for source in account.describe(name).table.sources:
        account.read(source).createOrReplaceTempView(source)
    assert shown(held) == shown(held.sparkSession.sql(text)), name


MAINTAINED = {
    "copied": "SELECT k, p FROM r",
    "paths": "SELECT k, p:a::STRING AS a, p:b[2], try_variant_get(p, '$.b[2]', 'int') AS c, "
    "schema_of_variant(p) AS s, is_variant_null(p) AS v FROM r",
    "elements": "SELECT k, v.pos, v.key, v.value FROM r, LATERAL variant_explode_outer(r.p) AS v",
    "pairs": "SELECT x.k, x.p, y.p AS q FROM r AS x LEFT JOIN r AS y ON x.n = y.k",
    "before": "SELECT k, LAG(p) OVER (PARTITION BY n ORDER BY k) AS p FROM r",
    "of_elements": "SELECT key, COUNT(*) AS c FROM elements GROUP BY key",
    "of_all": "SELECT k, p FROM in_full WHERE k <> 5",
}


@pytest.mark.nightly
def test_documents_are_maintained(account: Account, tmp_path: Path) -> None:
    """Every change changes documents alone: also a type in an array, and a null that is no NULL."""
    account.create_dynamic_table("in_full", "SELECT k, p FROM r", refresh_mode="FULL")
    for name, text in MAINTAINED.items():
        table = account.create_dynamic_table(name, text)
        assert table.incremental, table.reason
    changes = {1: '{"b":[1.0,2,"x"],"a":1}', 2: "null", 3: None, 4: '[1,{"c":2},null,[]]', 6: "{}"}
    account.execute(
        *(f"UPDATE r SET p = {document(text)} WHERE k = {k}" for k, text in changes.items()),
        "UPDATE r SET p = parse_json('\"2026-01-01\"') WHERE k = 7",
        "DELETE FROM r WHERE k = 5",
    )
    account.refresh("in_full")
    for name, text in MAINTAINED.items():
        assert account.refresh(name)[-1].action is Action.INCREMENTAL, name
        assert_is_the_query(account, name, text)
    audited = {table.name: table for table in audit(tmp_path / "account").tables}
    # DuckDB has no schema_of_variant.
    assert audited.pop("paths").verdict is AuditVerdict.UNKNOWN
    assert {table.verdict for table in audited.values()} == {AuditVerdict.HOLDS}, audited


@pytest.mark.nightly
def test_the_order_of_keys_is_no_change(account: Account) -> None:
    account.create_dynamic_table("copied", "SELECT k, p FROM r")
    account.execute('UPDATE r SET p = parse_json(\'{"b":[1,2,"x"],"a":1}\') WHERE k = 1')
    record = account.refresh("copied")[-1].record
    assert record is not None
    assert (record.inserted, record.deleted) == (0, 0)


def test_the_listing_of_the_paper_follows_late_trains(tmp_path: Path, spark: SparkSession) -> None:
    """The definitions are those of docs/operators/variants.md; the events are in an attached table."""
    folder = str(tmp_path / "events")
    properties = "TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
    spark.sql(f"CREATE TABLE delta.`{folder}` (type STRING, payload VARIANT) USING delta {properties}")
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    account.attach("train_events", folder)
    account.create_base_table("trains", {"id": "INT"})
    account.create_base_table("schedule", {"id": "INT", "expected_arrival_time": "TIMESTAMP"})
    account.execute("INSERT INTO trains VALUES (1), (2)")
    account.execute("INSERT INTO schedule VALUES (7, TIMESTAMP'2026-01-01 10:00:00')")
    pattern = r"CREATE DYNAMIC TABLE (\w+)\s+TARGET_LAG = (DOWNSTREAM|'.*?')\s+AS (SELECT.*?);"
    for name, lag, text in re.findall(pattern, LISTING.read_text(), re.DOTALL):
        target = None if lag == "DOWNSTREAM" else lag.strip("'")
        assert account.create_dynamic_table(name, text, target_lag=target).incremental
    for train, minute in ((1, "05"), (2, "50")):
        event = f'{{"train_id": {train}, "schedule_id": 7, "time": "2026-01-01 10:{minute}:00"}}'
        spark.sql(f"INSERT INTO delta.`{folder}` SELECT 'ARRIVAL', parse_json('{event}')")
    done = account.refresh("delayed_trains")
    assert [each.action for each in done] == [Action.INCREMENTAL] * 2
    assert sorted((row.train_id, row.num_delays) for row in account.read("delayed_trains").collect()) == [
        (1, 0),
        (2, 1),
    ]
    account.store.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT DISTINCT p FROM r", "Spark refuses the query"),
        ("SELECT k, variant_explode(p) FROM r", "stands in FROM"),
        ("SELECT k FROM r, LATERAL variant_explode(r.k) AS v", "must be a VARIANT"),
    ],
)
def test_what_is_refused(account: Account, query: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        account.create_dynamic_table("d", query)


def test_a_document_that_does_not_fit_fails_the_refresh_and_the_contents_stay(account: Account) -> None:
    account.create_dynamic_table("d", "SELECT k, p:a::INT AS a FROM r")
    account.execute('UPDATE r SET p = parse_json(\'{"a":"no number"}\') WHERE k = 1')
    with pytest.raises(RefreshFailed, match="INVALID_VARIANT_CAST") as failed:
        account.refresh("d")
    assert "\n" not in str(failed.value)
    assert {row.k: row.a for row in account.read("d").collect()}[1] == 1
