"""When two constants are the same: a select item is a group key by equality of expressions."""

from __future__ import annotations

import pytest

from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.expressions import Lit
from dynamic_tables.plan.types import BIGINT, DOUBLE, INT
from tests.unit.dynamic_tables.reading import read, schema


def over_groups(item: str, key: str) -> str:
    """A query that gives an expression over groups of another."""
    return f"SELECT greatest({item}, x) AS g, COUNT(*) AS n FROM r GROUP BY greatest({key}, x)"


@pytest.mark.parametrize(
    "constant", ["CAST('NaN' AS DOUBLE)", "CAST('-0.0' AS DOUBLE)", "CAST(NULL AS DOUBLE)"]
)
def test_a_constant_is_itself(constant: str) -> None:
    assert schema(over_groups(constant, constant)) == "g DOUBLE, n BIGINT"


def test_the_zeros_are_two_constants() -> None:
    with pytest.raises(DefinitionError, match=r"column r\.x is neither in GROUP BY nor in an aggregate"):
        read(over_groups("CAST('0.0' AS DOUBLE)", "CAST('-0.0' AS DOUBLE)"))


def test_equal_constants_have_one_hash() -> None:
    nan = [Lit(float("nan"), DOUBLE) for _ in range(2)]
    assert len({*nan, Lit(0.0, DOUBLE), Lit(-0.0, DOUBLE), Lit(1, INT), Lit(1, BIGINT)}) == 5
