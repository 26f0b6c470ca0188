"""A lane: one engine, on which scenarios are run and judged one by one.

`campaign.lanes` builds lanes from the words of the command line, lifts scenarios, and spreads them over
workers.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from campaign.judging.judge import judge
from campaign.judging.recording import RECORDING, Recording
from campaign.judging.vote import recomputation
from engines.drive import FreshWanted, SoFar
from engines.engine import AdapterPlatform, Engine, breakage
from engines.errors import shown
from engines.watchdog import STOPPED
from engines.working_time import ENGINE_WORKS
from oracle.delayed_view import DelayedView
from oracle.duck import shared_duckdb
from workload.errors import WorkloadError
from workload.limits import NO_LIMITS, Limits
from workload.outcomes.results import Outcome, OutcomeClass
from workload.outcomes.trace import Refreshed, Trace
from workload.scenario import Scenario
from workload.timeline import due_refreshes
from workload.types import Row
from workload.wellformed import check_scenario


class LaneResult(NamedTuple):
    """The outcome of a scenario, and the scenario that really ran: the same one, or a lifted one."""

    outcome: Outcome
    ran: Scenario


FOUND = (OutcomeClass.PRODUCT_FAILURE, OutcomeClass.DIVERGENCE)
"""The outcomes with something wrong, which stay even if the run breaks afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One engine, and how its runs are judged.

    `recording`: how a run is recorded as a history. `limits`: the scenarios that the engine supports.
    `fresh_percent`: the share of refreshes after which row ids are compared with those of a fresh
    initialization. `on_spark`: whether the engine's own evaluation of a text is Spark's.
    """

    engine: Engine
    recording: Recording = RECORDING
    limits: Limits = NO_LIMITS
    fresh_percent: int = 10
    on_spark: bool = False

    def judge(self, scenario: Scenario) -> Outcome:
        """Returns the outcome of a scenario. Every error of scenario or engine becomes an outcome."""
        start = time.perf_counter()
        outcome = self._judge(scenario)
        return replace(outcome, seconds=time.perf_counter() - start)

    def judge_as_run(self, scenario: Scenario) -> LaneResult:
        """Returns the outcome and the scenario that ran, which is the given one."""
        return LaneResult(self.judge(scenario), scenario)

    def _judge(self, scenario: Scenario) -> Outcome:
        """Returns the outcome of a scenario with the seconds of engine, driver and judge."""
        try:
            check_scenario(scenario)
            wanted = fresh_sample(scenario, self.fresh_percent)
        except WorkloadError as error:
            return Outcome(scenario=scenario.name, outcome=OutcomeClass.GENERATOR_INVALID, reason=str(error))
        so_far, start, idle = SoFar(), time.perf_counter(), ENGINE_WORKS.seconds
        try:
            trace = self.engine.run(scenario, wanted, so_far)
            ran, worked = time.perf_counter(), ENGINE_WORKS.seconds
            outcome = self._judged(scenario, trace)
            judged, voted = time.perf_counter(), ENGINE_WORKS.seconds
            # The engine also votes while it is judged.
            seconds = {
                "engine": voted - idle,
                "drive": ran - start - (worked - idle),
                "judge": judged - ran - (voted - worked),
            }
            return replace(outcome, times=seconds)
        except BaseException as error:  # noqa: BLE001  # see below
            # An engine's own errors are events of the trace. An exception that arrives here broke the run
            # itself; the outcome names it and is never a pass.
            broken = Outcome(
                scenario=scenario.name, outcome=OutcomeClass.INFRASTRUCTURE_FAILURE, reason=shown(error)
            )
            if isinstance(self.engine.platform, AdapterPlatform):
                broken = replace(broken, breakage=breakage(error, so_far))
        return self._judged_before(scenario, so_far.trace, broken)

    def _judged(self, scenario: Scenario, trace: Trace, broken: str = "") -> Outcome:
        """Returns the judgement of a trace. `broken`: the error that ended the run before its end."""
        return judge(
            scenario,
            trace,
            partial(self._vote, scenario),
            self.recording,
            partial(self._own_error, scenario),
            broken,
            partial(self._spark_answer, scenario) if self.on_spark else None,
        )

    def _judged_before(self, scenario: Scenario, trace: Trace | None, broken: Outcome) -> Outcome:
        """Returns the judgement of a run that broke, if what it did before is wrong; else that it broke."""
        if trace is None or STOPPED.is_set():
            return broken
        try:
            outcome = self._judged(scenario, trace, broken.reason)
        except Exception:  # noqa: BLE001  # the first error tells more
            return broken
        return replace(outcome, breakage=broken.breakage) if outcome.outcome in FOUND else broken

    def _vote(self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed) -> Sequence[Row]:
        """Returns the third vote on a refresh: the engine's full computation on the oracle's source rows."""
        wanted = recomputation(scenario, truth, refreshed.table, refreshed.timestamp, limits=self.limits)
        return self.engine.recompute(wanted)

    def _spark_answer(self, scenario: Scenario, table: str, timestamp: int) -> Sequence[Row]:
        """Returns Spark's answer to the text of a definition: the engine gives only its session."""
        with DelayedView(scenario, shared_duckdb()) as truth:
            return self.engine.recompute(recomputation(scenario, truth, table, timestamp))

    def _own_error(
        self, scenario: Scenario, truth: DelayedView, table: str, timestamp: int, before: int | None
    ) -> str:
        """Returns the error of the engine's own SQL on the defining query, over the oracle's source rows."""
        return self.engine.own_error(recomputation(scenario, truth, table, timestamp, before))


def fresh_sample(scenario: Scenario, percent: int) -> FreshWanted:
    """Selects the last refresh of each table, and `percent` of the others, drawn by the scenario's name."""
    last: dict[str, int] = {}
    for step, refreshes in enumerate(due_refreshes(scenario)):
        for due in refreshes:
            last[due.table] = step

    def wanted(step: int, table: str) -> bool:
        draw = zlib.crc32(f"{scenario.name}/{step}/{table}".encode()) % 100
        return last.get(table) == step or draw < percent

    return wanted
