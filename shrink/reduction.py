"""The type of a reduction, and the sets of items that delta debugging drops together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from workload.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reduction:
    """A way to make scenarios smaller.

    `candidates` yields the candidates that cut most first. They need not be well-formed nor smaller: `admit`
    and `weight` decide that before an attempt is spent. `cheap`: it yields few candidates that cut much, so
    it is tried again after other reductions.
    """

    name: str
    candidates: Callable[[Scenario], Iterator[Scenario]]
    cheap: bool = False


def chunks(items: Sequence[T]) -> Iterator[frozenset[T]]:
    """Yields items to drop together: all, halves, quarters, ... single ones; each size from the end.

    >>> [sorted(chunk) for chunk in chunks("abc")]
    [['a', 'b', 'c'], ['b', 'c'], ['a'], ['c'], ['b'], ['a']]
    """
    size = len(items)
    while size > 0:
        for end in range(len(items), 0, -size):
            yield frozenset(items[max(0, end - size) : end])
        if size == 1:
            return
        size = (size + 1) // 2
