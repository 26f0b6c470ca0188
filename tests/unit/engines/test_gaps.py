"""What adapters that translate queries themselves cannot translate is refused, not left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engines.asking import limits_of
from engines.others import db_ivm, lancedb_views, tanstack_db, trickle, turso, zql_queries
from engines.others.pathway import queries as pathway_queries
from tests.ir import agg, call, columns, count_star, derived, join, named, select, table
from workload.query import Call, JoinKind, Query
from workload.sql import Dialect, render_query
from workload.types import BIGINT, INT

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


def joined(condition: Call) -> Query:
    """A self join on a condition."""
    return select({"k": columns(R)["k"]}, join(JoinKind.INNER, named("r"), named("r", "s"), condition))


def equal(name: str) -> Call:
    return call("eq", columns(R)[name], columns(R, "s")[name])


def below(name: str, value: int) -> Call:
    return call("lt", columns(R)[name], value)


COUNTS_COLUMNS = table("q", k=INT, n=BIGINT)
COUNTS = select({"k": columns(R)["k"], "n": count_star()}, named("r"), group_by=[columns(R)["k"]])


@pytest.mark.parametrize(
    ("query", "taken"),
    [
        (joined(equal("k")), True),
        (joined(call("and", equal("k"), equal("v"))), True),
        (joined(call("and", equal("k"), below("v", 3))), False),
        (select({"k": columns(R)["k"]}, named("r"), where=below("k", 3)), True),
        (select({"k": columns(R)["k"]}, named("r"), where=below("k", -3)), False),
        (select({"m": columns(COUNTS_COLUMNS, "q")["n"]}, derived(COUNTS, "q")), False),
        (
            select({"n": count_star()}, derived(COUNTS, "q"), group_by=[columns(COUNTS_COLUMNS, "q")["n"]]),
            False,
        ),
    ],
)
def test_turso_is_asked_what_it_takes_as_a_view(query: Query, taken: bool) -> None:
    pytest.importorskip("turso")
    gap = limits_of(turso.Turso, turso.Turso.capabilities).gap
    assert (gap(query) is None) == taken


def test_equalities_of_a_join_stand_side_by_side() -> None:
    """To Turso an equality in parentheses is none: it refused nearly every join that the harness wrote."""
    text = render_query(joined(call("and", equal("k"), equal("v"))), Dialect.SQLITE)
    assert text == "SELECT r.k AS k FROM r INNER JOIN r AS s ON r.k = s.k AND r.v = s.v"
