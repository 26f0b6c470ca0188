"""An engine that recomputes, on DuckDB, and a shop to run it on; tests break the engine by overriding."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import ClassVar

import duckdb

from campaign.judging.lane import Lane
from engines import Adapter, Capabilities, Notes, Transaction
from engines.engine import Engine, Open
from engines.values import typed_rows
from tests.ir import agg, call, columns, named, select, table
from workload.dml import Assignment, Insert, Update
from workload.limits import Limits
from workload.query import Literal
from workload.scenario import Commit, Create, DynamicTable, Read, Refresh, Scenario, View
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import INT, STRING, Kind, Row


class Recomputing(Adapter):
    """Every refresh computes everything."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB)

    def __init__(self) -> None:
        self.db = duckdb.connect(config={"disabled_optimizers": "statistics_propagation"})
        self.queries: dict[str, str] = {}

    def create_table(self, table: Table, sql: str) -> None:
        self.db.execute(sql)

    def create_view(self, name: str, query: str) -> None:
        self.db.execute(f"CREATE VIEW {name} AS {query}")

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        self.db.execute(f"CREATE TABLE {table.name} AS SELECT * FROM ({query}) LIMIT 0")
        self.queries[table.name] = query
        return None

    def commit(self, transaction: Transaction) -> Mapping[str, int] | None:
        for text in transaction.sql:
            self.db.execute(text)
        return None

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        self.db.execute(f"DELETE FROM {table}")
        self.db.execute(f"INSERT INTO {table} {self.queries[table]}")
        return None

    def rows(self, name: str, columns: Sequence[Column]) -> Sequence[Row]:
        return self.db.table(name).fetchall()

    def close(self) -> None:
        self.db.close()


SALES = table("sales", region=STRING, amount=INT)
OF_SALES = columns(SALES)

LARGE = View("large", select(dict(OF_SALES), named("sales"), where=call("gt", OF_SALES["amount"], 5)))
OF_LARGE = columns(SALES, "large")
TOTALS = DynamicTable(
    "totals",
    select(
        {
            "region": OF_LARGE["region"],
            "total": agg("SUM", OF_LARGE["amount"]),
        },
        named("large"),
        group_by=[OF_LARGE["region"]],
    ),
    target_lag=1,
)
OF_TOTALS = columns(table("totals", region=STRING), "totals")
REGIONS = DynamicTable("regions", select(dict(OF_TOTALS), named("totals")), target_lag=1)


def shop(name: str = "shop") -> Scenario:
    """Totals by region over a view, and the regions over the totals; one row is corrected in between."""
    correction = Update(
        "sales", (Assignment("amount", Literal(70, INT)),), call("eq", OF_SALES["region"], "north")
    )
    return Scenario(
        name,
        (SALES,),
        (LARGE, TOTALS, REGIONS),
        (
            Commit(10, (Insert("sales", (("north", 7), ("north", 8), ("south", 3), ("south", 9))),)),
            Create(20, "large"),
            Create(30, "totals"),
            Create(40, "regions"),
            Commit(50, (correction,)),
            Refresh(60, "regions", 60),
            Read(70, 1, ("totals", "regions")),
        ),
    )


def lane(adapter: Open) -> Lane:
    """The lane of an adapter."""
    return Lane(engine=Engine.of(adapter))


class OnSqlite(Recomputing):
    """The same on Python's own SQLite, without dates and decimals."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.SQLITE, limits=Limits(types=frozenset({Kind.INT, Kind.STRING}))
    )

    def __init__(self) -> None:
        self.db = sqlite3.connect(":memory:", isolation_level=None)  # type: ignore[assignment]
        self.queries = {}

    def rows(self, name: str, columns: Sequence[Column]) -> Sequence[Row]:
        return typed_rows(self.db.execute(f"SELECT * FROM {name}").fetchall(), columns)


class WrongOnSqlite(OnSqlite):
    """Never refreshes a table that has rows."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        if self.db.execute(f"SELECT * FROM {table}").fetchone() is None:
            return super().refresh(table, timestamp)
        return None
