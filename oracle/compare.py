"""Bag equality of two results, schema first (semantics, section 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracle.bag import Bag
from workload.results import Difference, DifferenceKind
from workload.schema import Column
from workload.types import INT, STRING, Row

SCHEMA_COLUMNS = (Column("position", INT), Column("name", STRING), Column("type", STRING))
"""Columns of a SCHEMA difference, whose rows are the columns that differ."""


def compare(
    expected_columns: Sequence[Column],
    expected_rows: Iterable[Row],
    actual_columns: Sequence[Column],
    actual_rows: Iterable[Row],
) -> Difference | None:
    """How the actual result differs from the expected one, or None if they are equal.

    Names and types are compared by position, then the rows as bags. Of a SCHEMA difference the rows are
    the differing columns themselves, as `SCHEMA_COLUMNS`. Raises OracleError: a value that is not of its
    declared type, which is a reader's fault and no difference. Linear in the rows.
    """
    if tuple(expected_columns) != tuple(actual_columns):
        return _schema_difference(expected_columns, actual_columns)
    types = [column.type for column in expected_columns]
    expected, actual = Bag.of(expected_rows, types), Bag.of(actual_rows, types)
    return difference(tuple(expected_columns), expected, actual)


def difference(columns: tuple[Column, ...], expected: Bag, actual: Bag) -> Difference | None:
    """How the actual bag differs from the expected one, or None if they are equal."""
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


def _kind(expected: Bag, actual: Bag, signed: Bag) -> DifferenceKind:
    counts = signed.multiplicities
    if all(row in expected and row in actual for row in counts):
        return DifferenceKind.DUPLICATED
    if all(count > 0 for count in counts.values()):
        return DifferenceKind.MISSING
    if all(count < 0 for count in counts.values()):
        return DifferenceKind.EXTRA
    return DifferenceKind.WRONG_VALUE


def _schema_difference(expected: Sequence[Column], actual: Sequence[Column]) -> Difference:
    types = [column.type for column in SCHEMA_COLUMNS]
    expected_bag, actual_bag = (Bag.of(_described(columns), types) for columns in (expected, actual))
    signed = expected_bag - actual_bag
    return Difference(
        kind=DifferenceKind.SCHEMA,
        columns=SCHEMA_COLUMNS,
        missing=tuple((row, count) for row, count in signed.entries() if count > 0),
        extra=tuple((row, -count) for row, count in signed.entries() if count < 0),
        expected_rows=len(expected_bag),
        actual_rows=len(actual_bag),
    )


def _described(columns: Sequence[Column]) -> list[Row]:
    return [(position, column.name, str(column.type)) for position, column in enumerate(columns)]
