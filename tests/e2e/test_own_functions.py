"""Functions of one's own on Delta: maintained, found by other processes, changed, gone, raising, lying."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaign.audit.audit import AuditVerdict, audit
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed
from dynamic_tables.journal.events import RefreshFailure
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.schedule.failing import Blame
from dynamic_tables.store.port import Action

pytestmark = pytest.mark.spark

BAND = "def band(value):\n    return None if value is None else 'high' if value > 10 else 'low'\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the module `shopfunctions`, on the path."""
    file = tmp_path / "shopfunctions.py"
    file.write_text(BAND)
    monkeypatch.syspath_prepend(str(tmp_path))
    return file


@pytest.fixture
def account(tmp_path: Path, spark: SparkSession) -> Iterator[Account]:
    """An account with the table r(k, v)."""
    account = Account.open(str(tmp_path / "account"), spark, WallClock())
    account.create_base_table("r", {"k": "INT", "v": "INT"})
    account.execute("INSERT INTO r VALUES (1, 5), (2, 50), (3, NULL)")
    yield account
    account.store.close()  # type: ignore[attr-defined]


def counts(account: Account, name: str) -> dict[object, object]:
    return {row[0]: row[1] for row in account.read(name).collect()}


def test_a_python_function_from_its_first_table_to_its_end(
    account: Account, module: Path, spark: SparkSession, tmp_path: Path
) -> None:
    account.register_function("band", "shopfunctions:band", returns="STRING", immutable=True)
    account.create_dynamic_table("b", "SELECT band(v) AS band, COUNT(*) AS n FROM r GROUP BY band(v)")
    account.execute("INSERT INTO r VALUES (4, 60)")
    other = Account.open(str(tmp_path / "account"), spark, WallClock())
    assert other.refresh("b")[-1].action is Action.INCREMENTAL
    assert counts(other, "b") == {"low": 1, "high": 2, None: 1}
    (audited,) = audit(tmp_path / "account").tables
    assert audited.verdict is AuditVerdict.HOLDS, audited.facts

    module.write_text(BAND.replace("10", "55"))
    (audited,) = audit(tmp_path / "account").tables
    assert audited.verdict is AuditVerdict.VIOLATED
    record = other.refresh("b")[-1].record
    assert record is not None
    assert (record.action, record.reason) == (Action.REINITIALIZE, "function band changed")
    assert counts(other, "b") == {"low": 2, "high": 1, None: 1}

    module.write_text("def band(value):\n    raise ValueError('no band')\n")
    account.execute("INSERT INTO r VALUES (5, 1)")
    with pytest.raises(RefreshFailed, match="ValueError: no band") as failed:
        other.refresh("b")
    assert "\n" not in str(failed.value)
    assert counts(other, "b") == {"low": 2, "high": 1, None: 1}
    events = other.store.journal.all_events()
    assert [each.fault for each in events if isinstance(each, RefreshFailure)] == [Blame.USER]

    module.unlink()
    with pytest.raises(DefinitionError, match="there is no module shopfunctions") as gone:
        other.refresh("b")
    assert "\n" not in str(gone.value)
    (audited,) = audit(tmp_path / "account").tables
    assert audited.verdict is AuditVerdict.UNKNOWN
    other.store.close()  # type: ignore[attr-defined]


def test_a_sql_function_is_a_dependency(account: Account) -> None:
    account.execute("CREATE FUNCTION twice(x INT) RETURNS INT RETURN 2 * x")
    assert account.create_dynamic_table("t", "SELECT k, twice(v) AS v FROM r WHERE v < 50").incremental
    with pytest.raises(DefinitionError, match="function twice is called by t"):
        account.execute("DROP FUNCTION twice")
    with pytest.raises(DefinitionError, match="exists already"):
        account.execute("CREATE FUNCTION twice(x INT) RETURNS INT RETURN x + x")
    account.execute("CREATE OR REPLACE FUNCTION twice(x INT) RETURNS INT RETURN 2 * x + 1")
    record = account.refresh("t")[-1].record
    assert record is not None
    assert (record.action, record.reason) == (Action.REINITIALIZE, "function twice changed")
    assert counts(account, "t") == {1: 11}
    account.drop("t")
    account.execute("DROP FUNCTION twice")
    assert account.functions() == {}


def test_a_function_that_may_change_makes_its_tables_full(account: Account, module: Path) -> None:
    account.register_function("band", "shopfunctions:band", returns="STRING")
    table = account.create_dynamic_table("b", "SELECT k, band(v) AS band FROM r")
    assert (table.incremental, "not registered as immutable" in table.reason) == (False, True)
    assert counts(account, "b") == {1: "low", 2: "high", 3: None}


@pytest.mark.parametrize(
    ("name", "reference", "message"),
    [
        ("abs", "shopfunctions:band", "abs is a function of Spark"),
        ("f", "shopfunctions:missing", "has no function missing"),
        ("f", "no_such_module:f", "there is no module no_such_module"),
    ],
)
def test_what_is_refused(account: Account, module: Path, name: str, reference: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        account.register_function(name, reference, returns="STRING")
