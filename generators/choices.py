"""The one interface through which generators take decisions, and its provider for campaigns.

Campaigns draw from a seed (fast), property tests from Hypothesis (`generators.strategies`). Generator code
knows only `Choices`, so it is the same code for both.
"""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class NothingToPick(LookupError):
    """The error where there are no options: an engine may store none of the values that an intent needs."""


class Choices(ABC):
    """A source of decisions. All are derived from `integer`; a smaller integer means a simpler result."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """Returns an integer between two bounds, both included."""

    def chance(self, percent: int) -> bool:
        """Returns True in `percent` of 100 cases; the simplest choice is False."""
        return self.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """Returns one of the options, each equally likely; simple ones stand first. Raises NothingToPick."""
        if not options:
            raise NothingToPick("no value is left within the limits of the engine")
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """Returns one of the options, given as (weight, option). Raises ValueError if all weights are 0."""
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
        """Returns `low` to `high` of the options (or all if there are fewer), each once, in their order."""
        count = self.integer(min(low, len(options)), min(high, len(options)))
        remaining = list(range(len(options)))
        drawn = sorted(remaining.pop(self.integer(0, len(remaining) - 1)) for _ in range(count))
        return [options[index] for index in drawn]


class SeededChoices(Choices):
    """Decisions from a pseudo-random generator for one scenario, seeded by the repr of `seed`."""

    def __init__(self, *seed: object) -> None:
        # Not hash(): that differs between processes. Not a bare int: seeds of neighbours would correlate.
        digest = hashlib.sha256(repr(seed).encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "big"))

    def integer(self, low: int, high: int) -> int:
        """Returns a uniformly distributed integer between two bounds, both included."""
        return low + int(self._random.random() * (high - low + 1))

    # The two that are asked most, for every value of every row, without the calls in between.
    def chance(self, percent: int) -> bool:
        """Returns True in `percent` of 100 cases."""
        return int(self._random.random() * 100) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """Returns one of the options, each equally likely. Raises NothingToPick."""
        return options[int(self._random.random() * len(options))] if options else super().pick(options)
