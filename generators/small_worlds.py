"""Every small history of one table: its rows before and after a change, up to a bound. Nothing is drawn.

A world is one such history for each table. A row keeps its place, which gives it its row id: an update keeps
the place, a row that is replaced by an equal one gets another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

from workload.types import Row, Value

DOMAIN: tuple[Value, ...] = (None, 0, 1)
"""The values of every column: NULL, and the least domain in which values differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The size of a small world.

    `rows`: most rows of a table before the change. `of_table`, `in_all`: most changed rows of one table, and
    of all tables together.
    """

    rows: int = 2
    of_table: int = 2
    in_all: int = 2

    def __str__(self) -> str:
        rows = f"{self.rows} row{'s' if self.rows > 1 else ''} a table"
        if self.in_all <= self.of_table:
            return f"{rows}, {self.in_all} changed in all"
        if self.in_all >= 2 * self.of_table:
            return f"{rows}, {self.of_table} changed of each"
        return f"{rows}, {self.of_table} changed of each, {self.in_all} in all"


@dataclass(frozen=True, slots=True)
class Place:
    """A row before and after the change; None where it is not in the table."""

    before: Row | None
    after: Row | None

    @property
    def changed(self) -> bool:
        """Whether the row comes, goes or gets other values."""
        return self.before != self.after


TableHistory = tuple[Place, ...]
"""The rows of a table by place: first those that it has before the change, then those that come."""


def all_rows(width: int) -> tuple[Row, ...]:
    """Returns every row of a number of columns."""
    return tuple(product(DOMAIN, repeat=width))


def table_histories(width: int, bound: Bound) -> Iterator[TableHistory]:
    """Yields every history of a table within a bound, each once up to the order of the places.

    >>> sum(1 for _ in table_histories(1, Bound()))
    289
    """
    rows = all_rows(width)
    stored = [Place(row, after) for row in rows for after in (*rows, None)]
    for count in range(bound.rows + 1):
        for kept in combinations_with_replacement(stored, count):
            left = bound.of_table - sum(place.changed for place in kept)
            for come in _insertions(rows, left):
                yield (*kept, *come)


def _insertions(rows: Sequence[Row], most: int) -> Iterator[TableHistory]:
    """Yields every choice of up to `most` new rows."""
    for count in range(most + 1):
        for come in combinations_with_replacement(rows, count):
            yield tuple(Place(None, row) for row in come)
