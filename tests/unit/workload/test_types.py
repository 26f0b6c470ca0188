"""Types, their names, and which values stand for them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from workload.errors import WorkloadError
from workload.sql import Dialect, type_name
from workload.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP_NTZ,
    Kind,
    SqlType,
    Value,
    array_of,
    decimal,
    fits,
    map_of,
    parse_type,
    struct_of,
)

PLAIN = (INT, BIGINT, DOUBLE, BOOLEAN, STRING, DATE, TIMESTAMP_NTZ)
NESTED = (array_of(INT), struct_of(a=INT, b=array_of(STRING)), map_of(STRING, decimal(10, 2)))
ALL = (*PLAIN, *NESTED, decimal(1, 0), decimal(10, 2), decimal(38, 0), decimal(38, 38))
MOMENT = dt.datetime.fromisoformat("2024-02-29T12:00")

scalars = st.one_of(
    st.sampled_from(PLAIN),
    st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: decimal(p, s))),
)
types = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(array_of),
        st.builds(map_of, scalars, inner),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1).map(lambda fields: struct_of(**fields)),
    ),
    max_leaves=5,
)


@given(types)
def test_a_type_is_read_back_from_its_name(type_: SqlType) -> None:
    assert parse_type(str(type_)) == type_
    assert parse_type(f" {str(type_).lower()} ") == type_


def test_names_of_fields_may_be_quoted() -> None:
    assert parse_type("struct<`a`:int, `b` : array<string>>") == struct_of(a=INT, b=array_of(STRING))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INTEGER",
        "INT(1,0)",
        "DECIMAL",
        "DECIMAL(10)",
        "DECIMAL(0,0)",
        "DECIMAL(39,2)",
        "DECIMAL(2,3)",
        "DECIMAL(-1,0)",
        "DECIMAL(10,2) ; DROP",
        "DECIMAL(10,2)\nx",
        "INT NULL",
        "ARRAY",
        "ARRAY<>",
        "ARRAY<INT",
        "ARRAY<INT,INT>",
        "MAP<INT>",
        "STRUCT<>",
        "STRUCT<INT>",
        "STRUCT<a b:INT>",
        "STRUCT<a:INT,b) x:INT>",
        "LIST<INT>",
        "STRUCT<a:INT,a:STRING>",
        "MAP<ARRAY<INT>,INT>",
        f"DECIMAL({'9' * 5000},0)",
    ],
)
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(WorkloadError):
        parse_type(text)


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_no_decimal_beyond_what_sql_allows(precision: int, scale: int) -> None:
    with pytest.raises(WorkloadError, match="no such type"):
        decimal(precision, scale)


@pytest.mark.parametrize("type_", ALL, ids=str)
def test_null_is_of_every_type(type_: SqlType) -> None:
    assert fits(None, type_)


FITTING: list[tuple[Value, SqlType]] = [
    ((), array_of(INT)),
    ((1, None), array_of(INT)),
    ((1, ("a", None)), struct_of(a=INT, b=array_of(STRING))),
    ((("a", 1), ("b", None)), map_of(STRING, INT)),
    (2**31 - 1, INT),
    (-(2**31), INT),
    (2**63 - 1, BIGINT),
    (-(2**63), BIGINT),
    (0.5, DOUBLE),
    (float("nan"), DOUBLE),
    (float("-inf"), DOUBLE),
    (True, BOOLEAN),
    ("", STRING),
    ("Zoë 😀", STRING),
    (dt.date(1, 1, 1), DATE),
    (MOMENT, TIMESTAMP_NTZ),
    (Decimal("99999999.99"), decimal(10, 2)),
    (Decimal("-99999999.99"), decimal(10, 2)),
    (Decimal("1.500"), decimal(2, 1)),
    (Decimal("1E+3"), decimal(4, 0)),
    (Decimal("-0"), decimal(1, 0)),
    (Decimal("0E-30"), decimal(3, 1)),
    (Decimal("9" * 38), decimal(38, 0)),
    (Decimal("0." + "9" * 38), decimal(38, 38)),
]

UNFIT: list[tuple[Value, SqlType]] = [
    (("a",), array_of(INT)),
    ((), SqlType(Kind.STRUCT)),
    (1, array_of(INT)),
    ((1,), struct_of(a=INT, b=STRING)),
    ((("a", 1), ("a", 2)), map_of(STRING, INT)),
    ((("b", 1), ("a", 2)), map_of(STRING, INT)),
    (((None, 1),), map_of(STRING, INT)),
    (("a", 1), map_of(STRING, INT)),
    (2**31, INT),
    (-(2**31) - 1, INT),
    (2**63, BIGINT),
    (True, INT),
    (True, BIGINT),
    (1, BOOLEAN),
    (1.0, INT),
    (1, DOUBLE),
    (Decimal(1), DOUBLE),
    (Decimal(1), INT),
    (1, decimal(10, 0)),
    (1.5, decimal(10, 2)),
    ("1", INT),
    (1, STRING),
    (MOMENT, DATE),
    (dt.date(2024, 2, 29), TIMESTAMP_NTZ),
    (MOMENT.replace(tzinfo=dt.UTC), TIMESTAMP_NTZ),
    (Decimal("0.001"), decimal(10, 2)),
    (Decimal("100000000.00"), decimal(10, 2)),
    (Decimal("NaN"), decimal(10, 2)),
    (Decimal("sNaN"), decimal(10, 2)),
    (Decimal("Infinity"), decimal(10, 2)),
    (Decimal("1E+999999"), decimal(38, 0)),
    (Decimal("1E-999999"), decimal(38, 38)),
    (Decimal("9" * 37 + ".5"), decimal(38, 0)),
    (Decimal("0.12345678901234567890123456789"), decimal(38, 28)),
    ("\ud800", STRING),
]


@pytest.mark.parametrize(("value", "type_"), FITTING)
def test_fits(value: Value, type_: SqlType) -> None:
    assert fits(value, type_)


@pytest.mark.parametrize(("value", "type_"), UNFIT)
def test_does_not_fit(value: Value, type_: SqlType) -> None:
    assert not fits(value, type_)


@given(st.decimals(allow_nan=False, allow_infinity=False), scalars.filter(lambda t: t.precision > 0))
def test_a_decimal_fits_when_its_digits_do(value: Decimal, type_: SqlType) -> None:
    """Against the definition: value * 10^scale is an integer of at most `precision` digits."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    magnitude = int("".join(map(str, digits)))
    shift = exponent + type_.scale
    if abs(shift) > 400:
        expected = magnitude == 0
    elif shift >= 0:
        expected = magnitude * 10**shift < 10**type_.precision
    else:
        expected = magnitude % 10**-shift == 0 and magnitude // 10**-shift < 10**type_.precision
    assert fits(value, type_) == expected


def test_a_field_may_have_a_word_of_sql_as_its_name() -> None:
    """`GROUP BY window(..)` gives such a column: its fields are start and end."""
    window = parse_type("struct<start:timestamp,`end`:timestamp>")
    assert parse_type(str(window)) == window
    assert type_name(window, Dialect.SPARK) == "STRUCT<start: TIMESTAMP, `end`: TIMESTAMP>"
    assert type_name(window, Dialect.DUCKDB) == 'STRUCT(start TIMESTAMP, "end" TIMESTAMP)'
