"""Canonical values and bags: what counts as the same row."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from oracle.bag import Bag, canonical, canonical_row
from oracle.errors import OracleError
from tests.unit.oracle.words import columns, rows
from workload.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Kind,
    SqlType,
    Value,
    array_of,
    decimal,
    fits,
    map_of,
    parse_type,
    struct_of,
    to_float,
)

SAMPLES: dict[SqlType, tuple[Value, ...]] = {
    INT: (0, 1, -(2**31)),
    BIGINT: (2, 2**63 - 1),
    TINYINT: (-128, 12),
    SMALLINT: (-(2**15), 13),
    FLOAT: (0.5, 3.0, float("inf"), to_float(0.1)),
    DOUBLE: (0.5, 3.0, float("inf")),
    BINARY: (b"", b"a", b"1"),
    BOOLEAN: (True, False),
    STRING: ("", "a", "1"),
    DATE: (dt.date(2024, 2, 29),),
    TIMESTAMP_NTZ: (dt.datetime.fromisoformat("2024-02-29T00:00:00.000001"),),
    TIMESTAMP: (dt.datetime.fromisoformat("2024-02-29T00:00:00.000002"),),
    decimal(10, 2): (Decimal("1.25"), Decimal(7)),
    array_of(INT): ((), (1, 2), (2, 1), (None,)),
    struct_of(a=INT, b=STRING): ((1, "a"), (1, None), (None, None)),
    map_of(STRING, INT): ((), (("a", 1),), (("a", None),)),
    parse_type("VARIANT"): ("null", "1", '"1"', '{"a":1}', '{"a":[1]}'),
}


def test_every_kind_of_type_has_a_canonical_form() -> None:
    assert {type_.kind for type_ in SAMPLES} == set(Kind)
    for type_, values in SAMPLES.items():
        assert all(fits(value, type_) for value in values)
        assert len({canonical(value, type_) for value in values}) == len(values)


def test_maps_are_equal_in_any_order_and_their_values_by_type() -> None:
    type_ = map_of(STRING, DOUBLE)
    one, other = (("a", 0.0), ("b", 1.0)), (("b", 1.0), ("a", -0.0))
    assert canonical(one, type_) == canonical(other, type_)
    with pytest.raises(OracleError, match="is not a value of type INT"):
        canonical(("a",), array_of(INT))


def test_a_reader_that_gives_lists_is_told_so() -> None:
    with pytest.raises(OracleError, match="its reader mixed up the types"):
        Bag.of([([1],)], [array_of(INT)])  # type: ignore[list-item]  # what a careless reader gives


def test_values_of_different_types_never_have_one_form() -> None:
    forms = [canonical(value, type_) for type_, values in SAMPLES.items() for value in values]
    assert len(set(forms)) == len(forms)
    assert len({canonical(1, INT), canonical(1.0, DOUBLE), canonical(True, BOOLEAN)}) == 3


@pytest.mark.parametrize(
    ("left", "right", "type_"),
    [
        (None, None, INT),
        (float("nan"), -float("nan"), DOUBLE),
        (-0.0, 0.0, DOUBLE),
        (-0.0, 0.0, FLOAT),
        (0.1, to_float(0.1), FLOAT),
        (Decimal("1.5"), Decimal("1.500"), decimal(10, 3)),
        (Decimal("-0"), Decimal("0.00"), decimal(10, 2)),
    ],
)
def test_equal_values_have_one_form(left: Value, right: Value, type_: SqlType) -> None:
    assert canonical(left, type_) == canonical(right, type_)


@pytest.mark.parametrize(
    ("left", "right", "type_"),
    [
        (None, 0, INT),
        (float("nan"), float("inf"), DOUBLE),
        ("a", "A", STRING),
        ("a", "a ", STRING),
        ("é", "e\u0301", STRING),
        (
            Decimal("99999999999999999999999999999999999998"),
            Decimal("99999999999999999999999999999999999999"),
            decimal(38, 0),
        ),
    ],
)
def test_different_values_have_different_forms(left: Value, right: Value, type_: SqlType) -> None:
    assert canonical(left, type_) != canonical(right, type_)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (True, INT),
        (1, BOOLEAN),
        (1, DOUBLE),
        (1.0, BIGINT),
        (Decimal("1.234"), decimal(10, 2)),
        (Decimal("123456789"), decimal(10, 2)),
        (Decimal("NaN"), decimal(10, 2)),
        (dt.datetime.fromisoformat("2024-01-01"), DATE),
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), TIMESTAMP_NTZ),
        (b"a", STRING),
    ],
)
def test_a_value_of_another_type_is_refused(value: Any, type_: SqlType) -> None:
    with pytest.raises(OracleError, match="is not a value of type"):
        canonical(value, type_)


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(OracleError, match="2 values for 1 columns"):
        canonical_row((1, 2), [INT])


CITIES = columns("id INT, city STRING")
TYPES = [column.type for column in CITIES]


def test_order_does_not_matter_and_multiplicity_does() -> None:
    assert Bag.of(rows(CITIES, "1 rome; 2 oslo"), TYPES) == Bag.of(rows(CITIES, "2 oslo; 1 rome"), TYPES)
    assert Bag.of(rows(CITIES, "1 rome; 1 rome; 2 oslo"), TYPES) != Bag.of(
        rows(CITIES, "1 rome; 2 oslo; 2 oslo"), TYPES
    )


def test_a_difference_is_a_bag_with_signs() -> None:
    signed = Bag.of(rows(CITIES, "1 rome; 1 rome"), TYPES) - Bag.of(rows(CITIES, "1 rome; 2 oslo"), TYPES)
    assert list(signed.entries()) == [((1, "rome"), 1), ((2, "oslo"), -1)]
    assert len(signed) == 2


def test_the_row_is_shown_as_it_was_given_first() -> None:
    bag = Bag.of([(-0.0,), (0.0,)], [DOUBLE])
    assert [repr(row) for row, _ in bag.entries()] == ["(-0.0,)"]
    assert bag.count((0.0,), [DOUBLE]) == 2


def test_rows_that_cancel_out_leave_nothing() -> None:
    bag = Bag.weighted([((1, "rome"), 1), ((1, "rome"), -1)], TYPES)
    assert bag == Bag({})
    assert not bag.multiplicities
