"""A tier whose platform is started again where it has died: the campaign goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from campaign.engine import Engine
from campaign.tiers.recording import FreshWanted
from oracle.delayed_view import DelayedView
from workload.scenario import Scenario
from workload.trace import Refreshed, RefreshRefused, Trace
from workload.types import Row


class Mortal(Protocol):
    """A tier on a platform that can die under it."""

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        """See `campaign.lanes.Tier`."""
        ...

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        """See `campaign.lanes.Tier`."""
        ...

    def alive(self) -> bool:
        """Whether the platform still answers."""
        ...


Result = TypeVar("Result")


@dataclass(slots=True)
class ReplacedTier:
    """Threads share it. What was under way when the platform died is done once more on a new one.

    If that dies too, the error of the second time is what is seen.
    """

    start: Callable[[], Mortal]
    current: Mortal
    lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def of(start: Callable[[], Mortal]) -> ReplacedTier:
        """A tier that runs."""
        return ReplacedTier(start, start())

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        """The trace of a well-formed scenario."""
        return self._surviving(lambda tier: tier.run(scenario, engine, fresh_wanted), _is_in_doubt)

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        """The third vote."""
        return self._surviving(lambda tier: tier.recompute(scenario, truth, refreshed, engine))

    def _surviving(
        self, work: Callable[[Mortal], Result], in_doubt: Callable[[Result], bool] = lambda result: False
    ) -> Result:
        tier = self.current
        try:
            result = work(tier)
            if not in_doubt(result) or tier.alive():
                return result
        except Exception:
            if tier.alive():
                raise
        return work(self._instead_of(tier))

    def _instead_of(self, dead: Mortal) -> Mortal:
        with self.lock:
            if self.current is dead:
                self.current = self.start()
            return self.current


def _is_in_doubt(trace: Trace) -> bool:
    """Whether the platform may have died in it: the engine takes that for a refresh that failed."""
    return any(isinstance(event, RefreshRefused) for event in trace.events)
