"""Joins of symbolic bags, on any condition.

Where a condition compares the ids of both sides, as when changes are joined with stored rows, the right row
is bound: it is the one row with the left row's id, and its place is the left one's. Otherwise every row of
one entry meets every row of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from campaign.verify.unbounded.bags import Alike, Bag, Copies, Place, atoms, renumbered
from campaign.verify.unbounded.cells import NULL, Cell, NotExpressibleError, Text
from campaign.verify.unbounded.counts import Count
from campaign.verify.unbounded.expressions import holds
from campaign.verify.unbounded.keys import key_of
from campaign.verify.unbounded.terms import Number, Truth, both, either, greater, if_, known, less, negated
from dynamic_tables.plan.expressions import Col, Expr, Fn, conjuncts, walk
from dynamic_tables.plan.nodes import JoinKind


@dataclass(frozen=True, slots=True)
class _Pair:
    """An entry of the left and one of the right beside each other, with the cells of both.

    `condition`: whether their rows match. `bound`: pairs of a left and a right place that are one row, by id.
    `unbound`: the other places of the right entry.
    """

    condition: Truth
    cells: tuple[Cell, ...]
    unbound: tuple[Place | Copies, ...]
    bound: tuple[tuple[Place | Copies, Place | Copies], ...]


class _Condition:
    """A join condition, evaluated once for equal values of the columns that it reads.

    `left`, `right`: the positions of these columns. `ids`: pairs of columns that the condition equates.
    """

    def __init__(self, left: Bag, right: Bag, on: Expr | None) -> None:
        self.on = on
        self.bag = Bag((*left.columns, *right.columns), ())
        names = {part.name for part in walk(on) if isinstance(part, Col)} if on is not None else set()
        self.left = [left.at(name) for name in left.columns if name in names]
        self.right = [right.at(name) for name in right.columns if name in names]
        self.ids = [*_id_pairs(left, right, on)]
        self.known: dict[object, Truth] = {}

    def pair(self, left: Alike, right: Alike) -> _Pair:
        """Returns two entries beside each other; ids that must be equal bind their places to each other."""
        binding: dict[int, int] = {}
        for l_at, r_at in self.ids:
            one, other = left.cells[l_at], right.cells[r_at]
            if any(c.null is not False or not isinstance(c.value, Text) for c in (one, other)):
                continue
            if key_of(left, (one,))[0] == key_of(right, (other,))[0]:
                for mine, theirs in zip(atoms(one), atoms(other), strict=True):
                    if binding.setdefault(theirs, mine) != mine:
                        raise NotExpressibleError("an id that is compared with two others")
        free = [number for number in range(len(right.places)) if number not in binding]
        base = len(left.places)

        def number(place: int) -> int:
            return binding[place] if place in binding else base + free.index(place)

        cells = right.cells if not right.places else tuple(renumbered(c, number) for c in right.cells)
        unbound = tuple(right.places[n] for n in free)
        bound = tuple((left.places[mine], right.places[theirs]) for theirs, mine in binding.items())
        both_cells = (*left.cells, *cells)
        row = Alike(both_cells, places=(*left.places, *unbound))
        return _Pair(self._holds(left, right, row, bool(binding)), both_cells, unbound, bound)

    def by_id(
        self, rights: Sequence[tuple[Alike, Truth]]
    ) -> Callable[[Alike], Sequence[tuple[Alike, Truth]]]:
        """Returns a function from a left entry to the right ones whose ids may be equal to its own."""
        if not self.ids:
            return lambda entry: rights
        forms: dict[object, list[tuple[Alike, Truth]]] = {}
        for other, some in rights:
            form, _ = key_of(other, [other.cells[at] for _, at in self.ids])
            forms.setdefault(form, []).append((other, some))
        return lambda entry: forms.get(key_of(entry, [entry.cells[at] for at, _ in self.ids])[0], [])

    def _holds(self, left: Alike, right: Alike, row: Alike, is_bound: bool) -> Truth:
        if self.on is None:
            return True
        key = (tuple(left.cells[i] for i in self.left), tuple(right.cells[i] for i in self.right))
        plain = not is_bound and not any(True for side in key for cell in side for _ in atoms(cell))
        if not plain:
            return holds(self.on, self.bag, row)
        if key not in self.known:
            self.known[key] = holds(self.on, self.bag, row)
        return self.known[key]


def _id_pairs(left: Bag, right: Bag, on: Expr | None) -> Iterator[tuple[int, int]]:
    """Yields the columns of both sides that the condition says are equal."""
    for part in () if on is None else conjuncts(on):
        if isinstance(part, Fn) and part.name in ("=", "is not distinct from"):
            one, other = part.args
            if isinstance(one, Col) and isinstance(other, Col):
                if one.name in left.columns and other.name in right.columns:
                    yield left.at(one.name), right.at(other.name)
                elif other.name in left.columns and one.name in right.columns:
                    yield left.at(other.name), right.at(one.name)


def matched(left: Bag, right: Bag, on: Expr, *, anti: bool) -> Bag:
    """Returns the left rows that match a right row; `anti`: those that match none."""
    condition = _Condition(left, right, on)
    rights = [*_alike(right, condition.right)]
    by_id = condition.by_id(rights)
    result = []
    exists_by_key: dict[object, Truth] = {}
    for entry in left.entries:
        key = tuple(entry.cells[i] for i in condition.left)
        plain = not any(True for cell in key for _ in atoms(cell))
        if plain and key in exists_by_key:
            exists = exists_by_key[key]
        else:
            exists, numbers = _exists(condition, entry, by_id(entry))
            if numbers is not None:
                result.append(_of_copies(entry, numbers, anti=anti))
                continue
            if plain:
                exists_by_key[key] = exists
        result.append(entry.only(negated(exists) if anti else exists))
    return Bag(left.columns, tuple(entry for entry in result if entry.count.some is not False))


def _alike(bag: Bag, at: Sequence[int]) -> Iterator[tuple[Alike, Truth]]:
    """Yields entries that differ in the columns at `at`, each with whether a row with these values is there.

    None stands for that of an entry whose ids are read: which of its rows match depends on the other side.
    """
    found: dict[object, tuple[Alike, list[Truth]]] = {}
    for number, entry in enumerate(bag.entries):
        cells = tuple(entry.cells[i] for i in at)
        named = any(True for cell in cells for _ in atoms(cell))
        key = (number,) if named else cells
        if named:
            found[key] = (entry, [])
        else:
            found.setdefault(key, (entry, []))[1].append(entry.some)
    for entry, some in found.values():
        yield entry, either(some) if some else None


def _exists(
    condition: _Condition, entry: Alike, rights: Sequence[tuple[Alike, Truth]]
) -> tuple[Truth, Number | None]:
    """Returns whether a row of an entry has a match; or, for numbered copies, up to which number it has."""
    found: list[Truth] = []
    numbers: list[Number] = []
    for other, some in rights:
        pair = condition.pair(entry, other)
        if pair.condition is False:
            continue
        copies = [theirs for _, theirs in pair.bound if isinstance(theirs, Copies)]
        if copies:
            if not _is_zero(copies[0].low) or len(pair.bound) > 1 or pair.unbound:
                raise NotExpressibleError("numbered copies of numbered copies")
            numbers.append(if_(both(pair.condition, other.count.some), copies[0].high, 0))
            continue
        if pair.bound:
            if other.varies:
                raise NotExpressibleError("rows at given places of an order are looked up")
            there = both(other.count.some, *(place.rows.some for place in pair.unbound))
        else:
            there = other.some if some is None else some
        found.append(both(pair.condition, there))
    if numbers:
        if found:
            raise NotExpressibleError("rows match by their number and without it")
        most = numbers[0]
        for number in numbers[1:]:
            most = greater(most, number)
        return False, most
    if not found and any(isinstance(place, Copies) for place in entry.places) and condition.ids:
        return False, 0
    return either(found), None


def _is_zero(number: Number) -> bool:
    return known(number) and number == 0


def _of_copies(entry: Alike, most: Number, *, anti: bool) -> Alike:
    """Returns the numbered copies of an entry up to number `most`; `anti`: those above it."""
    (copies,) = entry.places
    assert isinstance(copies, Copies)
    kept = (
        Copies(greater(copies.low, most), copies.high)
        if anti
        else Copies(copies.low, less(copies.high, most))
    )
    return replace(entry, places=(kept,))


def joined(kind: JoinKind, left: Bag, right: Bag, on: Expr | None) -> Bag:
    """Returns a join of two bags; rows that an outer join keeps without a match are padded with NULLs."""
    condition = _Condition(left, right, on)
    by_id = condition.by_id([(other, True) for other in right.entries])
    result = []
    for entry in left.entries:
        for other, _ in by_id(entry):
            pair = condition.pair(entry, other)
            if pair.condition is False:
                continue
            if any(isinstance(theirs, Copies) for _, theirs in pair.bound):
                raise NotExpressibleError("numbered copies are joined")
            result.append(_beside(entry, other, pair))
    if kind in (JoinKind.LEFT, JoinKind.FULL) and on is not None:
        nulls = (NULL,) * len(right.columns)
        alone = matched(left, right, on, anti=True)
        result += [replace(entry, cells=(*entry.cells, *nulls)) for entry in alone.entries]
    if kind in (JoinKind.RIGHT, JoinKind.FULL) and on is not None:
        nulls = (NULL,) * len(left.columns)
        alone = matched(right, left, on, anti=True)
        result += [replace(entry, cells=(*nulls, *entry.cells)) for entry in alone.entries]
    return Bag((*left.columns, *right.columns), tuple(e for e in result if e.count.some is not False))


def _beside(entry: Alike, other: Alike, pair: _Pair) -> Alike:
    if entry.varies and other.varies:
        raise NotExpressibleError("two rows at given places of orders are joined")
    count: Count = (entry.count * other.count).only(pair.condition)
    taken = None
    if entry.varies or other.varies:
        if not entry.places and not other.places:
            raise NotExpressibleError("rows at given places of an order are joined without ids")
        sides = [e.taken if e.varies else e.all_rows for e in (entry, other)]
        if sides[0] is not None and sides[1] is not None:
            taken = (sides[0] * sides[1]).only(pair.condition)
    return Alike(pair.cells, count, (*entry.places, *pair.unbound), entry.varies or other.varies, taken)
