"""What a reduction is, and cutting lists the way delta debugging does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workload.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Reduction:
    """A family of smaller scenarios. `cheap`: few candidates that cut much, worth another try after others.

    `candidates` yields the boldest first. They need not be well-formed nor smaller: `admit` and `weight`
    decide, before an attempt is spent.
    """

    name: str
    candidates: Callable[[Scenario], Iterator[Scenario]]
    cheap: bool = False


def chunks(count: int) -> Iterator[frozenset[int]]:
    """Positions to drop together: all, halves, quarters, ... single ones; each size from the end.

    >>> [sorted(chunk) for chunk in chunks(3)]
    [[0, 1, 2], [1, 2], [0], [2], [1], [0]]
    """
    size = count
    while size > 0:
        for end in range(count, 0, -size):
            yield frozenset(range(max(0, end - size), end))
        if size == 1:
            return
        size = (size + 1) // 2
