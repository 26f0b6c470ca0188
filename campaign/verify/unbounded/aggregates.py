"""Grouping of symbolic bags: sums and extremes follow from how many rows a group has of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from campaign.verify.unbounded.bags import EVERY_COPY, Alike, Bag, Copies, atoms, renumbered, with_cells
from campaign.verify.unbounded.cells import NULL, Cell, NotExpressibleError, Text, merged, where
from campaign.verify.unbounded.counts import ONE, Count, added, summed
from campaign.verify.unbounded.expressions import FUNCTIONS, evaluate, is_true
from campaign.verify.unbounded.keys import groups, key_of
from campaign.verify.unbounded.terms import Truth, both, either, negated, quotient
from dynamic_tables.plan.expressions import Agg, Expr

Valued = tuple[Count, Cell]
"""A value, and the number of rows that have it."""


def aggregate(bag: Bag, keys: Sequence[tuple[str, Expr]], aggregates: Sequence[tuple[str, Agg]]) -> Bag:
    """Returns one row for each group of a bag, with its keys and the values of its aggregates."""
    names = tuple(name for name, _ in (*keys, *aggregates))
    rows = [*_rows(bag, [expr for _, expr in keys], [agg for _, agg in aggregates])]
    width = len(keys)
    weights = [_weight(entry, entry.cells[:width]) for entry in rows]
    if not keys:
        every = [(number, True) for number in range(len(rows))]
        return Bag(names, (_group((), ONE, every, rows, weights, 0, [agg for _, agg in aggregates]),))
    keyed = [key_of(entry, entry.cells[:width]) for entry in rows]
    result = []
    for first, is_first, members in groups(keyed, [weight.some for weight in weights]):
        entry = rows[first]
        named = sorted({place for cell in entry.cells[:width] for place in atoms(cell)})
        cells = tuple(renumbered(cell, named.index) for cell in entry.cells[:width])
        group = _group(
            cells, ONE.only(is_first), members, rows, weights, width, [agg for _, agg in aggregates]
        )
        of_key = (entry.places[n] for n in named)
        places = tuple(EVERY_COPY if isinstance(place, Copies) else place for place in of_key)
        result.append(Alike(group.cells, group.count, places, entry.varies and bool(named)))
    return Bag(names, tuple(result))


def _rows(bag: Bag, keys: Sequence[Expr], aggregates: Sequence[Agg]) -> Iterator[Alike]:
    """Yields the rows of a bag with the values of the keys and of the aggregates' arguments as cells."""
    for agg in aggregates:
        if agg.extra or agg.name not in AGGREGATES:
            raise NotExpressibleError(f"the aggregate {agg.name}, which computes with values")
    for entry in bag.entries:
        cells = [evaluate(key, bag, entry) for key in keys]
        cells += [NULL if agg.arg is None else evaluate(agg.arg, bag, entry) for agg in aggregates]
        yield from with_cells(entry, cells)


def _weight(entry: Alike, key: Sequence[Cell]) -> Count:
    """Returns how many rows of an entry have one key: those of the places that the key does not name."""
    named = {place for cell in key for place in atoms(cell)}
    if entry.varies and len(named) < len(entry.places):
        raise NotExpressibleError("rows at given places of an order are counted")
    count = entry.count
    for number, place in enumerate(entry.places):
        if number not in named:
            count = count * place.rows
        elif isinstance(place, Copies):
            count = count.only(place.here)
    return count


def _group(
    key: tuple[Cell, ...],
    count: Count,
    members: Sequence[tuple[int, Truth]],
    rows: Sequence[Alike],
    weights: Sequence[Count],
    width: int,
    aggregates: Sequence[Agg],
) -> Alike:
    """Returns the row of a group. `members`: the numbers of its rows, each with the condition that it is one.

    `weights`: how many rows each of `rows` stands for. `width`: the number of keys before the arguments.
    """
    cells = list(key)
    for number, agg in enumerate(aggregates):
        valued = [(weights[n].only(condition), rows[n].cells[width + number]) for n, condition in members]
        value = value_of(agg, [(w, cell) for w, cell in valued if w.some is not False])
        cells.append(where(count.guard, value))
    return Alike(tuple(cells), count)


def value_of(agg: Agg, valued: Sequence[Valued]) -> Cell:
    """Returns the value of an aggregate over rows, given by value with their numbers."""
    if agg.arg is None:
        return Cell(False, summed(weight for weight, _ in valued).value)
    not_null = [(w.only(negated(cell.null)), cell) for w, cell in valued if cell.null is not True]
    if agg.distinct:
        not_null = [*_different(not_null)]
    return AGGREGATES[agg.name](not_null)


def _different(valued: Sequence[Valued]) -> Iterator[Valued]:
    """Yields every value once, for a DISTINCT aggregate."""
    entries = [Alike((cell,)) for _, cell in valued]
    keys = [key_of(entry, entry.cells) for entry in entries]
    for first, is_first, _ in groups(keys, [weight.some for weight, _ in valued]):
        yield ONE.only(is_first), valued[first][1]


def _count(valued: Sequence[Valued]) -> Cell:
    return Cell(False, summed(weight for weight, _ in valued).value)


def _sum(valued: Sequence[Valued]) -> Cell:
    if not valued:
        return NULL
    none = negated(either(weight.some for weight, _ in valued))
    return Cell(none, added((weight, cell.value) for weight, cell in valued))


def _average(valued: Sequence[Valued]) -> Cell:
    added = _sum(valued)
    return NULL if added.null is True else Cell(added.null, quotient(added.value, _count(valued).value))


def _extreme(sign: str) -> Callable[[Sequence[Valued]], Cell]:
    """Returns the function of MIN (`<`) or MAX (`>`)."""

    def function(valued: Sequence[Valued]) -> Cell:
        fixed = [(weight, cell) for weight, cell in valued if cell.known]
        # From the worst to the best: the best that is there stands outermost.
        fixed.sort(key=lambda one: _order_of(one[1]), reverse=sign == "<")
        result = NULL
        for weight, cell in fixed:
            result = merged(weight.some, cell, result)
        for weight, cell in valued:
            if not cell.known:
                wins = both(weight.some, either((result.null, is_true(FUNCTIONS[sign]([cell, result])))))
                result = merged(wins, Cell(False, cell.value), result)
        return result

    return function


def _order_of(cell: Cell) -> int | str:
    match cell.value:
        case int() as number:
            return number
        case Text((str() as text,)):
            return text
        case _:
            raise NotExpressibleError("the least or greatest of texts that are not known")


def _every(valued: Sequence[Valued]) -> Cell:
    return Cell(
        negated(either(weight.some for weight, _ in valued)),
        negated(either(both(weight.some, negated(cell.value)) for weight, cell in valued)),
    )


def _any(valued: Sequence[Valued]) -> Cell:
    return Cell(
        negated(either(weight.some for weight, _ in valued)),
        either(both(weight.some, cell.value) for weight, cell in valued),
    )


AGGREGATES: dict[str, Callable[[Sequence[Valued]], Cell]] = {
    "COUNT": _count,
    "SUM": _sum,
    "AVG": _average,
    "MIN": _extreme("<"),
    "MAX": _extreme(">"),
    "BOOL_AND": _every,
    "BOOL_OR": _any,
}
"""The aggregates whose values follow from how often each value occurs, by name."""
