"""The account's clock: int64 microseconds, strictly monotone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol


class Clock(Protocol):
    """Where timestamps come from."""

    def now(self) -> int:
        """A timestamp in microseconds, never smaller than one given before."""
        ...

    @property
    def simulated(self) -> bool:
        """Whether time is made up: then Delta's own commit timestamps mean nothing."""
        ...


@dataclass(slots=True)
class WallClock:
    """Wall-clock time since the epoch, in microseconds, made strictly monotone."""

    last: int = 0
    lock: Lock = field(default_factory=Lock)

    def now(self) -> int:
        """The time, or one microsecond after the last answer if the clock stood still or went back."""
        with self.lock:
            self.last = max(self.last + 1, time.time_ns() // 1000)
            return self.last

    @property
    def simulated(self) -> bool:
        """False: foreign commits are comparable by their Delta timestamps."""
        return False


@dataclass(slots=True)
class SimulatedClock:
    """Time that its owner sets."""

    time: int = 0

    def now(self) -> int:
        """The time last set."""
        return self.time

    def set(self, time: int) -> None:
        """Moves time forward. Raises ValueError if it would go back."""
        if time < self.time:
            raise ValueError(f"time cannot go back from {self.time} to {time}")
        self.time = time

    @property
    def simulated(self) -> bool:
        """True: a commit without a stamp has no place in this time."""
        return True
