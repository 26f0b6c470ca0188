"""Judges many worlds at once: a scenario is spread into worlds, which are lifted into one and run as one.

A lifted run that fails is taken apart before anything is reported: first the scenario is run as it is, then
each world alone. Scenarios that cannot be lifted, and a sample of the others, are run as they are.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from campaign.judging.lane import Lane, LaneResult
from campaign.lanes.spec import LaneSpec
from generators.fitting import is_within
from generators.worlds import worlds_of
from oracle.delayed_view import DelayedView
from oracle.duck import shared_duckdb
from oracle.errors import OracleError
from workload.dml import WithRows
from workload.errors import WorkloadError
from workload.failing import may_fail
from workload.lift import Unliftable, interval_worlds, lift
from workload.lift.kind import Lifting
from workload.outcomes.results import Outcome, OutcomeClass
from workload.scenario import Commit, Scenario

LARGE_STATEMENT = 1_000
"""Rows of a statement up to which a scenario is lifted, since each world has a copy of them."""

TAKEN_APART = 200
"""How many worlds of a failed run are tried alone; those that the findings name come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftedLane:
    """A lane that runs the worlds of a scenario as one.

    `worlds`: the number of databases; the number of intervals follows from the scenario. `alone_percent`: the
    share of scenarios that are run as they are, because lifting removes some shapes from queries.
    """

    lane: Lane
    lifting: Lifting
    worlds: int = 1
    alone_percent: int = 5

    def judge_as_run(self, scenario: Scenario) -> LaneResult:
        """Returns the outcome, and the scenario that really ran: the lifted one, or the given one."""
        start = time.perf_counter()
        # By the name and not by chance, so that a scenario that runs again runs in the same way.
        if zlib.crc32(f"alone {scenario.name}".encode()) % 100 < self.alone_percent:
            return self.lane.judge_as_run(scenario)
        if _may_fail(scenario) or _is_large(scenario):
            return self.lane.judge_as_run(scenario)
        try:
            worlds = self._worlds(scenario)
        except (WorkloadError, OracleError):
            # The judgement of the scenario itself names the error.
            return self.lane.judge_as_run(scenario)
        lifted = lift(worlds)
        if isinstance(lifted, Unliftable) or not is_within(lifted, self.lane.limits):
            return self.lane.judge_as_run(scenario)
        outcome = self.lane.judge(lifted)
        if outcome.outcome is OutcomeClass.PASSED:
            result, ran = replace(outcome, worlds=len(worlds)), lifted
        else:
            result, ran = self._apart(scenario, worlds, lifted, outcome), scenario
        seconds = time.perf_counter() - start
        return LaneResult(replace(result, scenario=scenario.name, seconds=seconds), ran)

    def _worlds(self, scenario: Scenario) -> Sequence[Scenario]:
        """Returns the worlds: the scenario over other data, or one for each interval. Raises OracleError."""
        if self.lifting is Lifting.DATABASES:
            return worlds_of(scenario, self.worlds)
        with DelayedView(scenario, shared_duckdb()) as truth:
            return list(interval_worlds(scenario, truth.source_rows).values())

    def _apart(
        self, scenario: Scenario, worlds: Sequence[Scenario], lifted: Scenario, outcome: Outcome
    ) -> Outcome:
        """Returns the outcome of the scenario, or of the first world, that fails alone; else `outcome`.

        `outcome`: that of `lifted`, the scenario into which the worlds were lifted.
        """
        alone = self.lane.judge(scenario)
        if alone.outcome not in (OutcomeClass.PASSED, OutcomeClass.UNSUPPORTED):
            return alone
        if outcome.outcome in (OutcomeClass.GENERATOR_INVALID, OutcomeClass.UNSUPPORTED):
            # The data of one world break a statement, or the engine refuses the lifted query: neither says
            # anything about the scenario, whose own outcome counts.
            return alone
        if outcome.outcome is OutcomeClass.INFRASTRUCTURE_FAILURE:
            # The lifted run was cut or broke. That the scenario passes alone says nothing about the worlds.
            return replace(outcome, reproduction=lifted)
        for world in islice(suspects(outcome, len(worlds)), TAKEN_APART):
            of_world = self.lane.judge(worlds[world])
            if of_world.outcome is not OutcomeClass.PASSED:
                return replace(of_world, reproduction=worlds[world])
        return replace(outcome, reproduction=lifted)


def _may_fail(scenario: Scenario) -> bool:
    """Tells whether a refresh may fail on its data: lifted, one world that fails makes all worlds fail."""
    return any(may_fail(definition.query) for definition in scenario.definitions)


def _is_large(scenario: Scenario) -> bool:
    """Tells whether some statement has more than `LARGE_STATEMENT` rows."""
    return any(
        isinstance(statement, WithRows) and len(statement.rows) > LARGE_STATEMENT
        for step in scenario.steps
        if isinstance(step, Commit)
        for statement in step.statements
    )


def lifted_lane(lane: Lane, spec: LaneSpec) -> Lane | LiftedLane:
    """Returns a lane that lifts scenarios as the spec says; the lane itself where nothing is lifted."""
    if spec.lifted is Lifting.NONE:
        return lane
    return LiftedLane(lane=lane, lifting=spec.lifted, worlds=spec.worlds)


def suspects(outcome: Outcome, count: int) -> Iterator[int]:
    """Yields the numbers of all `count` worlds, first those whose rows are in the findings' differences."""
    differences = [finding.difference for finding in outcome.findings if finding.difference is not None]
    # Lifting puts the number of the world into the last column.
    last_values = [row[-1] for each in differences for row, _ in (*each.missing, *each.extra) if row]
    named = [value for value in last_values if type(value) is int and 0 <= value < count]
    return iter(dict.fromkeys([*named, *range(count)]))
