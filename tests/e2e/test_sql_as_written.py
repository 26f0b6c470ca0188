"""What a text means is what Spark says: queries, types and functions that the engine itself does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.definition import RefreshMode
from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.store.port import Action

pytestmark = pytest.mark.spark

COLUMNS = {
    "k": "INT",
    "f": "BOOLEAN",
    "at": "TIMESTAMP",
    "i": "SMALLINT",
    "x": "FLOAT",
    "b": "BINARY",
    "l": "ARRAY<INT>",
    "s": "STRUCT<A: INT, t: STRING>",
}
ROWS = """
    (1, true, TIMESTAMP '2024-01-31 10:00:00', 7, 0.1, X'00FF', ARRAY(1, NULL), STRUCT(1, 'x')),
    (2, false, TIMESTAMP '2024-02-29 23:59:59.5', -7, 2.5, X'', ARRAY(), STRUCT(NULL, 'y')),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""


@pytest.fixture
def account(tmp_path: Path, spark: SparkSession) -> Iterator[Account]:
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    account.create_base_table("r", COLUMNS)
    account.execute(f"INSERT INTO r VALUES {ROWS}")
    yield account
    account.store.close()  # type: ignore[attr-defined]


def rows(account: Account, name: str) -> list[str]:
    return sorted(map(repr, account.read(name).collect()))


def test_values_of_every_type_pass_through(account: Account) -> None:
    texts = {
        "all_of_it": "SELECT k, at, i, x, b, l, s FROM r WHERE k <> 1",
        "joined": "SELECT p.at, q.s, p.k FROM r AS p JOIN r AS q ON p.at = q.at AND p.k = q.k",
        "grouped": "SELECT at, COUNT(s) AS n, MAX(at) AS m FROM r GROUP BY at",
    }
    for name, text in texts.items():
        assert account.create_dynamic_table(name, text, refresh_mode=RefreshMode.INCREMENTAL).incremental
        account.create_dynamic_table(f"{name}_full", text, refresh_mode=RefreshMode.FULL)
    account.execute("UPDATE r SET at = at + INTERVAL 1 DAY, l = ARRAY(9), x = -0.5 WHERE k IN (1, 2)")
    account.execute("DELETE FROM r WHERE k = 3")
    account.execute("INSERT INTO r SELECT k + 10, f, at, i, x, b, l, s FROM r")
    for name in texts:
        assert account.refresh(name)[-1].action is Action.INCREMENTAL
        account.refresh(f"{name}_full")
        assert rows(account, name) == rows(account, f"{name}_full")
        assert rows(account, name)


FULL = {
    "SELECT l, COUNT(*) AS n FROM r GROUP BY l": "GROUP BY by a value of type array<int>",
    "SELECT DISTINCT b FROM r": "DISTINCT by a value of type binary",
    "SELECT date_format(at, 'yyyy') AS y FROM r": "unsupported: ",
    "SELECT k + 1.5D AS y, i * 2 AS z FROM r": "an expression that only Spark can type",
    "SELECT MAX(STRUCT(k, i)) AS m FROM r": "unsupported: ",
    "SELECT k, l FROM r ORDER BY k, l LIMIT 2": "LIMIT",
    "SELECT k DIV 2, COUNT(*) FROM r GROUP BY 1": "unsupported: ",
}


def test_what_only_spark_can_do_is_full(account: Account) -> None:
    for number, (text, reason) in enumerate(FULL.items()):
        table = account.create_dynamic_table(f"d{number}", text)
        assert not table.incremental
        assert reason in table.reason
        with pytest.raises(UnsupportedError, match="e cannot be INCREMENTAL"):
            account.create_dynamic_table("e", text, refresh_mode=RefreshMode.INCREMENTAL)
    account.execute("DELETE FROM r WHERE k = 1")
    base = account.read("r")
    base.createOrReplaceTempView("r")
    for number, text in enumerate(FULL):
        assert account.refresh(f"d{number}")[0].action is Action.FULL
        expected = base.sparkSession.sql(text).collect()
        found = account.read(f"d{number}").collect()
        assert Counter(map(repr, map(tuple, found))) == Counter(map(repr, map(tuple, expected)))


def test_maps_are_full_for_spark_does_not_compare_them(account: Account) -> None:
    account.create_base_table("m", {"k": "INT", "v": "MAP<STRING, INT>"})
    account.execute("INSERT INTO m SELECT 1, MAP('a', 1)")
    table = account.create_dynamic_table("d", "SELECT k FROM m")
    assert (table.incremental, "Spark does not compare maps" in table.reason) == (False, True)


def test_a_text_that_the_engine_misreads_is_left_to_spark(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How a difference is seen: tests/truth/test_reading_against_spark.py."""
    with monkeypatch.context() as patched:
        patched.setattr("dynamic_tables.store.delta.misread", lambda *_: "it is another one")
        table = account.create_dynamic_table("d", "SELECT k FROM r")
        with pytest.raises(UnsupportedError, match="does not read as Spark does: it is another one"):
            account.create_dynamic_table("e", "SELECT k FROM r", refresh_mode=RefreshMode.INCREMENTAL)
    assert (table.incremental, table.reason.endswith("it is another one")) == (False, True)
    assert account.create_dynamic_table("f", "SELECT k FROM r").incremental
    assert rows(account, "d") == rows(account, "f")


def test_functions_that_are_none_of_sparks_own_are_refused(account: Account, spark: SparkSession) -> None:
    spark.sql("CREATE FUNCTION brought AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFAbs'")
    try:
        with pytest.raises(DefinitionError, match="Cannot resolve routine `brought`"):
            account.create_dynamic_table("d", "SELECT brought(k) AS y FROM r")
    finally:
        spark.sql("DROP FUNCTION brought")
    with pytest.raises(DefinitionError, match=r"Spark refuses the query.*frob"):
        account.create_dynamic_table("d", "SELECT frob(k) AS y FROM r")
    assert "d" not in account.store.definitions()
