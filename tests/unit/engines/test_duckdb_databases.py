"""Databases that share an instance of DuckDB are as apart as instances are."""

from __future__ import annotations

import duckdb
import pytest

from engines import RefreshFailed, Transaction
from engines.others.base_tables import BaseTables
from engines.others.duckdb_databases import Database
from engines.others.duckdb_views import DuckDb
from tests.ir import columns, named, select, table
from workload.dml import Delete, Insert
from workload.scenario import DynamicTable
from workload.schema import Column
from workload.sql import Dialect, create_table_text
from workload.types import INT, STRING, Row

R, N = table("r", k=INT, a=STRING), (Column("n", INT),)


def databases() -> list[str]:
    found = Database().connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()
    return sorted(name for (name,) in found if name.startswith("database_"))


def without_rows(database: Database) -> str:
    """The plan of a query that an optimizer knows to be empty."""
    ((_, plan),) = database.connection.execute(
        "EXPLAIN SELECT x FROM range(9) AS t(x) WHERE 1 = 0"
    ).fetchall()
    return str(plan)


def test_nothing_of_a_database_is_in_the_next_one() -> None:
    first = Database()
    first.connection.execute("PRAGMA disable_optimizer; CREATE TABLE t (x INT); CREATE TEMP TABLE u (x INT)")
    second = Database()
    second.connection.execute("CREATE TABLE t (y INT); CREATE TEMP TABLE u (y INT)")
    assert without_rows(first) != without_rows(second)
    assert second.connection.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
    before = databases()
    first.close()
    second.close()
    assert len(databases()) == len(before) - 1, "two are gone, and the one that looks is new"


def test_a_database_that_cannot_be_dropped_ends_the_instance() -> None:
    broken = Database()
    broken.connection.execute("BEGIN")
    with pytest.raises(duckdb.Error):
        broken.connection.execute("SELECT CAST('x' AS INT)")
    broken.close()
    assert len(databases()) == 1


def test_a_refresh_that_fails_changes_nothing_and_the_next_one_may_succeed() -> None:
    r = columns(R)
    engine = DuckDb()
    engine.create_table(R, create_table_text(R, Dialect.DUCKDB))
    engine.create_dynamic_table(
        DynamicTable("d", select({"n": r["k"]}, named("r"))), "SELECT CAST(r.a AS INT) AS n FROM r AS r"
    )

    def insert(at: int, value: str) -> None:
        engine.commit(Transaction(at, (Insert("r", ((at, value),)),), {"r": R}, Dialect.DUCKDB))

    insert(1, "7")
    engine.refresh("d", 1)
    insert(2, "seven")
    with pytest.raises(RefreshFailed, match="Could not convert"):
        engine.refresh("d", 2)
    assert list(engine.rows("d", N)) == [(7,)]
    engine._db.execute("DELETE FROM r WHERE k = 2")
    insert(3, "8")
    engine.refresh("d", 3)
    assert sorted(engine.rows("d", N)) == [(7,), (8,)]
    as_text = (Column("n", STRING),)
    assert sorted(engine.rows("d", as_text)) == [("7",), ("8",)], "cast to the types of the definition"
    engine.close()


def test_an_engine_without_dml_is_told_what_each_transaction_changed() -> None:
    base = BaseTables()
    base.create(R, create_table_text(R, Dialect.DUCKDB))

    def changes(*statements: Insert | Delete) -> dict[str, dict[Row, int]]:
        found = base.commit(Transaction(1, statements, {"r": R}, Dialect.DUCKDB))
        return {name: {row: n for row, n in rows.items() if n} for name, rows in found.items()}

    two = ((1, "a"), (1, "a"))
    assert changes(Insert("r", two)) == {"r": {(1, "a"): 2}}
    assert changes(Delete("r", None), Insert("r", ((1, "a"), (2, None)))) == {
        "r": {(1, "a"): -1, (2, None): 1}
    }
    assert sorted(base.held["r"]) == [(1, "a"), (2, None)]
    base.database.close()
