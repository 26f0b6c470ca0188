"""The engines of the matrix keep the contract of adapters; docs/engines.md says what they get wrong.

An engine that is not installed is skipped, with the line that says how to install it.
"""

from __future__ import annotations

import pytest

from campaign.pytest_plugin import AdapterConformance
from engines.adapter import Adapter
from engines.errors import EngineError
from engines.others.db_ivm import DbIvm
from engines.others.duckdb_views import DuckDb
from engines.others.postgres import Postgres
from engines.others.sail import Sail
from engines.others.sqlite import Sqlite, SqliteTriggers
from engines.others.trickle import Trickle


def needs(adapter: type[Adapter]) -> pytest.MarkDecorator:
    """Skips the tests of an engine that is not installed."""
    try:
        adapter.ready()
    except EngineError as error:
        return pytest.mark.skip(reason=str(error))
    return pytest.mark.slow


@needs(Postgres)
class TestPostgres(AdapterConformance):
    adapter = Postgres


@needs(Trickle)
class TestTrickle(AdapterConformance):
    adapter = Trickle


@needs(DbIvm)
class TestDbIvm(AdapterConformance):
    adapter = DbIvm


@needs(DuckDb)
class TestDuckDb(AdapterConformance):
    adapter = DuckDb


@needs(Sqlite)
class TestSqlite(AdapterConformance):
    adapter = Sqlite


@needs(SqliteTriggers)
class TestSqliteTriggers(AdapterConformance):
    adapter = SqliteTriggers


@needs(Sail)
class TestSail(AdapterConformance):
    adapter = Sail
