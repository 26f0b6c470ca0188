"""Of rows that are equal in the order of a LIMIT any may be the last; a refresh keeps those that it has."""

from __future__ import annotations

import pytest

from oracle.delayed_view import DelayedView
from oracle.first_rows import FirstRows
from tests.ir import columns, named, select, table
from workload.dml import Delete, Insert
from workload.errors import WorkloadError
from workload.orders import leaves_ties
from workload.query import Call, Limited, SortKey
from workload.scenario import Commit, Create, DynamicTable, Scenario
from workload.types import BOOLEAN, INT, Row
from workload.wellformed import check_scenario

R = table("r", k=INT, v=INT)
C = columns(R)
BLOCK = select(C, named("r"))
ROWS = ((1, 1), (2, 5), (2, 6), (2, 6), (3, 0))


def first(count: int, offset: int = 0) -> Limited:
    return Limited(BLOCK, (SortKey("k"),), count, offset)


def scenario(limited: Limited, *more: DynamicTable) -> Scenario:
    gone = Call("eq", (C["k"], C["v"]), BOOLEAN)
    definitions = (DynamicTable("d", limited), *more)
    commits = (Commit(1, (Insert("r", ROWS),)), Commit(2, (Delete("r", gone),)))
    return Scenario("ties", (R,), definitions, (*commits, Create(3, "d")))


def ties(limited: Limited, at: int) -> FirstRows:
    with DelayedView(scenario(limited)) as truth:
        found = truth.first_rows("d", at)
    assert found is not None
    return found


def is_right(limited: Limited, *held: Row) -> bool:
    return sorted(ties(limited, 1).like(held)) == sorted(held)


def test_any_rows_of_the_last_tie_are_right() -> None:
    assert is_right(first(2), (1, 1), (2, 5))
    assert is_right(first(2), (1, 1), (2, 6))
    assert is_right(first(3), (1, 1), (2, 6), (2, 6))
    assert not is_right(first(2), (2, 5), (2, 6)), "what is before the border must be there"
    assert not is_right(first(3), (1, 1), (2, 5), (2, 5)), "there is one such row"
    assert not is_right(first(2), (1, 1), (2, 7)), "there is no such row"
    assert not is_right(first(2), (1, 1), (3, 0)), "it comes after the tie"
    assert not is_right(first(2), (1, 1)), "a place is empty"


def test_an_offset_may_begin_inside_a_tie() -> None:
    assert is_right(first(2, 2), (2, 5), (2, 6))
    assert is_right(first(2, 2), (2, 6), (2, 6))
    assert is_right(first(9, 3), (2, 5), (3, 0))
    assert not is_right(first(2, 2), (2, 5), (3, 0))
    assert is_right(first(0))


def test_rows_stay_where_nothing_of_their_tie_has_changed() -> None:
    # The row (1, 1) goes, so that one more row of the tie comes in: then others may come in as well.
    before, after = ties(first(2), 1), ties(first(2), 2)
    assert not list(after.needless(before, [(1, 1), (2, 5)], [(2, 6), (2, 6)]))
    assert list(before.needless(before, [(1, 1), (2, 5)], [(1, 1), (2, 6)])) == [(2, 5)]
    assert not list(before.needless(before, [(1, 1), (2, 6)], [(1, 1), (2, 6)]))


def test_an_order_leaves_ties_unless_the_rest_follows_from_it() -> None:
    double = Call("add", (C["k"], C["k"]), INT)
    by_key = (SortKey("k"),)
    assert leaves_ties(first(1))
    assert not leaves_ties(Limited(BLOCK, (SortKey("k"), SortKey("v")), 1))
    assert not leaves_ties(Limited(select({"k": C["k"], "x": double}, named("r")), by_key, 1))
    grouped = select({"k": C["k"], "v": C["v"]}, named("r"), group_by=[C["k"], C["v"]])
    assert leaves_ties(Limited(grouped, by_key, 1))


def test_nothing_reads_a_table_of_several_right_contents() -> None:
    check_scenario(scenario(first(1)))
    above = DynamicTable("e", select(columns(R, "d"), named("d")))
    with pytest.raises(WorkloadError, match="may hold one of several results"):
        check_scenario(scenario(first(1), above))
