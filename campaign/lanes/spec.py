"""The specification of a lane in names alone, so that worker processes and other commands can build it.

A lane holds an engine that runs, which no process can send to another one; its specification can be sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from campaign.errors import CampaignError
from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.lane import Lane
from dynamic_tables.refresh.execute import PROTOCOL
from engines.registry import ADAPTER, Tier, find_adapter, find_tier, limits_of, located
from engines.variant import Variant
from generators.fitting import fitted
from generators.profiles import Profile
from workload.lift.kind import Lifting
from workload.limits import NO_LIMITS
from workload.sql import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSpec:
    """A lane as the options of the command line name it.

    `lifting`: None for the lifting that suits the tier. `worlds`: the number of databases that are lifted
    into one. `faults`: the names of planted faults. `validations`: whether the engine checks its own change
    sets. `fresh_percent`: as in `Lane`.
    """

    tier: str
    lifting: Lifting | None = None
    worlds: int = 1
    faults: tuple[str, ...] = ()
    validations: bool = True
    fresh_percent: int = 10

    @property
    def engine_tier(self) -> Tier:
        """The tier of the name. Raises EngineError for an unknown name."""
        return find_tier(self.tier)

    @property
    def name(self) -> str:
        """The name of the tier, with the lifting where it is not the one that suits the tier."""
        if self.lifted is self.engine_tier.lifting:
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
        """The lifting of the lane's scenarios."""
        return self.engine_tier.lifting if self.lifting is None else self.lifting

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the command line that give this lane, without those of default value."""
        tier = () if self.tier == "rules" else ("--tier", self.tier)
        faults = tuple(word for name in self.faults for word in ("--fault", name))
        return (*tier, *faults, *(() if self.validations else ("--no-validations",)))

    @property
    def adapter(self) -> str:
        """The `module:class` of the adapter; "" where the engine is the built-in one."""
        return "" if self.engine_tier.built_in else located(self.tier.removeprefix(ADAPTER))

    @property
    def dialect(self) -> Dialect:
        """The dialect of the texts that the engine is given. Raises EngineError: no such adapter."""
        return find_adapter(self.adapter).capabilities.dialect if self.adapter else Dialect.SPARK

    @property
    def asks_spark(self) -> bool:
        """Whether the engine's own evaluation of a text is Spark's."""
        return self.engine_tier.built_in and self.engine_tier.attributed_on is None

    def ensure_startable(self) -> None:
        """Does nothing where the options fit the tier and its engine is there. Raises as `build` does."""
        tier = self.engine_tier
        if not tier.built_in:
            self._refuse_options_of_the_built_in_engine()
            find_adapter(self.tier.removeprefix(ADAPTER)).ready()

    def _refuse_options_of_the_built_in_engine(self) -> None:
        """Raises CampaignError if an option is given that only the built-in engine has."""
        if self.faults:
            raise CampaignError(f"faults are planted in the built-in engine, not in {self.tier}")
        if not self.validations:
            raise CampaignError(
                f"validations are the built-in engine's own; {self.tier} has none to turn off"
            )

    def build(self, *, lasting: bool = False) -> Lane:
        """Starts the engine and returns the lane. `lasting`: for a campaign of many minutes.

        Raises CampaignError for an unknown fault or an option that the tier does not have, EngineError for an
        unknown tier, and SessionError where Spark does not start.
        """
        tier = self.engine_tier
        if not tier.built_in:
            self._refuse_options_of_the_built_in_engine()
        subject = Subject(Variant(protocol=replace(PROTOCOL, validations=self.validations)))
        for name in self.faults:
            subject = plant(name, subject)
        engine = tier.start(subject.variant, lasting)
        return Lane(
            engine=engine,
            recording=subject.recording,
            limits=limits_of(self.tier),
            fresh_percent=self.fresh_percent,
            on_spark=self.asks_spark,
        )


def within_limits(profile: Profile, *tiers: str) -> Profile:
    """Returns the profile cut to what the engines of all these tiers support. Raises EngineError."""
    limits = limits_of(*tiers)
    return profile if limits == NO_LIMITS else fitted(profile, limits)
