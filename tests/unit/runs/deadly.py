"""A lane on which the worker process dies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from tests.in_memory import in_memory
from workload.outcomes.results import Outcome
from workload.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlyLane(Lane):
    """Dies on the scenarios named in `always`, and the first time on those in `once`; others pass."""

    always: tuple[str, ...]
    once: tuple[str, ...]
    met: Path

    def judge(self, scenario: Scenario) -> Outcome:
        """The outcome, if it lives to give one."""
        met = self.met / scenario.name
        if scenario.name in self.always or (scenario.name in self.once and not met.exists()):
            met.touch()
            os._exit(9)
        return Lane.judge(self, scenario)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlySpec(LaneSpec):
    """The words that build that lane."""

    always: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    met: Path

    def build(self, *, lasting: bool = False) -> Lane:
        """The lane."""
        return DeadlyLane(engine=in_memory(), always=self.always, once=self.once, met=self.met)
