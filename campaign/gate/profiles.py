"""The profiles of `dvs gate`: what it runs for a pull request, each night, and before a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GateCampaign:
    """One campaign of a gate: a tier, a scenario profile, and its budget in seconds."""

    tier: str
    profile: str
    budget: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GateProfile:
    """The campaigns and the fault hunt of one kind of gate.

    `fault_budget`: seconds. `core_only`: hunt the core faults, not all. `daily`: a new seed every day.
    """

    name: str
    meant_for: str
    campaigns: tuple[GateCampaign, ...]
    fault_budget: float
    core_only: bool
    daily: bool

    @property
    def budget(self) -> float:
        """Seconds of all campaigns together."""
        return sum(campaign.budget for campaign in self.campaigns)


MINUTE = 60.0
HOUR = 60 * MINUTE

GATES: Mapping[str, GateProfile] = {
    gate.name: gate
    for gate in (
        GateProfile(
            name="pr",
            meant_for="each change: five minutes, the same scenarios every time",
            campaigns=(GateCampaign("rules", "smoke", MINUTE),),
            fault_budget=4 * MINUTE,
            core_only=True,
            daily=False,
        ),
        GateProfile(
            name="nightly",
            meant_for="each night: three hours, new scenarios every day",
            campaigns=(
                GateCampaign("rules", "nightly", HOUR),
                GateCampaign("rules", "production", 10 * MINUTE),
                GateCampaign("spark", "smoke", 25 * MINUTE),
                GateCampaign("spark-stock", "quick", 10 * MINUTE),
                GateCampaign("delta", "quick", HOUR),
            ),
            fault_budget=15 * MINUTE,
            core_only=False,
            daily=True,
        ),
        GateProfile(
            name="release",
            meant_for="before a release: nine hours, new scenarios every day",
            campaigns=(
                GateCampaign("rules", "smoke", HOUR),
                GateCampaign("rules", "nightly", 3 * HOUR),
                GateCampaign("rules", "production", 30 * MINUTE),
                GateCampaign("spark", "smoke", HOUR),
                GateCampaign("spark-stock", "smoke", 30 * MINUTE),
                GateCampaign("delta", "quick", 2.5 * HOUR),
            ),
            fault_budget=30 * MINUTE,
            core_only=False,
            daily=True,
        ),
    )
}
"""The profiles by their names on the command line."""
