"""Values of symbolic rows: known values, or terms over the numbers of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from campaign.verify.unbounded.terms import Truth, both, either, equal, if_, known, negated
from campaign.verify.unbounded.values import given


class NotExpressibleError(Exception):
    """Raised where a plan has no meaning for symbolic numbers of rows; the text says what."""


@dataclass(frozen=True, slots=True)
class Atom:
    """In an id: the id of the stored row with this place among the row's `places` (`bags.Alike`)."""

    place: int


@dataclass(frozen=True, slots=True)
class Frame:
    """In an id: a value written with its type and length, so that only equal values of one type are equal."""

    type: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Text:
    """A text made of known pieces, ids of stored rows, and frames. It is a row id, or a plain STRING."""

    parts: tuple[str | Atom | Frame, ...]

    def joined(self, other: Text) -> Text:
        """Returns one text after the other."""
        first, then = self.parts, other.parts
        if first and then and isinstance(first[-1], str) and isinstance(then[0], str):
            return Text((*first[:-1], first[-1] + then[0], *then[1:]))
        return Text((*first, *then))


@dataclass(frozen=True, slots=True)
class Choice:
    """A text or array that depends on the numbers of rows: options, whose conditions exclude each other."""

    options: tuple[tuple[Truth, Cell], ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a row. `null`: the condition that it is NULL; there `value` means nothing.

    `value`: a bool, an int, a `Text`, a tuple of cells for an array, a `Choice`, or a term.
    """

    null: Truth
    value: Any

    @property
    def known(self) -> bool:
        """Whether the value is the same for all numbers of rows."""
        if self.null is True:
            return True
        return self.null is False and known(self.value) and not isinstance(self.value, Choice)


NULL = Cell(True, 0)


def of(value: Any) -> Cell:
    """Returns the cell of a Python value."""
    if value is None:
        return NULL
    return Cell(False, Text((value,) if value else ()) if isinstance(value, str) else value)


def merged(condition: Truth, then: Cell, other: Cell) -> Cell:
    """Returns `then` where the condition holds, else `other`."""
    if isinstance(condition, bool):
        return then if condition else other
    if then.known and other.known and then == other:
        return then
    texts = [c for c in (then, other) if c.null is not True and isinstance(c.value, Text | Choice | tuple)]
    if texts:
        return Cell(False, Choice((*_options(condition, then), *_options(negated(condition), other))))
    if then.null is True:
        return Cell(either((condition, other.null)), other.value)
    if other.null is True:
        return Cell(either((negated(condition), then.null)), then.value)
    return Cell(if_(condition, then.null, other.null), if_(condition, then.value, other.value))


def _options(condition: Truth, cell: Cell) -> tuple[tuple[Truth, Cell], ...]:
    if isinstance(cell.value, Choice):
        return tuple((both(condition, one), option) for one, option in cell.value.options)
    return ((condition, cell),)


def where(condition: Truth, cell: Cell) -> Cell:
    """Returns a cell, simplified for the rows for which a condition holds."""
    if isinstance(condition, bool) or cell.known or isinstance(cell.value, Choice | Text | tuple):
        return cell
    return Cell(given(condition, cell.null), given(condition, cell.value))


def parts_of(cell: Cell, name: Callable[[Atom], object]) -> tuple[object, tuple[Cell, ...]]:
    """Returns the form of a cell, and its scalar values: cells of different forms are never equal.

    `name`: what an id of a stored row is called in the form.
    """
    value = cell.value
    if cell.null is True or not isinstance(value, Text | tuple | Choice):
        return "value", (cell,)
    if isinstance(value, Choice) or cell.null is not False:
        raise NotExpressibleError("a text that depends on the number of rows is compared")
    forms: list[object] = []
    cells: list[Cell] = []
    for part in value if isinstance(value, tuple) else value.parts:
        match part:
            case Frame(type_, framed):
                form, inside = parts_of(framed, name)
                forms.append((type_, form))
                cells.extend(inside)
            case Cell():
                form, inside = parts_of(part, name)
                forms.append(form)
                cells.extend(inside)
            case Atom():
                forms.append(name(part))
            case _:
                forms.append(part)
    return ("array" if isinstance(value, tuple) else "text", *forms), tuple(cells)


def same_cells(left: Iterable[Cell], right: Iterable[Cell]) -> Truth:
    """Returns whether scalar values are pairwise equal, NULL equal to NULL."""
    return both(*(same(a, b) for a, b in zip(left, right, strict=True)))


def same(left: Cell, right: Cell) -> Truth:
    """Returns whether two scalar values are equal, NULL equal to NULL."""
    nulls = both(left.null, right.null)
    values = both(negated(left.null), negated(right.null), _value_equal(left, right))
    return either((nulls, values))


def _value_equal(left: Cell, right: Cell) -> Truth:
    if left.null is True or right.null is True:
        return False
    return equal(left.value, right.value)
