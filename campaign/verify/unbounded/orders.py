"""Windows and LIMIT over symbolic bags: the place of a row is a sum of numbers of rows.

Rows that are equal in an order follow each other by their ids. Ids are texts of any form, so of a row of one
place any number of the rows of another place may come before it: that number is a symbol of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from campaign.verify.unbounded import terms
from campaign.verify.unbounded.aggregates import value_of
from campaign.verify.unbounded.bags import Alike, Bag
from campaign.verify.unbounded.cells import NULL, Cell, NotExpressibleError, Text, merged, same_cells, where
from campaign.verify.unbounded.counts import ONE, Count, summed
from campaign.verify.unbounded.expressions import evaluate
from campaign.verify.unbounded.keys import IdOrder, Keyed, buckets, key_of
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Frame, SortKey, Win
from dynamic_tables.plan.nodes import ROW_ID

WHOLE, SO_FAR, ROWS_SO_FAR, LAST_TWO = "whole", "so far", "rows so far", "last two"
"""Frames: the whole partition, RANGE and ROWS up to the current row, and this row with the one before."""


@dataclass(frozen=True, slots=True)
class _Row:
    """An entry, the values that it is ordered by, and its id if the order ends with ids."""

    entry: Alike
    order: tuple[Cell, ...]
    row_id: Cell | None


@dataclass(slots=True)
class _Ordered:
    """Rows that are, or may be, in one partition, in an order. `partitions`: the partition of each row.

    `known`: what `rows_before` has returned, by the order's values of a row, or by its number.
    """

    keys: tuple[SortKey, ...]
    rows: list[_Row]
    partitions: list[Keyed]
    ids: IdOrder
    known: dict[object, Count] = field(default_factory=dict)

    def together(self, one: int, other: int) -> terms.Truth:
        """Returns whether two rows are in one partition."""
        return same_cells(self.partitions[one][1], self.partitions[other][1])

    def before(self, one: int, other: int) -> terms.Truth:
        """Returns whether a row comes before another one by the keys alone, without the ids."""
        conditions, equal_so_far = [], [True]
        for key, a, b in zip(self.keys, self.rows[one].order, self.rows[other].order, strict=True):
            conditions.append(terms.both(*equal_so_far, _comes_first(key, a, b)))
            equal_so_far.append(same_cells((a,), (b,)))
        return terms.either(conditions)

    def tied(self, one: int, other: int) -> terms.Truth:
        """Returns whether two rows are equal in the keys."""
        return same_cells(self.rows[one].order, self.rows[other].order)

    def rows_before(self, number: int) -> Count:
        """Returns how many rows come before a row, without those that are equal to it in the keys."""
        key = self.rows[number].order if all(c.known for c in self.rows[number].order) else number
        fixed = all(cell.known for cell in self.partitions[number][1])
        if not fixed or key not in self.known:
            self.known[key] = summed(
                row.entry.all_rows.only(terms.both(self.together(other, number), self.before(other, number)))
                for other, row in enumerate(self.rows)
            )
        return self.known[key]

    def lesser_ids(self, number: int) -> Iterator[tuple[int, Count]]:
        """Yields the entries that equal a row in the keys, with how many of their rows come before it."""
        row = self.rows[number]
        if row.row_id is None:
            raise NotExpressibleError("rows that are equal in an order have no ids")
        for other, each in enumerate(self.rows):
            condition = terms.both(self.together(other, number), self.tied(other, number))
            if condition is not False:
                assert each.row_id is not None
                if each.entry.varies:
                    raise NotExpressibleError("rows at given places of one order are put into another")
                yield other, self.ids.before(each.entry, each.row_id, row.entry, row.row_id).only(condition)

    def place(self, number: int) -> terms.Number:
        """Returns how many rows come before a row."""
        return summed((self.rows_before(number), *(count for _, count in self.lesser_ids(number)))).value


def _comes_first(key: SortKey, a: Cell, b: Cell) -> terms.Truth:
    """Returns whether a value comes before another one by a key."""
    for cell in (a, b):
        if cell.null is not True and isinstance(cell.value, Text | tuple):
            raise NotExpressibleError("texts or arrays in an order")
    values: terms.Truth = False
    if a.null is not True and b.null is not True:
        values = b.value < a.value if key.descending else a.value < b.value
    some = terms.both(terms.negated(a.null), terms.negated(b.null), values)
    one, other = (a, b) if key.nulls_first else (b, a)
    return terms.either((some, terms.both(one.null, terms.negated(other.null))))


def _partitions(
    bag: Bag, partition: Sequence[Expr], order: Sequence[SortKey], ids: IdOrder
) -> Iterator[tuple[list[int], _Ordered]]:
    """Yields the rows that may be in one partition, by their numbers in the bag, and in their order."""
    keys = [key for key in order if not _is_id(key)]
    by_id = len(keys) < len(order)
    if by_id and not _is_id(order[-1]):
        raise NotExpressibleError("an order with keys after the id")
    partitions = [key_of(entry, [evaluate(expr, bag, entry) for expr in partition]) for entry in bag.entries]
    for numbers in buckets(partitions):
        rows = []
        for number in numbers:
            entry = bag.entries[number]
            cells = tuple(evaluate(key.expr, bag, entry) for key in keys)
            row_id = entry.cells[bag.at(ROW_ID)] if by_id else None
            rows.append(_Row(entry, cells, row_id))
        yield numbers, _Ordered(tuple(keys), rows, [partitions[number] for number in numbers], ids)


def _is_id(key: SortKey) -> bool:
    return isinstance(key.expr, Col) and key.expr.name == ROW_ID


def limited(bag: Bag, order: Sequence[SortKey], count: int | None, offset: int, ids: IdOrder) -> Bag:
    """Returns the first `count` rows of an order after `offset` rows; all of them if `count` is None."""
    result = []
    for numbers, ordered in _partitions(bag, (), order, ids):
        for number in range(len(numbers)):
            entry = ordered.rows[number].entry
            taken = _taken(ordered, number, count, offset)
            if ordered.rows[number].row_id is None:
                if entry.places:
                    raise NotExpressibleError("the first rows of an order without ids")
                result.append(replace(entry, count=taken))
                continue
            place = ordered.place(number)
            kept = terms.both(place >= offset, True if count is None else place < offset + count)
            varies = bool(entry.places)
            some = entry.only(kept)
            result.append(replace(some, varies=varies, taken=taken if varies else None))
    return Bag(bag.columns, tuple(entry for entry in result if entry.count.some is not False))


def _taken(ordered: _Ordered, number: int, count: int | None, offset: int) -> Count:
    """Returns how many rows of an entry a LIMIT keeps; which of equal rows they are is left open."""
    entry = ordered.rows[number].entry
    start = ordered.rows_before(number).value
    for other in range(len(ordered.rows)):
        tied = ordered.tied(other, number)
        if tied is False or other == number:
            continue
        if not _alike(ordered.rows[other], ordered.rows[number]):
            raise NotExpressibleError("the order of a LIMIT leaves rows equal that differ")
        if other < number:
            start = terms.total((start, ordered.rows[other].entry.all_rows.only(tied).value))
    rows = entry.all_rows
    end = terms.total((start, rows.value))
    if count is not None:
        end = terms.less(end, offset + count)
    size = terms.greater(0, end - terms.greater(start, offset))
    return Count(size, size > 0).only(rows.some)


def _alike(one: _Row, other: _Row) -> bool:
    """Returns whether the rows of two entries differ in nothing but their ids."""
    cells = [
        tuple(cell for cell in row.entry.cells if row.row_id is None or cell is not row.row_id)
        for row in (one, other)
    ]
    return all(a.known and b.known and a == b for a, b in zip(*cells, strict=True))


def windowed(bag: Bag, calls: Sequence[tuple[str, Win]], ids: IdOrder) -> Bag:
    """Returns the rows with a column for each window function."""
    more: list[list[Cell]] = [[] for _ in bag.entries]
    varies = [entry.varies for entry in bag.entries]
    for _, call in calls:
        for numbers, ordered in _partitions(bag, call.partition, call.order, ids):
            args = [[evaluate(arg, bag, bag.entries[n]) for arg in _arguments(call)] for n in numbers]
            for place, number in enumerate(numbers):
                value = _value(call, ordered, place, args)
                more[number].append(where(bag.entries[number].count.guard, value))
                by_place = ordered.rows[place].row_id is not None
                varies[number] |= by_place and bool(bag.entries[number].places)
    result = (
        replace(entry, cells=(*entry.cells, *cells), varies=varying, taken=None if varying else entry.taken)
        for entry, cells, varying in zip(bag.entries, more, varies, strict=True)
    )
    return Bag((*bag.columns, *(name for name, _ in calls)), tuple(result))


def _arguments(call: Win) -> Sequence[Expr]:
    if isinstance(call.function, Fn):
        return call.function.args
    return () if call.function.arg is None else (call.function.arg,)


def _value(call: Win, ordered: _Ordered, number: int, args: Sequence[Sequence[Cell]]) -> Cell:
    if isinstance(call.function, Agg):
        return _aggregate(call, call.function, ordered, number, args)
    match call.function.name:
        case "row_number":
            return Cell(False, terms.total((1, ordered.place(number))))
        case "rank":
            return Cell(False, terms.total((1, ordered.rows_before(number).value)))
        case "lag" if len(args[number]) == 1 and not call.ignores_nulls:
            exists, cell = _previous(ordered, number, [arg[0] for arg in args])
            return merged(exists, cell, NULL)
        case name:
            raise NotExpressibleError(f"the window function {name}")


def _frame(frame: Frame | None, ordered: bool) -> str:
    """Returns the kind of a frame; without one it depends on whether the window is ordered, as in SQL."""
    if frame is None:
        return SO_FAR if ordered else WHOLE
    start, end = frame.start, frame.end
    if start.is_unbounded and end.is_unbounded:
        return WHOLE
    if start.is_unbounded and end.side == "CURRENT ROW":
        return SO_FAR if frame.unit == "RANGE" else ROWS_SO_FAR
    one_before = start.offset is not None and start.offset.value == 1 and start.side == "PRECEDING"
    if frame.unit == "ROWS" and one_before and end.side == "CURRENT ROW":
        return LAST_TWO
    raise NotExpressibleError("a frame of a number of rows, or of a distance between values")


def _aggregate(call: Win, agg: Agg, ordered: _Ordered, number: int, args: Sequence[Sequence[Cell]]) -> Cell:
    """Returns the value of an aggregate over the frame of a row, whose place in `ordered` is `number`."""
    rows = range(len(ordered.rows))
    values = [arg[0] if arg else NULL for arg in args]
    counts = [ordered.rows[n].entry.all_rows.only(ordered.together(n, number)) for n in rows]
    match _frame(call.frame, bool(call.order)):
        case "whole":
            valued = [(counts[n], values[n]) for n in rows]
        case "so far":
            reach = [terms.either((ordered.before(n, number), ordered.tied(n, number))) for n in rows]
            valued = [(counts[n].only(reach[n]), values[n]) for n in rows]
        case "rows so far":
            valued = [(counts[n].only(ordered.before(n, number)), values[n]) for n in rows]
            valued += [(count, values[n]) for n, count in ordered.lesser_ids(number)]
            valued.append((ONE, values[number]))
        case _:
            exists, cell = _previous(ordered, number, values)
            valued = [(ONE, values[number]), (ONE.only(exists), cell)]
    return value_of(agg, [(count, cell) for count, cell in valued if count.some is not False])


def _previous(ordered: _Ordered, number: int, values: Sequence[Cell]) -> tuple[terms.Truth, Cell]:
    """Returns whether there is a row right before a row, and the value of that row."""
    if not all(cell.known for row in ordered.rows for cell in row.order):
        raise NotExpressibleError("the row before one in an order of computed values")
    ties = [(values[n], count.some) for n, count in ordered.lesser_ids(number)]
    earlier = [n for n in range(len(ordered.rows)) if ordered.before(n, number)]
    earlier.sort(key=lambda n: sum(bool(ordered.before(other, n)) for other in earlier))
    found, some = (
        NULL,
        [terms.both(ordered.rows[n].entry.all_rows.some, ordered.together(n, number)) for n in earlier],
    )
    for n, there in zip(earlier, some, strict=True):
        found = merged(there, values[n], found)
    for n in earlier:
        if any(ordered.tied(n, other) and not _same(values[n], values[other]) for other in earlier):
            raise NotExpressibleError("rows that are equal in an order differ in what is read")
    if any(not _same(cell, values[number]) for cell, _ in ties):
        raise NotExpressibleError("rows that are equal in an order differ in what is read")
    tied = terms.either(count for _, count in ties)
    return terms.either((tied, *some)), merged(tied, values[number], found)


def _same(one: Cell, other: Cell) -> bool:
    return one.known and other.known and one == other
