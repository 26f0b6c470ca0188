"""Rows get the types of the table that they are written to, or are refused."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from dynamic_tables.errors import StoreError
from dynamic_tables.plan.types import INT, STRING, decimal
from dynamic_tables.store.fitting import as_stored

PRICE = decimal(38, 6)
assert PRICE is not None
COLUMNS = (("k", INT), ("Price", PRICE), ("v", STRING))


def rows(k: pa.DataType, price: pa.DataType, value: str) -> pa.Table:
    return pa.table(
        {
            "k": pa.array([1, None], k),
            "price": pa.array([Decimal(value), None], price),
            "$OPERATION": ["a", "b"],
        }
    )


def test_rows_of_the_types_of_a_table_stay_as_they_are() -> None:
    given = rows(pa.int32(), pa.decimal128(38, 6), "1.5")
    assert as_stored("t", given, COLUMNS) is given


def test_rows_of_other_types_are_cast_where_no_digit_is_lost() -> None:
    cast = as_stored("t", rows(pa.int64(), pa.decimal128(38, 20), "1.5"), COLUMNS)
    assert cast.schema.types == [pa.int32(), pa.decimal128(38, 6), pa.string()]
    assert cast.to_pydict() == {"k": [1, None], "price": [Decimal("1.5"), None], "$OPERATION": ["a", "b"]}


def test_a_value_that_would_lose_digits_is_refused() -> None:
    with pytest.raises(
        StoreError, match=r"t: column price is of type DECIMAL\(38,6\), .* decimal128\(38, 20\)"
    ):
        as_stored("t", rows(pa.int32(), pa.decimal128(38, 20), "1.50000001"), COLUMNS)
    with pytest.raises(StoreError, match="t: column k is of type INT"):
        as_stored(
            "t", rows(pa.int32(), pa.decimal128(38, 6), "1.5").set_column(0, "k", [[1 << 40, 1]]), COLUMNS
        )
