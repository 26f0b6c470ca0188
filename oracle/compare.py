"""Comparison of two results: first the columns, then the rows as bags (docs/semantics.md, Judging)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from oracle.bag import Bag
from workload.outcomes.results import Difference, DifferenceKind
from workload.schema import Column
from workload.types import INT, STRING, Row

SCHEMA_COLUMNS = (Column("position", INT), Column("name", STRING), Column("type", STRING))
"""The columns of a SCHEMA difference, whose rows describe the columns that differ."""


def compare(
    expected_columns: Sequence[Column],
    expected_rows: Iterable[Row],
    actual_columns: Sequence[Column],
    actual_rows: Iterable[Row],
) -> Difference | None:
    """Returns how the actual result differs from the expected one; None: they are equal.

    Names and types are compared by position, then the rows as bags. The rows of a SCHEMA difference describe
    the differing columns, under `SCHEMA_COLUMNS`. Raises OracleError: a value does not belong to its declared
    type (a mistake of whoever read it, not a difference). Linear in the rows.

    >>> columns = (Column("city", STRING), Column("n", INT))
    >>> result = compare(columns, [("Rome", 1), ("Rome", 1)], columns, [("Rome", 1), ("Oslo", 2)])
    >>> result.kind.value, result.missing, result.extra
    ('wrong value', ((('Rome', 1), 1),), ((('Oslo', 2), 1),))
    """
    if _stored(expected_columns) != _stored(actual_columns):
        expected, actual = _described(expected_columns), _described(actual_columns)
        schema = difference(SCHEMA_COLUMNS, expected, actual)
        assert schema is not None, "unequal columns differ in name or type at some position"
        return replace(schema, kind=DifferenceKind.SCHEMA)
    types = [column.type for column in expected_columns]
    return difference(tuple(expected_columns), Bag.of(expected_rows, types), Bag.of(actual_rows, types))


def difference(columns: tuple[Column, ...], expected: Bag, actual: Bag) -> Difference | None:
    """Returns how the actual bag of rows differs from the expected one; None: they are equal."""
    if expected == actual:
        return None
    signed = expected - actual
    return Difference(
        kind=_kind(expected, actual, signed),
        columns=columns,
        missing=tuple((row, count) for row, count in signed.entries() if count > 0),
        extra=tuple((row, -count) for row, count in signed.entries() if count < 0),
        expected_rows=len(expected),
        actual_rows=len(actual),
    )


def _stored(columns: Sequence[Column]) -> list[Column]:
    # SQL compares names without their case, and scenarios have small letters only; a user's text may not.
    return [Column(column.name.lower(), column.type.stored) for column in columns]


def _kind(expected: Bag, actual: Bag, signed: Bag) -> DifferenceKind:
    counts = signed.multiplicities
    if counts.keys() <= expected.multiplicities.keys() & actual.multiplicities.keys():
        return DifferenceKind.DUPLICATED
    if all(count > 0 for count in counts.values()):
        return DifferenceKind.MISSING
    if all(count < 0 for count in counts.values()):
        return DifferenceKind.EXTRA
    return DifferenceKind.WRONG_VALUE


def _described(columns: Sequence[Column]) -> Bag:
    rows = [(position, column.name.lower(), str(column.type)) for position, column in enumerate(columns)]
    return Bag.of(rows, [column.type for column in SCHEMA_COLUMNS])
