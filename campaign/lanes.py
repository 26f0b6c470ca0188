"""A lane runs one scenario on one tier and judges it."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from campaign.engine import Engine
from campaign.errors import CampaignError
from campaign.faults import plant
from campaign.judge import judge
from campaign.tiers.recording import FreshWanted
from campaign.vote import recomputation
from dynamic_tables.refresh.execute import PROTOCOL
from oracle.delayed_view import DelayedView
from workload.errors import WorkloadError
from workload.results import Outcome, OutcomeClass
from workload.scenario import Scenario
from workload.timeline import due_refreshes
from workload.trace import Refreshed, Trace
from workload.types import Row
from workload.wellformed import check_scenario


class Tier(Protocol):
    """Somewhere scenarios run."""

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        """The trace of a well-formed scenario; raises where the platform is broken."""
        ...

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        """The third vote: the table in full, on snapshots that the harness chose."""
        ...


def fresh_sample(scenario: Scenario, percent: int) -> FreshWanted:
    """Each table's last refresh, and a sample of the others: where ids are compared with fresh ones."""
    last: dict[str, int] = {}
    for step, due in enumerate(due_refreshes(scenario)):
        for table, _ in due:
            last[table] = step

    def wanted(step: int, table: str) -> bool:
        drawn = zlib.crc32(f"{scenario.name}/{step}/{table}".encode()) % 100
        return last.get(table) == step or drawn < percent

    return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One tier with one engine."""

    tier: Tier
    engine: Engine = field(default_factory=Engine)
    fresh_percent: int = 10

    def judge(self, scenario: Scenario) -> Outcome:
        """The outcome of a scenario. Never raises for what a scenario or the platform does."""
        start = time.perf_counter()
        outcome = self._judge(scenario)
        return replace(outcome, seconds=time.perf_counter() - start)

    def _judge(self, scenario: Scenario) -> Outcome:
        try:
            check_scenario(scenario)
            wanted = fresh_sample(scenario, self.fresh_percent)
        except WorkloadError as error:
            return Outcome(scenario=scenario.name, outcome=OutcomeClass.GENERATOR_INVALID, reason=str(error))
        try:
            start = time.perf_counter()
            trace = self.tier.run(scenario, self.engine, wanted)
            ran = time.perf_counter()
            outcome = judge(scenario, trace, self._voter(scenario), self.engine.recording)
            return replace(outcome, times={"run": ran - start, "judge": time.perf_counter() - ran})
        except Exception as error:  # noqa: BLE001  # see below
            # The engine's own errors are events of the trace. What arrives here broke the run itself; it
            # is named in the outcome and is never a pass.
            reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            return Outcome(
                scenario=scenario.name, outcome=OutcomeClass.INFRASTRUCTURE_FAILURE, reason=reason[:500]
            )

    def _voter(self, scenario: Scenario) -> Callable[[Refreshed], Sequence[Row]]:
        def vote(refreshed: Refreshed) -> Sequence[Row]:
            with DelayedView(scenario) as truth:
                return self.tier.recompute(scenario, truth, refreshed, self.engine)

        return vote


@dataclass(frozen=True, slots=True)
class RulesTier:
    """The engine's plans on DuckDB in memory."""

    def run(self, scenario: Scenario, engine: Engine, fresh_wanted: FreshWanted) -> Trace:
        """See `tiers.rules`."""
        from campaign.tiers import rules

        return rules.run(scenario, rules=engine.rules, protocol=engine.protocol, fresh_wanted=fresh_wanted)

    def recompute(
        self, scenario: Scenario, truth: DelayedView, refreshed: Refreshed, engine: Engine
    ) -> Sequence[Row]:
        """The engine's own FULL plan, in a scenario that holds nothing else."""
        alone = recomputation(scenario, truth, refreshed.table, refreshed.timestamp)
        trace = self.run(alone, replace(engine, protocol=PROTOCOL), lambda step, table: False)
        return [stored.row for stored in trace.refreshes[-1].contents] if trace.refreshes else []


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSpec:
    """A lane by names alone, so that it can be built in another process.

    `faults`: planted faults by name. `validations`: whether the engine checks its own change sets.
    """

    tier: str
    faults: tuple[str, ...] = ()
    validations: bool = True
    fresh_percent: int = 10

    def build(self) -> Lane:
        """The lane. Raises CampaignError for an unknown tier or fault."""
        engine = Engine(protocol=replace(PROTOCOL, validations=self.validations))
        for name in self.faults:
            engine = plant(name, engine)
        if self.tier not in TIERS:
            raise CampaignError(f"no tier {self.tier!r}; there are: {', '.join(TIERS)}")
        return Lane(tier=TIERS[self.tier](), engine=engine, fresh_percent=self.fresh_percent)


def _delta() -> Tier:
    # Imported here: it loads pyspark, which the in-memory tier does without.
    from campaign.tiers.delta import DeltaTier
    from campaign.tiers.replaced import ReplacedTier

    return ReplacedTier.of(DeltaTier.start)


TIERS: Mapping[str, Callable[[], Tier]] = {"rules": RulesTier, "delta": _delta}
"""The tiers a campaign can run on."""
