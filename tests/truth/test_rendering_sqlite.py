"""SQLite gives for a text in its dialect what the oracle gives: views, which keep nothing, are right."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar

import pytest

from campaign.judging.lane import Lane
from engines.adapter import Adapter, Capabilities, Transaction
from engines.engine import Engine
from engines.values import typed_rows
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import QUICK
from tests.depth import examples
from workload.limits import Limits
from workload.operators import OPERATORS
from workload.outcomes.results import OutcomeClass
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Kind, Row

LIMITS = Limits(
    operators=OPERATORS - {"window", "limit"},
    types=frozenset({Kind.INT, Kind.BIGINT, Kind.STRING, Kind.BOOLEAN, Kind.DOUBLE}),
    stores=lambda value, type_: not isinstance(value, str) or value.isascii(),
)


class Views(Adapter):
    """A dynamic table is a view, which SQLite evaluates whenever it is read."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.SQLITE, limits=LIMITS)

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:")

    def create_table(self, table: Table, sql: str) -> None:
        self.database.execute(sql)

    def create_view(self, name: str, query: str) -> None:
        self.database.execute(f"CREATE VIEW {name} AS {query}")

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        self.create_view(table.name, query)

    def commit(self, transaction: Transaction) -> None:
        for text in transaction.sql:
            self.database.execute(text)

    def refresh(self, table: str, timestamp: int) -> None:
        pass

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        return typed_rows(self.database.execute(f"SELECT * FROM {name}"), columns)


@pytest.mark.slow
def test_sqlite_answers_as_the_oracle_does() -> None:
    profile, lane = fitted(QUICK, Views.capabilities.limits), Lane(engine=Engine.of(Views), limits=LIMITS)
    seen: Counter[str] = Counter()
    for index in range(examples(80)):
        outcome = lane.judge(scenario_at(1, profile, index))
        seen[outcome.outcome.value] += 1
        assert outcome.outcome in (OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED), (index, outcome.reason)
    assert seen["passed"] > 0.9 * seen.total()
