"""Leave out what can be left out while the answer to a question stays yes (delta debugging, Zeller 2002)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(slots=True)
class Reduction(Generic[T]):
    """The smallest thing so far of which `holds` is true. `calls`: how many more may be asked about."""

    current: T
    holds: Callable[[T], bool]
    calls: int

    def accept(self, smaller: T | None) -> bool:
        """Makes a smaller thing the current one if it holds; returns whether it does. None never holds."""
        if smaller is None or self.calls <= 0:
            return False
        self.calls -= 1
        if not self.holds(smaller):
            return False
        self.current = smaller
        return True

    def exhaust(self, candidates: Callable[[T], Sequence[Callable[[], T | None]]]) -> bool:
        """Accepts smaller things of one kind until none holds; returns whether any did.

        `candidates`: from the current thing to the smaller ones, each of which is built when it is tried.
        After a success the same place is tried again: the next candidate has moved up to it.
        """
        position, progress = 0, False
        while position < len(options := candidates(self.current)) and self.calls > 0:
            if self.accept(options[position]()):
                progress = True
            else:
                position += 1
        return progress


def fewer(reduction: Reduction[list[Item]]) -> None:
    """Leaves out ever smaller runs of items: halves first, then quarters, and at last one by one.

    One item stays in any case.
    """
    size = max(1, len(reduction.current) // 2)
    while reduction.calls > 0:
        at, before = 0, len(reduction.current)
        while at < len(kept := reduction.current) and len(kept) > 1:
            if not reduction.accept([*kept[:at], *kept[at + size :]] or None):
                at += size
        if size == 1 and len(reduction.current) == before:
            break
        size = max(1, size // 2)
