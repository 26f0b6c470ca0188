"""A lane: one engine, on which scenarios are run and judged one by one.

`campaign.lanes` builds lanes from the names of the command line, lifts scenarios, and spreads them over
workers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from campaign.judging.fresh_sample import fresh_sample
from campaign.judging.judge import judge
from campaign.judging.recording import RECORDING, Recording
from campaign.judging.vote import recomputation
from engines.engine import Engine
from oracle.delayed_view import DelayedView
from workload.errors import WorkloadError
from workload.results import Outcome, OutcomeClass
from workload.scenario import Scenario
from workload.trace import Refreshed
from workload.types import Row
from workload.wellformed import check_scenario


class LaneResult(NamedTuple):
    """The outcome of a scenario, and the scenario that really ran: the same one, or a lifted one."""

    outcome: Outcome
    ran: Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One engine, and how its runs are judged.

    `recording`: how a run is recorded as a history. `fresh_percent`: the share of refreshes after which row
    ids are compared with those of a fresh initialization.
    """

    engine: Engine
    recording: Recording = RECORDING
    fresh_percent: int = 10

    def judge(self, scenario: Scenario) -> Outcome:
        """Returns the outcome of a scenario. Every error of scenario or engine becomes an outcome."""
        start = time.perf_counter()
        outcome = self._judge(scenario)
        return replace(outcome, seconds=time.perf_counter() - start)

    def judge_as_run(self, scenario: Scenario) -> LaneResult:
        """Returns the outcome and the scenario that ran, which is the given one."""
        return LaneResult(self.judge(scenario), scenario)

    def _judge(self, scenario: Scenario) -> Outcome:
        try:
            check_scenario(scenario)
            wanted = fresh_sample(scenario, self.fresh_percent)
        except WorkloadError as error:
            return Outcome(scenario=scenario.name, outcome=OutcomeClass.GENERATOR_INVALID, reason=str(error))
        try:
            start = time.perf_counter()
            trace = self.engine.run(scenario, wanted)
            end_of_run = time.perf_counter()
            outcome = judge(
                scenario,
                trace,
                lambda refreshed: self._vote(scenario, refreshed),
                self.recording,
                lambda table, timestamp: self._own_error(scenario, table, timestamp),
            )
            seconds = {"run": end_of_run - start, "judge": time.perf_counter() - end_of_run}
            return replace(outcome, times=seconds)
        except Exception as error:  # noqa: BLE001  # see below
            # An engine's own errors are events of the trace. An exception that arrives here broke the run
            # itself; the outcome names it and is never a pass.
            reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            return Outcome(
                scenario=scenario.name, outcome=OutcomeClass.INFRASTRUCTURE_FAILURE, reason=reason[:500]
            )

    def _vote(self, scenario: Scenario, refreshed: Refreshed) -> Sequence[Row]:
        """The third vote on a refresh: the engine's full computation on the oracle's source rows."""
        with DelayedView(scenario) as truth:
            wanted = recomputation(scenario, truth, refreshed.table, refreshed.timestamp)
            return self.engine.recompute(wanted)

    def _own_error(self, scenario: Scenario, table: str, timestamp: int) -> str:
        """The error of the engine's own SQL on the defining query, over the oracle's source rows."""
        with DelayedView(scenario) as truth:
            return self.engine.own_error(recomputation(scenario, truth, table, timestamp))
