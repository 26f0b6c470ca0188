"""Bags of symbolic rows: each entry stands for any number of rows.

A place is a class of stored rows with the same values. An entry with the places p and q stands for one row
for each pair of a stored row of p and one of q, as a join gives them: its row id names both, and its `count`
is how often the row of one pair occurs. So no numbers are multiplied: the number of pairs is in the places.
If no column names a place any more, the number of its rows becomes a factor of the count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from campaign.verify.unbounded.cells import Atom, Cell, Choice, Frame, NotExpressibleError, Text
from campaign.verify.unbounded.counts import ONE, Count
from campaign.verify.unbounded.terms import Number, Truth, both, greater, variable


@dataclass(frozen=True, slots=True)
class Place:
    """A class of stored rows that are alike, but for their ids. `rows`: how many there are."""

    table: str
    name: str
    rows: Count


COPY = "copy"
"""The name of a variable: the number of any one copy, for formulas about one copy at a time."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The numbers of equal rows that are counted: those above `low` up to `high`, one row for each.

    `high` None: every number, and the count of the entry says by `COPY` which of them have a row.
    """

    low: Number
    high: Number | None

    table = name = "copy"

    @property
    def rows(self) -> Count:
        """The number of copies. Raises NotExpressibleError if it has no bounds."""
        if self.high is None:
            raise NotExpressibleError("copies are counted whose numbers follow from no bounds")
        size = greater(self.high - self.low, 0)
        return Count(size, size > 0)

    @property
    def here(self) -> Truth:
        """Whether any one copy is among them."""
        return True if self.high is None else both(variable(COPY) > self.low, variable(COPY) <= self.high)


EVERY_COPY = Copies(0, None)


@dataclass(frozen=True, slots=True)
class Alike:
    """Rows that are alike. `cells`: their values; `count`: how often each occurs for each row of `places`.

    `varies`: whether cells or count depend on which of the alike rows it is, by the order of ids. `taken`:
    then, how many rows the entry stands for altogether, where that is known.
    """

    cells: tuple[Cell, ...]
    count: Count = ONE
    places: tuple[Place | Copies, ...] = ()
    varies: bool = False
    taken: Count | None = None

    @property
    def all_rows(self) -> Count:
        """The number of rows that the entry stands for. Raises NotExpressibleError if it is not known."""
        if self.varies:
            if self.taken is None:
                raise NotExpressibleError("how many rows stand at given places of an order is counted")
            return self.taken
        count = self.count
        for place in self.places:
            count = count * place.rows
        return count

    @property
    def some(self) -> Truth:
        """Whether the entry stands for any row."""
        return (
            self.all_rows.some if self.varies else both(self.count.some, *(p.rows.some for p in self.places))
        )

    def only(self, condition: Truth) -> Alike:
        """Returns the entry with rows only where the condition holds."""
        if condition is True:
            return self
        taken = None if self.taken is None else self.taken.only(condition)
        return replace(self, count=self.count.only(condition), taken=taken)


@dataclass(frozen=True, slots=True)
class Bag:
    """Rows with named columns. `_at`: the position of each column, filled when it is first asked."""

    columns: tuple[str, ...]
    entries: tuple[Alike, ...]
    _at: dict[str, int] = field(default_factory=dict)

    def at(self, name: str) -> int:
        """Returns the position of a column."""
        if not self._at:
            self._at.update((column, number) for number, column in enumerate(self.columns))
        return self._at[name]


def one_row(entry: Alike) -> tuple[Count, Truth]:
    """Returns how often the row of any one id of an entry occurs, and the condition that it has an id."""
    count, premise = entry.count, []
    if sum(isinstance(place, Copies) for place in entry.places) > 1:
        raise NotExpressibleError("numbered copies beside numbered copies")
    for place in entry.places:
        if isinstance(place, Copies):
            premise.append(variable(COPY) >= 1)
            count = count.only(place.here)
        else:
            premise.append(place.rows.some)
    return count, both(*premise)


def atoms(cell: Cell) -> Iterator[int]:
    """Yields the numbers of the places that a cell names."""
    match cell.value:
        case Text(parts):
            for part in parts:
                if isinstance(part, Atom):
                    yield part.place
                elif isinstance(part, Frame):
                    yield from atoms(part.cell)
        case tuple() as cells:
            for one in cells:
                yield from atoms(one)
        case Choice(options):
            for _, option in options:
                yield from atoms(option)
        case _:
            pass


def renumbered(cell: Cell, number: Callable[[int], int]) -> Cell:
    """Returns a cell with other numbers for the places that it names."""
    match cell.value:
        case Text(parts):
            changed: list[str | Atom | Frame] = []
            for part in parts:
                if isinstance(part, Atom):
                    changed.append(Atom(number(part.place)))
                elif isinstance(part, Frame):
                    changed.append(Frame(part.type, renumbered(part.cell, number)))
                else:
                    changed.append(part)
            return Cell(cell.null, Text(tuple(changed)))
        case Choice(options):
            return Cell(cell.null, Choice(tuple((c, renumbered(o, number)) for c, o in options)))
        case tuple() as cells:
            return Cell(cell.null, tuple(renumbered(one, number) for one in cells))
        case _:
            return cell


def with_cells(entry: Alike, cells: Sequence[Cell]) -> Iterator[Alike]:
    """Yields an entry with other cells, one for each combination of choices in these.

    Places that no cell names any more become factors of the count.
    """
    for guard, chosen in _choices(tuple(cells)):
        named = {place for cell in chosen for place in atoms(cell)}
        some = entry.only(guard)
        if some.count.some is False:
            continue
        if named == set(range(len(entry.places))):
            yield replace(some, cells=chosen)
            continue
        if some.varies:
            if named:
                raise NotExpressibleError("of rows at given places of an order one side alone is kept")
            yield Alike(chosen, some.all_rows)
            continue
        kept = sorted(named)
        count = some.count
        for number, place in enumerate(some.places):
            if number not in named:
                count = count * place.rows
        cells_kept = tuple(renumbered(cell, kept.index) for cell in chosen)
        yield Alike(cells_kept, count, tuple(some.places[number] for number in kept))


def _choices(cells: tuple[Cell, ...]) -> Iterator[tuple[Truth, tuple[Cell, ...]]]:
    """Yields each combination of the options of cells, with its condition."""
    for number, cell in enumerate(cells):
        if isinstance(cell.value, Choice) and cell.null is not True:
            for condition, option in cell.value.options:
                rest = (*cells[:number], option, *cells[number + 1 :])
                for guard, chosen in _choices(rest):
                    yield both(condition, guard), chosen
            return
    yield True, cells
