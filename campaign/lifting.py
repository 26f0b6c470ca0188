"""Judging many worlds at once: a scenario spread into worlds, lifted, and run as one.

A lifted run that fails is taken apart before anything is reported: the scenario itself is run as it is, then
each world alone. What cannot be lifted, and a sample of what can, is run one by one.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from campaign.lanes import Lane, LaneSpec, Lifting
from generators.worlds import worlds_of
from oracle.delayed_view import DelayedView
from oracle.duck import shared_duckdb
from oracle.errors import OracleError
from workload.errors import WorkloadError
from workload.lift import Unliftable, interval_worlds, lift
from workload.results import Outcome, OutcomeClass
from workload.scenario import Scenario
from workload.types import Value

TAKEN_APART = 200
"""Worlds of a failed run that are tried alone, the suspicious ones first."""

INTERVALS_NEVER_REACH = (
    "action: NO_DATA",
    "action: REINITIALIZE",
    "action: FULL",
    "operator: cross join",
    "operator: scalar aggregation",
    "state: reader",
    "state: group refilled",
    "state: old data timestamp",
)
"""Floors, by how they begin, that say nothing of lifted intervals: each world is refreshed once."""

DATABASES_NEVER_REACH = ("operator: cross join", "operator: scalar aggregation")
"""Lifted, a cross join is an inner one, and an aggregate over all rows a grouped one over a left join."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedLane:
    """A lane that runs the worlds of a scenario as one.

    `worlds`: how many databases; intervals are as many as there are. `alone_percent`: scenarios that are run
    as they are all the same, for lifting takes some shapes out of a query.
    """

    lane: Lane
    lifting: Lifting
    worlds: int = 1
    alone_percent: int = 5

    def take(self, scenario: Scenario) -> tuple[Outcome, Scenario]:
        """The outcome, and the scenario that was really run: lifted or as it is."""
        start = time.perf_counter()
        if zlib.crc32(f"alone {scenario.name}".encode()) % 100 < self.alone_percent:
            return self.lane.take(scenario)
        try:
            worlds = self._worlds(scenario)
        except (WorkloadError, OracleError):
            # Whatever it is, the judgement of the scenario itself will name it.
            return self.lane.take(scenario)
        lifted = lift(worlds)
        if isinstance(lifted, Unliftable):
            return self.lane.take(scenario)
        outcome = self.lane.judge(lifted)
        if outcome.outcome is OutcomeClass.PASSED:
            done = replace(outcome, scenario=scenario.name, worlds=len(worlds))
            return replace(done, seconds=time.perf_counter() - start), lifted
        found = self._apart(scenario, worlds, lifted, outcome)
        return replace(found, scenario=scenario.name, seconds=time.perf_counter() - start), scenario

    def _worlds(self, scenario: Scenario) -> Sequence[Scenario]:
        if self.lifting is Lifting.DATABASES:
            return worlds_of(scenario, self.worlds)
        with DelayedView(scenario, shared_duckdb()) as truth:
            return list(interval_worlds(scenario, truth.source_rows).values())

    def _apart(
        self, scenario: Scenario, worlds: Sequence[Scenario], lifted: Scenario, outcome: Outcome
    ) -> Outcome:
        """The first of scenario and worlds that fails alone; else the lifted run itself."""
        alone = self.lane.judge(scenario)
        if alone.outcome not in (OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED):
            return alone
        if outcome.outcome in (OutcomeClass.GENERATOR_INVALID, OutcomeClass.UNSUPPORTED):
            # One world's data break a statement, or a lifted text is refused: the scenario alone is counted.
            return alone
        if outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE:
            # Cut or broken: that the scenario passes alone says nothing of the worlds.
            return replace(outcome, reproduction=lifted)
        for world in islice(suspects(outcome, len(worlds)), TAKEN_APART):
            tried = self.lane.judge(worlds[world])
            if tried.outcome is not OutcomeClass.PASSED:
                return replace(tried, reproduction=worlds[world])
        return replace(outcome, reproduction=lifted)


def lane_of(spec: LaneSpec, *, lasting: bool = False) -> Lane | LiftedLane:
    """The lane of a campaign, `lasting` many minutes or not.

    Raises CampaignError for an unknown tier or fault.
    """
    lane = spec.build(lasting=lasting)
    if spec.lifted is Lifting.NONE:
        return lane
    return LiftedLane(lane=lane, lifting=spec.lifted, worlds=spec.worlds)


def suspects(outcome: Outcome, count: int) -> Iterator[int]:
    """The numbers of all worlds, those first whose rows are in the findings' differences."""
    named = [
        row[-1]
        for finding in outcome.findings
        if finding.difference is not None
        for row, _ in (*finding.difference.missing, *finding.difference.extra)
        if row
    ]
    return iter(dict.fromkeys([*_numbers(named, count), *range(count)]))


def _numbers(values: Iterable[Value], count: int) -> Iterator[int]:
    for value in values:
        if type(value) is int and 0 <= value < count:
            yield value


def reachable(floors: Mapping[str, int], lifting: Lifting) -> dict[str, int]:
    """The floors that a lifted run can reach."""
    never: tuple[str, ...] = ()
    if lifting is Lifting.INTERVALS:
        never = INTERVALS_NEVER_REACH
    elif lifting is Lifting.DATABASES:
        never = DATABASES_NEVER_REACH
    return {name: wanted for name, wanted in floors.items() if not name.startswith(never)}
