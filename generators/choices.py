"""The one interface through which generators take decisions, and its three providers.

Seeded for campaigns (fast), Hypothesis for property tests (`generators.strategies`), replay for a
recorded sequence. Generator code sees only `Choices`, so it is the same code in all three.
"""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices(ABC):
    """A source of decisions. Everything is derived from `integer`; smaller means simpler."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """An integer between two bounds, both included."""

    def chance(self, percent: int) -> bool:
        """True in `percent` of 100 cases; the simplest choice is False."""
        return self.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all alike; simple ones first."""
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options by weight. Raises ValueError if all weights are 0."""
        total = sum(weight for weight, _ in options)
        if total <= 0:
            raise ValueError("no option has a positive weight")
        ticket = self.integer(0, total - 1)
        for weight, option in options:
            if ticket < weight:
                return option
            ticket -= weight
        raise AssertionError("unreachable: the ticket is smaller than the total")

    def subset(self, options: Sequence[T], low: int, high: int) -> list[T]:
        """Between `low` and `high` different options, in their order."""
        wanted = self.integer(min(low, len(options)), min(high, len(options)))
        left = list(range(len(options)))
        taken = sorted(left.pop(self.integer(0, len(left) - 1)) for _ in range(wanted))
        return [options[index] for index in taken]


class SeededChoices(Choices):
    """Decisions from a pseudo-random generator that belongs to one scenario alone."""

    def __init__(self, *seed: object) -> None:
        # Not hash(): that differs between processes. Not a bare int: seeds of neighbours would correlate.
        digest = hashlib.sha256(repr(seed).encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "big"))

    def integer(self, low: int, high: int) -> int:
        """Uniform."""
        return low + int(self._random.random() * (high - low + 1))


class ReplayedChoices(Choices):
    """Decisions from a recorded sequence; 0 when it is used up, the nearest bound when out of range."""

    def __init__(self, recorded: Sequence[int]) -> None:
        self._recorded: Iterator[int] = iter(recorded)

    def integer(self, low: int, high: int) -> int:
        """The next recorded decision."""
        return max(low, min(high, next(self._recorded, low)))
