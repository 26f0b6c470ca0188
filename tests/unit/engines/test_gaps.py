"""What adapters that translate queries themselves cannot translate is refused, not left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engines.others import db_ivm, lancedb_views, tanstack_db, trickle, zql_queries
from engines.others.pathway import queries as pathway_queries
from tests.ir import agg, columns, named, select, table
from workload.query import Query
from workload.types import INT

TRANSLATE = (db_ivm, lancedb_views, pathway_queries, tanstack_db, trickle, zql_queries)

R = table("r", k=INT, v=INT)


def counted(*names: str) -> Query:
    """How many rows of each key have all these columns."""
    one = columns(R)
    count = agg("COUNT", *(one[name] for name in names))
    return select({"k": one["k"], "n": count}, named("r"), group_by=[one["k"]])


@pytest.mark.parametrize("gap", [each.gap for each in TRANSLATE])
def test_a_count_of_two_columns_is_no_count_of_the_first(gap: Callable[[Query], str | None]) -> None:
    """The adapter of db-ivm sent the first column alone: a row with a NULL in the second was counted."""
    assert gap(counted("k", "v")) is not None


def test_a_count_of_one_column_is_translated() -> None:
    assert db_ivm.gap(counted("v")) is None
