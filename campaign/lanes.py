"""A lane runs one scenario on one tier and judges it."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial, reduce
from typing import Protocol

from campaign.engine import Engine
from campaign.errors import CampaignError
from campaign.faults import plant
from campaign.judge import judge
from campaign.tiers.recording import FreshWanted
from campaign.vote import recomputation
from dynamic_tables.refresh.execute import PROTOCOL
from generators.fitting import fitted
from generators.limits import NO_LIMITS, Limits, both
from generators.profiles import Profile
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

    def take(self, scenario: Scenario) -> tuple[Outcome, Scenario]:
        """The outcome, and the scenario that was run: this one."""
        return self.judge(scenario), scenario

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


class Lifting(StrEnum):
    """What the worlds of a scenario are, where many are run as one (see `campaign.lifting`)."""

    NONE = "none"
    INTERVALS = "intervals"
    """Its own refresh intervals, each from fresh tables: one refresh of a definition serves them all."""
    DATABASES = "databases"
    """Other data for the same definitions and the same history of statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSpec:
    """A lane by names alone, so that it can be built in another process.

    `faults`: planted faults by name. `validations`: whether the engine checks its own change sets.
    `lifting`: None for what suits the tier; `worlds`: how many, of databases.
    """

    tier: str
    lifting: Lifting | None = None
    worlds: int = 1
    faults: tuple[str, ...] = ()
    validations: bool = True
    fresh_percent: int = 10

    @property
    def kind(self) -> TierKind:
        """The tier. Raises CampaignError."""
        if self.tier.startswith(ADAPTER):
            start = partial(_adapter, self.tier.removeprefix(ADAPTER))
            return TierKind(start=start, what="another engine", attempts=200)
        if self.tier not in TIERS:
            raise CampaignError(f"no tier {self.tier!r}; there are: {', '.join(TIERS)}, {ADAPTER}NAME")
        return TIERS[self.tier]

    @property
    def name(self) -> str:
        """The tier, and how its scenarios are lifted where that is not as usual."""
        if self.lifted is self.kind.lifting:
            return self.tier
        match self.lifted:
            case Lifting.NONE:
                return f"{self.tier}, one by one"
            case Lifting.INTERVALS:
                return f"{self.tier}, intervals lifted"
            case Lifting.DATABASES:
                return f"{self.tier}, {self.worlds} databases lifted"

    @property
    def lifted(self) -> Lifting:
        """How its scenarios are lifted."""
        return self.kind.lifting if self.lifting is None else self.lifting

    @property
    def options(self) -> tuple[str, ...]:
        """The lane as options of the command line, defaults left out."""
        tier = () if self.tier == "rules" else ("--tier", self.tier)
        faults = tuple(word for name in self.faults for word in ("--fault", name))
        return (*tier, *faults, *(() if self.validations else ("--no-validations",)))

    def build(self, *, lasting: bool = False) -> Lane:
        """The lane; `lasting`: for many minutes. Raises CampaignError for an unknown tier or fault."""
        if self.tier.startswith(ADAPTER) and self.faults:
            raise CampaignError(f"faults are planted in the built-in engine, not in {self.tier}")
        if self.tier.startswith(ADAPTER) and not self.validations:
            raise CampaignError(
                f"validations are the built-in engine's own; {self.tier} has none to turn off"
            )
        engine = Engine(protocol=replace(PROTOCOL, validations=self.validations))
        for name in self.faults:
            engine = plant(name, engine)
        start = self.kind.lasting if lasting and self.kind.lasting is not None else self.kind.start
        return Lane(tier=start(), engine=engine, fresh_percent=self.fresh_percent)


def _delta(settings: str) -> Tier:
    # Imported here and below: it loads pyspark, which the in-memory tier does without.
    from campaign.tiers.delta import DeltaTier
    from campaign.tiers.replaced import ReplacedTier
    from dynamic_tables.session import Settings

    return ReplacedTier.of(partial(DeltaTier.start, Settings(settings)))


def _spark(settings: str) -> Tier:
    from campaign.tiers.replaced import ReplacedTier
    from campaign.tiers.spark import SparkTier
    from dynamic_tables.session import Settings

    return ReplacedTier.of(partial(SparkTier.start, Settings(settings)))


ADAPTER = "adapter:"
"""`adapter:NAME` is the tier of an adapter (`campaign.adapters.registry`)."""


def within_limits(profile: Profile, *tiers: str) -> Profile:
    """The profile within the limits of some tiers' engines."""
    limits = limits_of(*tiers)
    return profile if limits == NO_LIMITS else fitted(profile, limits)


def limits_of(*tiers: str) -> Limits:
    """What some tiers' engines can all be asked. Raises CampaignError for an adapter that is not there."""
    return reduce(both, map(_limits, tiers))


def _limits(tier: str) -> Limits:
    if not tier.startswith(ADAPTER):
        return NO_LIMITS
    from campaign.adapters.registry import find_adapter

    return find_adapter(tier.removeprefix(ADAPTER)).capabilities.limits


def _adapter(name: str) -> Tier:
    # Imported here: an adapter may load anything.
    from campaign.adapters.registry import find_adapter
    from campaign.adapters.tier import AdapterTier

    adapter = find_adapter(name)
    adapter.ready()
    return AdapterTier(adapter)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierKind:
    """A tier as campaigns see it.

    `processes`: workers are processes; else threads, for one JVM serves all. `chunk`: scenarios that a worker
    takes at once. `attempts`: runs that shrinking one failure may take. `lifting`: what suits it. `lasting`:
    what starts it for many minutes, if that is something else. `settled_on`: the tier whose third vote is not
    the engine's own, where this one's is.
    """

    start: Callable[[], Tier]
    what: str
    lasting: Callable[[], Tier] | None = None
    processes: bool = False
    chunk: int = 1
    workers: int = 2
    attempts: int
    lifting: Lifting = Lifting.NONE
    settled_on: str | None = None


TIERS: dict[str, TierKind] = {
    "rules": TierKind(
        start=RulesTier,
        what="the engine's plans on DuckDB, in memory",
        processes=True,
        chunk=4,
        attempts=400,
        settled_on="spark",
    ),
    "spark": TierKind(
        start=partial(_spark, "tuned"),
        lasting=partial(_spark, "lasting"),
        what="the engine's plans on Spark, over snapshots in memory",
        workers=4,
        attempts=60,
        lifting=Lifting.INTERVALS,
    ),
    "spark-stock": TierKind(
        start=partial(_spark, "stock"),
        what="the same by Spark's stock settings, as production runs",
        workers=4,
        attempts=30,
        lifting=Lifting.INTERVALS,
    ),
    "delta": TierKind(
        start=partial(_delta, "tuned"),
        lasting=partial(_delta, "lasting"),
        what="the whole engine on real Delta tables",
        attempts=30,
    ),
    "delta-stock": TierKind(
        start=partial(_delta, "stock"), what="the same by Spark's stock settings", attempts=15
    ),
}
"""The tiers a campaign can run on."""
