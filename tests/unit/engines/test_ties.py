"""A table whose rows are equal in an order that decides its contents is refused, with the rows."""

from __future__ import annotations

import pytest

from dynamic_tables.definition import RefreshMode
from dynamic_tables.errors import UnsupportedError
from engines.adapter import Transaction
from engines.in_memory import InMemory, InMemoryPlatform
from tests.ir import table
from workload.dml import Insert
from workload.sql import Dialect
from workload.types import DOUBLE, INT, Row

TABLES = {each.name: each for each in (table("r", k=INT), table("s", k=INT, x=DOUBLE))}
NUMBERED = "SELECT k, x, ROW_NUMBER() OVER (ORDER BY k) AS n FROM s"
UNREAD = "SELECT r.k, SUM(s.k) OVER (ORDER BY r.k ROWS 1 PRECEDING) AS n FROM r JOIN s ON r.k <= s.k"
FILTERED = f"SELECT k, n FROM ({NUMBERED}) AS q WHERE x > 1"
BOTH = "ROW_NUMBER() OVER (ORDER BY k) AS m, ROW_NUMBER() OVER (PARTITION BY k ORDER BY k DESC) AS n"
TWICE = f"SELECT k, {BOTH} FROM s"
FIRST = "SELECT r.k, q.x FROM r, LATERAL (SELECT s.k, s.x FROM s WHERE s.k = r.k ORDER BY s.k LIMIT 1) AS q"


def created(query: str, *rows: Row) -> None:
    """Creates an incremental table over these rows of s."""
    engine: InMemory = InMemoryPlatform().open()
    try:
        for each in TABLES.values():
            engine.create_table(each, "")
        for at, statement in ((1, Insert("r", ((1,), (2,)))), (2, Insert("s", rows))):
            engine.advance(at)
            engine.commit(Transaction(at, (statement,), TABLES, Dialect.SPARK))
        engine.advance(3)
        engine.account.create_dynamic_table("d", query, refresh_mode=RefreshMode.INCREMENTAL)
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (NUMBERED, ((1, 0.5), (2, 0.5))),
        (NUMBERED, ((1, 0.5), (2, 0.5), (2, 0.5))),
        # Nothing reads x.
        (UNREAD, ((2, 0.5), (2, 1.5))),
        # Any of two rows that are alike may be first; of others the least is.
        (FIRST, ((1, 0.5), (1, 0.5), (2, 1.5))),
        (FIRST, ((1, 0.5), (1, 1.5), (2, 1.5))),
    ],
)
def test_rows_that_cannot_be_told_apart_are_no_tie(query: str, rows: tuple[Row, ...]) -> None:
    created(query, *rows)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (NUMBERED, ((1, 0.5), (1, 1.5))),
        (FILTERED, ((1, 0.5), (1, 1.5))),
        # Both functions number alike rows, each in its own way.
        (TWICE, ((1, 0.5), (1, 0.5))),
        (UNREAD, ((2, 0.5), (3, 0.5))),
    ],
)
def test_rows_that_are_equal_in_the_order_are_shown(query: str, rows: tuple[Row, ...]) -> None:
    with pytest.raises(UnsupportedError, match="2 rows are equal in it"):
        created(query, *rows)
