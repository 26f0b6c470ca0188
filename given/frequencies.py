"""Frequencies of values in the tables of a user, and random values that come as often (`--values sample`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from generators.given.model import ColumnValues
from workload.types import SqlType, Value, fits


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The frequencies of one column of a user's table: NULL in percent, its frequent values in rows.

    `shown`: these values may stand in scenarios; else only how often they come is used.
    """

    null_percent: int
    rows: Mapping[Value, int]
    shown: bool = False


Sample = Mapping[str, Mapping[str, Frequencies]]
"""The frequencies of columns: by table, then by column."""


def weighted(domain: ColumnValues, found: Frequencies) -> ColumnValues:
    """Returns the values with the frequencies of a user's column.

    A value that the column holds comes as often as there; the frequencies of its other values, the highest
    first, go to values that it does not hold.

    >>> weighted(ColumnValues((0,), ((7,), (8,), (9,))), Frequencies(5, {1: 60, 8: 30, 2: 10})).weights
    (60, 30, 10)
    """
    known = [values[0] for values in domain.values]
    others = iter(sorted((n for value, n in found.rows.items() if value not in known), reverse=True))
    weights = tuple(found.rows.get(value) or next(others, 0) for value in known)
    return replace(domain, weights=weights, null_percent=found.null_percent)


def shown(found: Frequencies | None, type_: SqlType) -> Iterator[Value]:
    """Yields the values of a user's column that may stand in scenarios."""
    if found is not None and found.shown:
        yield from (value for value in found.rows if fits(value, type_))
