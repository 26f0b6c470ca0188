"""What a query with LIMIT may hold where its order leaves rows equal: any of these fill the last places.

Rows that are equal in all keys of the order are a *tie*. Of the ties before the border all rows are in the
result; of a tie across the border so many that the places are filled, whichever they are. With `ORDER BY k
LIMIT 2` over the keys 1, 2, 2 the row of key 1 is in the result, and either of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from oracle.bag import Bag, CanonicalRow, canonical_row
from workload import query as ir
from workload.schema import Column
from workload.types import INT, Row, SqlType

RANK = "tie_rank"
"""The column with the number of rows before a tie, plus one."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Rows that are equal in the order. `skipped`: how many OFFSET skips; `taken`: how many LIMIT keeps."""

    rows: tuple[Row, ...]
    skipped: int
    taken: int


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The ties of a query's rows by their keys. `types`: of the columns; `places`: where the keys stand."""

    types: tuple[SqlType, ...]
    places: tuple[int, ...]
    ties: Mapping[CanonicalRow, Tie]

    def like(self, held: Iterable[Row]) -> tuple[Row, ...]:
        """Returns right contents; of each tie those rows, as far as that is right, that a table holds."""
        held_of_ties = self._by_key(held)
        return tuple(
            row for key, tie in self.ties.items() for row in self._chosen(tie, held_of_ties.get(key, []))
        )

    def needless(self, before: FirstRows, held: Iterable[Row], now: Iterable[Row]) -> Iterator[Row]:
        """Yields the rows that a refresh took out though nothing of their ties has changed since `before`.

        `held`, `now`: what the table held before the refresh, and what it holds after it.
        """
        old, new = before._by_key(held), self._by_key(now)
        for key, tie in self.ties.items():
            same = before.ties.get(key)
            if same is not None and self._is_same(tie, same):
                gone = Bag.of(old.get(key, []), self.types) - Bag.of(new.get(key, []), self.types)
                yield from (row for row, count in gone.entries() if count > 0)

    def _is_same(self, tie: Tie, other: Tie) -> bool:
        places = (tie.skipped, tie.taken) == (other.skipped, other.taken)
        return places and Bag.of(tie.rows, self.types) == Bag.of(other.rows, self.types)

    def key_of(self, row: Row) -> CanonicalRow:
        """Returns the values of the order's keys in a row."""
        whole = canonical_row(row, self.types)
        return tuple(whole[place] for place in self.places)

    def _by_key(self, rows: Iterable[Row]) -> dict[CanonicalRow, list[Row]]:
        """Returns rows by their values of the order's keys."""
        by_key: dict[CanonicalRow, list[Row]] = {}
        for row in rows:
            by_key.setdefault(self.key_of(row), []).append(row)
        return by_key

    def _chosen(self, tie: Tie, held: list[Row]) -> list[Row]:
        """Returns as many rows of a tie as are taken, first those that are held."""
        remaining: dict[CanonicalRow, list[Row]] = {}
        for row in tie.rows:
            remaining.setdefault(canonical_row(row, self.types), []).append(row)
        equal = (remaining.get(canonical_row(row, self.types)) for row in held)
        chosen = [rows.pop() for rows in equal if rows]
        return [*chosen, *(row for rows in remaining.values() for row in rows)][: tie.taken]


def ranked(limited: ir.Limited, columns: Sequence[Column]) -> ir.Select:
    """Returns the query without its LIMIT, with the rank of each row in its order as the last column."""
    refs = {column.name: ir.ColumnRef("q", column.name, column.type) for column in columns}
    order = tuple(ir.OrderKey(refs[key.column], key.descending) for key in limited.order)
    rank = ir.Window(ir.WindowFunction.RANK, (), (), order, None, INT)
    items = (*(ir.Item(ref, name) for name, ref in refs.items()), ir.Item(rank, RANK))
    return ir.Select(items, ir.Derived(limited.query, "q"))


def first_rows(limited: ir.Limited, columns: Sequence[Column], rows: Iterable[Row]) -> FirstRows:
    """Returns the ties of a query with LIMIT from the rows of `ranked`."""
    names = [column.name for column in columns]
    of_rank: dict[int, list[Row]] = {}
    for row in rows:
        rank = row[-1]
        assert isinstance(rank, int)
        of_rank.setdefault(rank, []).append(row[:-1])
    types = tuple(column.type for column in columns)
    by_order = FirstRows(types, tuple(names.index(key.column) for key in limited.order), {})
    start, end = limited.offset, limited.offset + limited.count
    ties = {}
    for rank, equal in of_rank.items():
        skipped = min(max(start - (rank - 1), 0), len(equal))
        taken = max(min(end - (rank - 1), len(equal)) - skipped, 0)
        ties[by_order.key_of(equal[0])] = Tie(tuple(equal), skipped, taken)
    return FirstRows(types, by_order.places, ties)
