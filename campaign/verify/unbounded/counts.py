"""Numbers of rows as terms with a guard, and their sums; each entry of a symbolic bag has such a count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from campaign.verify.unbounded.terms import Number, Truth, both, either, if_, known, total


@dataclass(frozen=True, slots=True)
class Count:
    """A number of rows, at least 0: `number` where `guard` holds, else 0.

    `positive`: whether `number` is above 0, by its form, so that products need no algebra. The guard stands
    apart, so that sums of rows under one guard have one form, whatever the guard is.
    """

    number: Number
    positive: Truth
    guard: Truth = True

    @property
    def value(self) -> Number:
        """The number of rows."""
        return if_(self.guard, self.number, 0)

    @property
    def some(self) -> Truth:
        """Whether there is any row."""
        return both(self.guard, self.positive)

    def __mul__(self, other: Count) -> Count:
        if self.some is False or other.some is False:
            return NONE
        numbers = [number for number in (self.number, other.number) if not (known(number) and number == 1)]
        number = 1 if not numbers else numbers[0] if len(numbers) == 1 else numbers[0] * numbers[1]
        return Count(number, both(self.positive, other.positive), both(self.guard, other.guard))

    def only(self, condition: Truth) -> Count:
        """Returns the number where the condition holds, else 0."""
        if condition is True:
            return self
        return NONE if condition is False else Count(self.number, self.positive, both(self.guard, condition))


NONE = Count(0, False)
ONE = Count(1, True)


def summed(counts: Iterable[Count]) -> Count:
    """Returns the sum of numbers of rows."""
    by_guard: dict[Truth, list[Count]] = {}
    for count in counts:
        if count.some is not False:
            by_guard.setdefault(count.guard, []).append(count)
    parts = [
        Count(total(c.number for c in same), either(c.positive for c in same), same[0].guard)
        for same in by_guard.values()
    ]
    if len(parts) < 2:
        return parts[0] if parts else NONE
    return Count(total(part.value for part in parts), either(part.some for part in parts))


def added(valued: Iterable[tuple[Count, Number]]) -> Number:
    """Returns the sum of some values, each as often as there are rows with it."""
    by_guard: dict[Truth, list[Number]] = {}
    for count, value in valued:
        if count.some is not False and not (known(value) and value == 0):
            is_one = known(value) and value == 1
            term = count.number if is_one else count.number * value
            by_guard.setdefault(count.guard, []).append(term)
    return total(if_(guard, total(terms), 0) for guard, terms in by_guard.items())
