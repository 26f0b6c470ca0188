"""Differences of two results, and what kind each is."""

import doctest

import pytest

import oracle.compare
from oracle.compare import compare
from tests.unit.oracle.words import columns, rows
from workload.outcomes.results import Difference, DifferenceKind
from workload.schema import Column
from workload.types import INT

SALES = columns("city STRING, total BIGINT")


def difference(expected: str, actual: str) -> Difference | None:
    return compare(SALES, rows(SALES, expected), SALES, rows(SALES, actual))


@pytest.mark.parametrize("actual", ["rome 3; oslo NULL; oslo NULL", "oslo NULL; rome 3; oslo NULL"])
def test_equal_bags_have_no_difference(actual: str) -> None:
    assert difference("rome 3; oslo NULL; oslo NULL", actual) is None
    assert difference("", "") is None


@pytest.mark.parametrize(
    ("expected", "actual", "kind"),
    [
        ("rome 3; oslo 1", "rome 3", DifferenceKind.MISSING),
        ("rome 3", "", DifferenceKind.MISSING),
        ("rome 3", "rome 3; oslo 1", DifferenceKind.EXTRA),
        ("rome 3", "rome 3; rome 3", DifferenceKind.DUPLICATED),
        ("rome 3; rome 3", "rome 3", DifferenceKind.DUPLICATED),
        ("rome 3; rome 3; oslo 1", "rome 3; oslo 1; oslo 1", DifferenceKind.DUPLICATED),
        ("rome 3", "rome 3; rome 3; oslo 1", DifferenceKind.EXTRA),
        ("rome 3; rome 3; oslo 1", "rome 3", DifferenceKind.MISSING),
        ("rome 3", "rome 4", DifferenceKind.WRONG_VALUE),
        ("rome 3; oslo 1", "rome NULL", DifferenceKind.WRONG_VALUE),
    ],
)
def test_the_kind_of_a_difference(expected: str, actual: str, kind: DifferenceKind) -> None:
    result = difference(expected, actual)
    assert result is not None
    assert result.kind is kind


def test_a_difference_names_the_rows_and_how_often() -> None:
    assert difference("rome 3; rome 3; oslo 1", "oslo 1; paris 2") == Difference(
        kind=DifferenceKind.WRONG_VALUE,
        columns=SALES,
        missing=((("rome", 3), 2),),
        extra=((("paris", 2), 1),),
        expected_rows=3,
        actual_rows=2,
    )


@pytest.mark.parametrize(
    ("expected", "actual", "missing", "extra"),
    [
        ([0.0], [0.0, -0.0], [], [(-0.0, 1)]),
        ([-0.0], [0.0, -0.0], [], [(0.0, 1)]),
        ([0.0], [-0.0, -0.0, 0.0, 0.0], [], [(-0.0, 2), (0.0, 1)]),
        ([0.0, -0.0, -0.0], [0.0], [(-0.0, 2)], []),
        ([0.0, 1.5], [-0.0, 2.5], [(1.5, 1)], [(2.5, 1)]),
    ],
)
def test_a_zero_that_is_one_too_many_has_its_own_sign(
    expected: list[float], actual: list[float], missing: object, extra: object
) -> None:
    """The zeros are equal; shown was the first of both sides, which the other side has as well."""
    doubles = columns("d DOUBLE")
    result = compare(doubles, [(d,) for d in expected], doubles, [(d,) for d in actual])
    assert result is not None
    assert repr([(*row, times) for row, times in result.missing]) == repr(missing)
    assert repr([(*row, times) for row, times in result.extra]) == repr(extra)


@pytest.mark.parametrize(
    "other", ["city STRING, total INT", "city STRING, sum BIGINT", "total BIGINT, city STRING", "city STRING"]
)
def test_another_schema_is_a_difference_whatever_the_rows(other: str) -> None:
    result = compare(SALES, (), columns(other), ())
    assert result is not None
    assert result.kind is DifferenceKind.SCHEMA


def test_a_schema_difference_shows_the_columns_that_differ() -> None:
    result = compare(SALES, (), columns("city STRING, total INT"), ())
    assert result is not None
    assert result.missing == (((1, "total", "BIGINT"), 1),)
    assert result.extra == (((1, "total", "INT"), 1),)


def test_the_example_in_the_documentation_holds() -> None:
    assert doctest.testmod(oracle.compare) == doctest.TestResults(failed=0, attempted=3)


def test_names_are_compared_as_sql_compares_them() -> None:
    """A user's text may say AS TotalPrice; scenarios have small letters."""
    one = [(1,)]
    assert compare([Column("totalprice", INT)], one, [Column("TotalPrice", INT)], one) is None
    assert compare([Column("totalprice", INT)], one, [Column("total_price", INT)], one) is not None
