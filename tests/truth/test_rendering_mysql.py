"""MariaDB gives for a text in the dialect MYSQL what the oracle gives."""

from __future__ import annotations

from collections import Counter

import pytest

from campaign.judging.lane import Lane
from engines.adapter import Transaction
from engines.engine import Engine
from engines.errors import EngineError
from engines.others.mariadb import MariaDb
from generators.fitting import fitted
from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.depth import examples
from workload.dml import Assignment, Dml, Insert, Update
from workload.outcomes.results import OutcomeClass
from workload.query import ColumnRef
from workload.schema import Column, Table
from workload.sql import Dialect, create_table_text
from workload.types import DOUBLE, INT, STRING

try:
    MariaDb.ready()
except EngineError as missing:
    pytest.skip(str(missing), allow_module_level=True)

pytestmark = pytest.mark.slow

TABLE = Table("r", (Column("k", INT), Column("a", INT), Column("s", STRING), Column("f", DOUBLE)))
ROWS = ((1, 2, "a\\'\0", 0.1), (3, None, "A", 1e308), (4, 5, "a ", -5e-324), (6, 7, "\U0001f600", 1.5))
"""Values at the ends of their types, without -0.0: MariaDB does not keep its sign. A judge notices that in
the base tables, and takes -0.0 for 0.0 from then on."""


def test_mariadb_answers_as_the_oracle_does() -> None:
    limits = MariaDb.capabilities.limits
    profile, lane = fitted(SMOKE, limits), Lane(engine=Engine.of(MariaDb), limits=limits)
    seen: Counter[str] = Counter()
    for index in range(examples(8)):
        outcome = lane.judge(scenario_at(1, profile, index))
        seen[outcome.outcome.value] += 1
        assert outcome.outcome in (OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED), (index, outcome.reason)
    assert seen["passed"] > 0.9 * seen.total()


def test_values_are_stored_exactly_and_an_update_exchanges_two_columns() -> None:
    k, a = (ColumnRef("r", name, INT) for name in "ka")
    exchanged = Update("r", (Assignment("k", a), Assignment("a", k)), None)
    mariadb = MariaDb()
    try:
        mariadb.create_table(TABLE, create_table_text(TABLE, Dialect.MYSQL))
        statements: tuple[Dml, ...] = (Insert("r", ROWS), exchanged)
        mariadb.commit(Transaction(1, statements, {"r": TABLE}, Dialect.MYSQL))
        stored = mariadb.rows("r", TABLE.columns)
    finally:
        mariadb.close()
    # By text: Python calls 1, 1.0 and True equal.
    assert sorted(map(repr, stored)) == sorted(repr((a, k, s, f)) for k, a, s, f in ROWS)
