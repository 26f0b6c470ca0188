"""Values of engines become values of the harness, and what is none of its type stays to be named."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from engines.adapter import tuples
from engines.values import typed_rows
from workload.schema import Column
from workload.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, Kind, decimal

COLUMNS = (
    Column("i", INT),
    Column("l", BIGINT),
    Column("b", BOOLEAN),
    Column("f", DOUBLE),
    Column("s", STRING),
    Column("m", decimal(8, 2)),
    Column("d", DATE),
)


def test_values_that_an_engine_stores_in_its_own_way_get_the_types_of_the_columns() -> None:
    stored = [(1.0, 2, 1, 3, "a", "1.5", "2024-02-29"), (None,) * 7]

    typed = typed_rows(stored, COLUMNS)

    assert repr(typed[0]) == repr((1, 2, True, 3.0, "a", Decimal("1.50"), dt.date(2024, 2, 29)))
    assert typed[1] == (None,) * 7


def test_rows_of_another_length_and_values_of_another_type_stay_as_they_are() -> None:
    assert typed_rows([(1,), (1, 2, True, 1.0, "a", Decimal("1.50"), None, "beyond")], COLUMNS) == [
        (1,),
        (1, 2, True, 1.0, "a", Decimal("1.50"), None, "beyond"),
    ]
    assert repr(typed_rows([(True, 1.5, 2)], COLUMNS)) == "[(True, 1.5, 2)]"


def test_a_hook_makes_the_value_even_where_it_has_the_type_already() -> None:
    assert typed_rows([(1, 2)], COLUMNS[:2], {Kind.INT: lambda given: given + 10}) == [(11, 2)]


@pytest.mark.parametrize("rows", [None, [(1,), None]])
def test_what_is_no_list_of_rows_is_said(rows: Any) -> None:
    """It was a TypeError of the harness, `'NoneType' object is not iterable`, without the method's name."""
    with pytest.raises(TypeError, match=r"^rows returned None for r( in place of a row)?; return a list"):
        tuples("r", rows)
