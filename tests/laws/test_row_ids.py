"""Laws of row ids, evaluated as DuckDB evaluates them: one id for equal rows, another for different ones."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal

import duckdb
from hypothesis import given, strategies as st

from dynamic_tables.differentiate.row_id import branch_id, element_id, key_id, occurrence_id, pair_id
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.expressions import Expr, Lit, Scalar
from dynamic_tables.plan.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, Type, decimal
from dynamic_tables.plan.written.render_expression import render_expression

MONEY = decimal(5, 1) or INT
DATABASE = duckdb.connect(":memory:")

# Few letters and the separators that the ids themselves use, so that accidents are likely.
strings = st.text("a1:|gns'\\", max_size=4)
VALUES: dict[Type, st.SearchStrategy[Scalar]] = {
    INT: st.integers(-12, 12),
    BIGINT: st.integers(-12, 12),
    DOUBLE: st.sampled_from([0.0, -0.0, 1.0, -1.5, 1e300, math.inf, -math.inf, math.nan]),
    BOOLEAN: st.booleans(),
    STRING: strings,
    DATE: st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 9)),
    TIMESTAMP_NTZ: st.datetimes(dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 2)),  # noqa: DTZ001
    MONEY: st.decimals(-9, 9, places=1),
}


def identifier(expr: Expr) -> str:
    """The id, computed by DuckDB."""
    row = DATABASE.execute(f"SELECT {render_expression(expr, DUCKDB)}").fetchone()
    assert row is not None
    assert isinstance(row[0], str), "an id is never NULL"
    return row[0]


def key(*literals: Lit) -> str:
    """The id of a group."""
    return identifier(key_id(literals))


def of_strings(*values: str | None) -> str:
    """The id of a group with string keys."""
    return key(*(Lit(value, STRING) for value in values))


def same_value(left: Scalar, right: Scalar) -> bool:
    """Equality of grouping: NULL is one value, NaN is one value, -0.0 is 0.0."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right):
        return True
    return type(left) is type(right) and left == right


def literals_of(types: Sequence[Type]) -> st.SearchStrategy[tuple[Lit, ...]]:
    """A row of the types."""
    return st.tuples(*(st.builds(Lit, st.none() | VALUES[type_], st.just(type_)) for type_ in types))


schemas = st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4)
pairs_of_rows = schemas.flatmap(lambda types: st.tuples(literals_of(types), literals_of(types)))


@given(pairs_of_rows)
def test_keys_have_one_id_exactly_if_they_are_one_group(
    rows: tuple[tuple[Lit, ...], tuple[Lit, ...]],
) -> None:
    left, right = rows
    equal = all(same_value(a.value, b.value) for a, b in zip(left, right, strict=True))
    assert (key(*left) == key(*right)) == equal


@given(st.lists(strings, max_size=4), st.lists(strings, max_size=4))
def test_ids_of_different_widths_differ_too(left: list[str], right: list[str]) -> None:
    assert (of_strings(*left) == of_strings(*right)) == (left == right)


def test_the_borders_of_components_are_seen() -> None:
    assert of_strings("a|b", "c") != of_strings("a", "b|c")
    assert of_strings("a", "") != of_strings("", "a")
    assert of_strings("as1:b") != of_strings("a", "b")


def test_null_is_no_string() -> None:
    assert len({of_strings(value) for value in (None, "", "n", "NULL", "s0:")}) == 5
    assert of_strings(None, "") != of_strings("", None)


def test_equal_text_of_different_types_differs() -> None:
    ones = [Lit("1", STRING), Lit(1, INT), Lit(Decimal("1"), decimal(1, 0) or INT), Lit(1.0, DOUBLE)]
    assert len({key(one) for one in ones}) == len(ones)
    assert key(Lit("true", STRING)) != key(Lit(True, BOOLEAN))
    assert key(Lit("2024-01-01", STRING)) != key(Lit(dt.date(2024, 1, 1), DATE))


def test_floats_are_identified_as_they_are_grouped() -> None:
    assert key(Lit(-0.0, DOUBLE)) == key(Lit(0.0, DOUBLE))
    assert key(Lit(math.nan, DOUBLE)) == key(Lit(-math.nan, DOUBLE))
    assert len({key(Lit(value, DOUBLE)) for value in (None, 0.0, math.nan, math.inf, -math.inf)}) == 5


ids = st.none() | st.text("jgu01:ns", max_size=6)


@given(ids, ids, ids, ids)
def test_pairs_have_one_id_exactly_if_both_sides_have(
    a: str | None, b: str | None, c: str | None, d: str | None
) -> None:
    left, right = (
        identifier(pair_id(Lit(one, STRING), Lit(other, STRING))) for one, other in ((a, b), (c, d))
    )
    assert (left == right) == ((a, b) == (c, d))


@given(st.integers(0, 12), strings, st.integers(0, 12), strings)
def test_branches_keep_equal_ids_apart(m: int, a: str, n: int, b: str) -> None:
    left, right = (identifier(branch_id(branch, Lit(value, STRING))) for branch, value in ((m, a), (n, b)))
    assert (left == right) == ((m, a) == (n, b))


places = st.none() | st.integers(0, 12)


@given(st.text("e01:ni", max_size=6), places, st.text("e01:ni", max_size=6), places)
def test_elements_have_one_id_exactly_if_row_and_position_are_the_same(
    a: str, m: int | None, b: str, n: int | None
) -> None:
    """The position of a pad is NULL."""
    left, right = (identifier(element_id(Lit(row, STRING), Lit(at, INT))) for row, at in ((a, m), (b, n)))
    assert (left == right) == ((a, m) == (b, n))


@given(pairs_of_rows, st.integers(1, 3), st.integers(1, 3))
def test_occurrences_keep_equal_rows_apart(
    rows: tuple[tuple[Lit, ...], tuple[Lit, ...]], m: int, n: int
) -> None:
    left, right = rows
    equal = all(same_value(a.value, b.value) for a, b in zip(left, right, strict=True)) and m == n
    one, other = (identifier(occurrence_id(row, Lit(i, INT))) for row, i in ((left, m), (right, n)))
    assert (one == other) == equal


def test_the_kinds_of_ids_never_meet() -> None:
    value = Lit("x", STRING)
    made = [key_id([value]), pair_id(value, value), branch_id(0, value), occurrence_id([value], Lit(1, INT))]
    made.append(element_id(value, Lit(1, INT)))
    assert {identifier(expr)[0] for expr in made} == set("gjuoe")
    assert len({identifier(expr) for expr in made}) == 5
