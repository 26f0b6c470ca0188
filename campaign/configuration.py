"""A configuration as a user writes it: a tier, and how it differs from the usual."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from campaign.errors import CampaignError
from campaign.lanes import TIERS, Lane, LaneSpec

VALIDATIONS_OFF = "no-validations"
STOCK = "stock"
FAULT = "fault="

HELP = f"TIER[+{VALIDATIONS_OFF}][+{STOCK}][+{FAULT}NAME]"


@dataclass(frozen=True, slots=True)
class Configuration:
    """A lane by its text. `stock`: on Delta, Spark's own settings instead of those tuned for tiny tables."""

    text: str
    spec: LaneSpec
    stock: bool = False

    def build(self) -> Lane:
        """The lane. Raises CampaignError for an unknown fault, SessionError where Spark does not start."""
        lane = self.spec.build()
        if not self.stock:
            return lane
        # Imported here: it loads pyspark, which the in-memory tier does without.
        from campaign.tiers.delta import DeltaTier
        from campaign.tiers.replaced import ReplacedTier
        from dynamic_tables.session import Settings

        return replace(lane, tier=ReplacedTier.of(partial(DeltaTier.start, Settings.STOCK)))


def configuration(text: str) -> Configuration:
    """The configuration of a text such as `delta+stock`. Raises CampaignError naming what is unknown."""
    tier, *changes = text.split("+")
    if tier not in TIERS:
        raise CampaignError(f"{text!r}: no tier {tier!r}; there are: {', '.join(TIERS)}")
    spec, stock = LaneSpec(tier=tier, fresh_percent=0), False
    for change in changes:
        if change == VALIDATIONS_OFF:
            spec = replace(spec, validations=False)
        elif change == STOCK and tier == "delta":
            stock = True
        elif change.startswith(FAULT):
            spec = replace(spec, faults=(*spec.faults, change.removeprefix(FAULT)))
        else:
            raise CampaignError(
                f"{text!r}: {change!r} is no configuration of tier {tier}; a configuration is {HELP}, "
                f"{STOCK} on delta only"
            )
    return Configuration(text, spec, stock)
