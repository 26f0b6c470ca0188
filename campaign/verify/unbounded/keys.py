"""Keys of symbolic rows, such as ids or groups: which keys may be equal, and in which order ids are.

A key has a form, such as "the id of a row of place p, then a number", and values. Keys of different forms are
never equal; those of one form are equal if their values are, which may be a condition on numbers of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from campaign.verify.unbounded.bags import Alike
from campaign.verify.unbounded.cells import Atom, Cell, NotExpressibleError, parts_of, same_cells
from campaign.verify.unbounded.counts import ONE, Count
from campaign.verify.unbounded.terms import Truth, both, either, equal, negated, variable

Keyed = tuple[object, tuple[Cell, ...]]
"""The form of a key, and its scalar values, in order."""


def key_of(entry: Alike, cells: Sequence[Cell]) -> Keyed:
    """Returns the key that consists of some cells of an entry."""
    seen: dict[int, int] = {}

    def name(atom: Atom) -> object:
        return entry.places[atom.place].name, seen.setdefault(atom.place, len(seen))

    forms: list[object] = []
    values: list[Cell] = []
    for cell in cells:
        form, inside = parts_of(cell, name)
        forms.append(form)
        values.extend(inside)
    return tuple(forms), tuple(values)


def buckets(keys: Sequence[Keyed]) -> Iterator[list[int]]:
    """Yields together the numbers of keys that may be equal: their forms and all known values are."""
    forms: dict[object, list[int]] = {}
    for number, (form, _) in enumerate(keys):
        forms.setdefault(form, []).append(number)
    for numbers in forms.values():
        width = len(keys[numbers[0]][1])
        open_ = [any(not keys[n][1][i].known for n in numbers) for i in range(width)]
        parts: dict[object, list[int]] = {}
        for n in numbers:
            cells = keys[n][1]
            fixed = tuple(
                (True, 0) if cell.null is True else (False, cell.value)
                for cell, is_open in zip(cells, open_, strict=True)
                if not is_open
            )
            parts.setdefault(fixed, []).append(n)
        yield from parts.values()


def groups(
    keys: Sequence[Keyed], present: Sequence[Truth]
) -> Iterator[tuple[int, Truth, list[tuple[int, Truth]]]]:
    """Yields the groups of equal keys, each for its first member that is present.

    Each as the number of that member, the condition that it is the first one, and all members that may
    belong to the group, each with the condition that it does.
    """
    for numbers in buckets(keys):
        # Members with the same form and the same written values are one; they stand under the first of them.
        equal_ones: dict[object, list[int]] = {}
        for n in numbers:
            equal_ones.setdefault(_written(keys[n][1]), []).append(n)
        firsts = [members[0] for members in equal_ones.values()]
        some = {members[0]: either(present[n] for n in members) for members in equal_ones.values()}
        for place, first in enumerate(firsts):
            earlier = (
                both(some[other], same_cells(keys[first][1], keys[other][1])) for other in firsts[:place]
            )
            is_first = both(some[first], negated(either(earlier)))
            if is_first is False:
                continue
            members = [
                (n, same_cells(keys[first][1], keys[other[0]][1]) if other[0] != first else True)
                for other in equal_ones.values()
                for n in other
            ]
            yield first, is_first, [(n, condition) for n, condition in members if condition is not False]


def _written(cells: tuple[Cell, ...]) -> object:
    return tuple(("null",) if c.null is True else (c.null, c.value) for c in cells)


@dataclass(slots=True)
class IdOrder:
    """The order of the ids of rows, of which nothing is known but that it is one order.

    Ids are texts of any form, so of a row of one place any number of the rows of another place may come
    before it: that number is a symbol of its own. `laws`: what holds of the symbols, by their names.
    """

    laws: dict[str, Truth] = field(default_factory=dict)

    def before(self, other: Alike, other_id: Cell, entry: Alike, own_id: Cell) -> Count:
        """Returns how many rows of another entry have a lesser id than one row of an entry."""
        theirs, mine = _name(other, other_id), _name(entry, own_id)
        if not other.places and not entry.places:
            if theirs == mine:
                return Count(0, False)
            places = variable(f"place of {theirs}"), variable(f"place of {mine}")
            self.laws[f"{theirs} and {mine}"] = negated(equal(*places))
            return other.count.only(places[0] < places[1])
        name = f"{theirs} before {mine}"
        number = variable(name)
        rows = ONE
        for place in other.places:
            rows = rows * place.rows
        # The row itself is one of those of its own entry.
        most = rows.value - 1 if theirs == mine else rows.value
        self.laws[name] = number <= most
        return (other.count * Count(number, number > 0)).only(number > 0)


def _name(entry: Alike, row_id: Cell) -> str:
    form, cells = key_of(entry, (row_id,))
    if not all(cell.known for cell in cells) or row_id.null is not False:
        raise NotExpressibleError("ids that depend on the number of rows are ordered")
    return f"{form} {[None if cell.null else cell.value for cell in cells]}"
