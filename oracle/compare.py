"""Comparison of two results: first the columns, then the rows as bags (docs/semantics.md, Judging)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from oracle.bag import Bag, CanonicalRow, canonical_row
from workload.outcomes.results import Difference, DifferenceKind
from workload.schema import Column
from workload.types import INT, NESTED, STRING, Kind, Row, SqlType

Entries = tuple[tuple[Row, int], ...]
"""Rows, each with how often it is there."""

WRITTEN_APART = NESTED | {Kind.FLOAT, Kind.DOUBLE}
"""Kinds of types in which equal values may look different."""

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
    expected_rows, actual_rows = tuple(expected_rows), tuple(actual_rows)
    found = difference(tuple(expected_columns), Bag.of(expected_rows, types), Bag.of(actual_rows, types))
    if found is None:
        return None
    missing = _as_written(found.missing, expected_rows, actual_rows, types)
    extra = _as_written(found.extra, actual_rows, expected_rows, types)
    return replace(found, missing=missing, extra=extra)


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


def _as_written(
    entries: Entries, rows: Iterable[Row], others: Iterable[Row], types: Sequence[SqlType]
) -> Entries:
    """Returns the entries as `rows` has them and `others` has not: equal zeros are shown by their signs."""
    if not any(type_.kind in WRITTEN_APART for type_ in types):
        return entries
    wanted = {canonical_row(row, types): times for row, times in entries}
    found: dict[CanonicalRow, Counter[str]] = {key: Counter() for key in wanted}
    by_text: dict[str, Row] = {}
    for sign, side in ((1, rows), (-1, others)):
        for row in side:
            key = canonical_row(row, types)
            if key in found:
                by_text[repr(row)] = row
                found[key][repr(row)] += sign
    shown: list[tuple[Row, int]] = []
    for key, times in wanted.items():
        for text, surplus in found[key].most_common():
            taken = min(times, surplus)
            if taken > 0:
                shown.append((by_text[text], taken))
                times -= taken
    return tuple(shown)


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
