"""The engines of the matrix keep the contract of adapters; docs/engines.md says what they get wrong.

An engine that is not installed is skipped, with the line that says how to install it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from campaign.pytest_plugin import AdapterConformance
from engines.adapter import Adapter, Capabilities, Transaction
from engines.errors import EngineError
from engines.others.db_ivm import DbIvm
from engines.others.duckdb_views import DuckDb, DuckDbFile
from engines.others.flink import LIMITS, Flink, gap
from engines.others.lancedb_views import LanceDb
from engines.others.mariadb import MariaDb
from engines.others.pathway.tables import Pathway
from engines.others.pipelines import Pipelines
from engines.others.postgres import Postgres
from engines.others.sail import Sail
from engines.others.sqlite import Sqlite, SqliteTriggers
from engines.others.tanstack_db import TanstackDb
from engines.others.trickle import Trickle
from engines.others.zql import Zql
from tests.ir import columns, named, select, table
from workload import query as ir
from workload.dml import Insert
from workload.scenario import DynamicTable
from workload.schema import Table
from workload.sql import Dialect, create_table_text, render_query
from workload.types import INT, STRING, Row


def needs(adapter: type[Adapter]) -> pytest.MarkDecorator:
    """Skips the tests of an engine that is not installed."""
    try:
        adapter.ready()
    except EngineError as error:
        return pytest.mark.skip(reason=str(error))
    return pytest.mark.nightly


class Sampled(AdapterConformance):
    """The contract with few scenarios: these engines are slow, and campaigns look for bugs in them."""

    scenarios = 4
    of_each_operator = 1


@needs(Postgres)
class TestPostgres(Sampled):
    adapter = Postgres


@needs(MariaDb)
class TestMariaDb(Sampled):
    adapter = MariaDb


@needs(Trickle)
class TestTrickle(Sampled):
    adapter = Trickle


@needs(DbIvm)
class TestDbIvm(Sampled):
    adapter = DbIvm


@needs(TanstackDb)
class TestTanstackDb(Sampled):
    adapter = TanstackDb


@needs(LanceDb)
class TestLanceDb(Sampled):
    adapter = LanceDb


@needs(Pathway)
class TestPathway(Sampled):
    adapter = Pathway


def beside_its_bugs(query: ir.Query) -> str | None:
    """Returns what of a query docs/found-bugs.md says that Flink gets wrong, or lacks; None: nothing."""
    for part in ir.walk(query):
        match part:
            case ir.Limited(offset=offset) if offset:
                return "rows of an OFFSET"
            case ir.Window(ir.WindowFunction.RANK | ir.WindowFunction.DENSE_RANK | ir.WindowFunction.LAG):
                return "ranks of rows that tie"
            case _:
                pass
    return gap(query)


class FlinkWithoutItsBugs(Flink):
    """Flink within the limits in which its streaming mode is right."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        dialect=Dialect.FLINK, limits=replace(LIMITS, gap=beside_its_bugs)
    )


@needs(Flink)
class TestFlink(Sampled):
    adapter = FlinkWithoutItsBugs


@needs(DuckDb)
class TestDuckDb(Sampled):
    adapter = DuckDb


@needs(DuckDbFile)
class TestDuckDbFile(Sampled):
    adapter = DuckDbFile


@needs(Sqlite)
class TestSqlite(Sampled):
    adapter = Sqlite


@needs(SqliteTriggers)
class TestSqliteTriggers(Sampled):
    adapter = SqliteTriggers


@needs(Sail)
class TestSail(Sampled):
    adapter = Sail


@needs(Pipelines)
class TestPipelines(Sampled):
    adapter = Pipelines


@needs(Zql)
class TestZql(Sampled):
    adapter = Zql


@pytest.mark.parametrize(
    "adapter", [DuckDb, DuckDbFile, *(pytest.param(each, marks=needs(each)) for each in (Postgres, MariaDb))]
)
def test_a_prepared_plan_knows_what_changed_since(adapter: type[Adapter]) -> None:
    """Contents are read by prepared statements: of a changed table, and of another one of the same name."""
    engine, dialect = adapter(), adapter.capabilities.dialect
    numbers, names = table("n", k=INT), table("s", k=INT, t=STRING)

    def commit(at: int, of: Table, row: Row) -> None:
        engine.commit(Transaction(at, (Insert(of.name, (row,)),), {of.name: of}, dialect))

    def created_over(source: Table) -> DynamicTable:
        view = DynamicTable("d", select(dict(columns(source)), named(source.name)))
        engine.create_dynamic_table(view, render_query(view.query, dialect))
        return view

    def refreshed(at: int, source: Table) -> list[Row]:
        engine.refresh("d", at)
        return sorted(tuple(row) for row in engine.rows("d", source.columns))

    for each in (numbers, names):
        engine.create_table(each, create_table_text(each, dialect))
    view = created_over(numbers)
    assert refreshed(1, numbers) == []
    commit(2, numbers, (7,))
    assert refreshed(3, numbers) == [(7,)]
    commit(4, names, (1, "a"))
    engine.drop(view)
    created_over(names)
    assert refreshed(5, names) == [(1, "a")]
    engine.restart() if adapter.capabilities.limits.restarts else None
    commit(6, names, (2, "b"))
    assert refreshed(7, names) == [(1, "a"), (2, "b")]
    engine.close()
