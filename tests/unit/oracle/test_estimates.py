"""Estimates are compared on a grid: rounding errors do not show, wrong values do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from oracle.bag import canonical
from oracle.compare import compare
from oracle.invariants import judged_columns
from workload.outcomes.results import DifferenceKind
from workload.schema import Column
from workload.types import DOUBLE, ESTIMATE, INT

ABOUT, EXACT = (Column("y", ESTIMATE),), (Column("y", DOUBLE),)


@given(st.integers(-4000, 4000), st.integers(1, 400), st.integers(-8, 8))
def test_rounding_errors_do_not_show(numerator: int, denominator: int, errors: int) -> None:
    """Quotients of small numbers, and their roots, are not near a border of the grid."""
    for value in (numerator / denominator, math.sqrt(abs(numerator) / denominator)):
        other = value + errors * math.ulp(value) + errors * 1e-17
        assert canonical(other, ESTIMATE) == canonical(value, ESTIMATE)


WRONG = [(0.0, 1e-5), (1.0, 1.00001), (-2.5, 2.5), (1e9, 1.00001e9), (0.0, math.nan), (1.0, 2.0)]


@pytest.mark.parametrize(("value", "other"), WRONG)
def test_wrong_values_show(value: float, other: float) -> None:
    difference = compare(ABOUT, [(value,)], ABOUT, [(other,)])
    assert difference is not None
    assert difference.kind is DifferenceKind.WRONG_VALUE


def test_only_estimates_are_compared_on_the_grid() -> None:
    third = 0.1 + 0.2
    assert compare(EXACT, [(0.3,)], EXACT, [(third,)]) is not None
    assert compare(ABOUT, [(0.3,)], EXACT, [(third,)]) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308, 5e-324, 0.0])
def test_every_double_has_a_place(value: float) -> None:
    assert canonical(value, ESTIMATE) == canonical(value, ESTIMATE)


def test_the_columns_of_an_engine_are_judged_by_the_expected_types() -> None:
    mine = (Column("k", INT), Column("y", DOUBLE))
    assert judged_columns(mine, (Column("k", INT), Column("y", ESTIMATE)))[1].type == ESTIMATE
    assert judged_columns(mine, (Column("k", DOUBLE), Column("y", ESTIMATE)))[0].type == INT
    assert judged_columns(mine, ABOUT) == mine
