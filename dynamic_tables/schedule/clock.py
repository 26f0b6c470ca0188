"""The account's clock: int64 microseconds that never go back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Lock
from typing import ClassVar, Protocol


class Clock(Protocol):
    """The source of an account's timestamps."""

    @property
    def simulated(self) -> bool:
        """Whether the owner sets the time; Delta's own commit timestamps are then not comparable with it."""

    def now(self) -> int:
        """Returns a timestamp in microseconds, never smaller than one returned before."""


@dataclass(slots=True)
class WallClock:
    """The time since the epoch in microseconds, made strictly monotone."""

    simulated: ClassVar[bool] = False
    last: int = 0
    lock: Lock = field(default_factory=Lock)

    def now(self) -> int:
        """Returns the time, or the last result plus one microsecond if the clock stood still or went back."""
        with self.lock:
            self.last = max(self.last + 1, time.time_ns() // 1000)
            return self.last


@dataclass(slots=True)
class SimulatedClock:
    """A clock whose owner sets the time, in microseconds."""

    simulated: ClassVar[bool] = True
    time: int = 0

    def now(self) -> int:
        """Returns the time that was set last."""
        return self.time

    def set(self, time: int) -> None:
        """Moves the time forward. Raises ValueError if it would go back."""
        if time < self.time:
            raise ValueError(f"time cannot go back from {self.time} to {time}")
        self.time = time
