"""The profiles of `dvs gate`: what it runs for a pull request, each night, and before a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from campaign.runs.definitions import ValuesFrom


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCampaign:
    """One campaign of a gate: a tier, a scenario profile, and how many scenarios.

    `budget`: seconds. With `scenarios` it is an upper bound; without, the campaign uses all of it and must
    have judged `least` scenarios. A campaign that ran out of time is undecided. `definitions`: the path of
    given definitions, which take the place of random ones; "" for random ones. `values`: where the values in
    the rows of given definitions come from.
    """

    tier: str
    profile: str
    budget: float
    scenarios: int | None = None
    least: int = 0
    definitions: str = ""
    values: ValuesFrom = ValuesFrom.RANDOM


@dataclass(frozen=True, slots=True, kw_only=True)
class GateProfile:
    """The campaigns, the checks and the fault hunt of one kind of gate.

    `fault_scenarios`: within how many each fault must be found; `fault_budget`: seconds, an upper bound.
    `core_only`: hunt the core faults, not all. `daily`: a new seed every day. `rounds`: how much each check
    of `campaign.gate.checks` does; 0 for none of them. `engines`: the tiers of engines that are not the
    built-in one, if the gate tests these; then no faults are planted.
    """

    name: str
    meant_for: str
    campaigns: tuple[GateCampaign, ...]
    fault_scenarios: int
    fault_budget: float
    core_only: bool
    daily: bool
    rounds: int
    engines: tuple[str, ...] = ()

    @property
    def budget(self) -> float:
        """Seconds of all campaigns together."""
        return sum(campaign.budget for campaign in self.campaigns)


def over_definitions(gate: GateProfile, path: str, values: ValuesFrom = ValuesFrom.RANDOM) -> GateProfile:
    """Returns the gate with one more campaign for each of its tiers: over given definitions.

    It has the number of scenarios and the time of the tier's first campaign. On slow tiers its scenarios are
    those of the profile `quick`.
    """
    first: dict[str, GateCampaign] = {}
    for campaign in gate.campaigns:
        first.setdefault(campaign.tier, campaign)
    more = tuple(
        replace(
            campaign,
            profile="smoke" if campaign.tier == "rules" else "quick",
            definitions=path,
            values=values,
        )
        for campaign in first.values()
    )
    return replace(gate, campaigns=(*gate.campaigns, *more))


def before_engines(gate: GateProfile, tiers: tuple[str, ...], least: int | None) -> GateProfile:
    """Returns the gate that tests engines other than the built-in one, by a campaign on each of `tiers`.

    The campaigns share the time of the gate equally. `least`: scenarios that each must have judged; None: as
    many as the first campaign of the gate. Checks and planted faults test the built-in engine, and are left
    out.
    """
    first = gate.campaigns[0]
    campaigns = tuple(
        replace(
            first,
            tier=tier,
            budget=gate.budget / len(tiers),
            scenarios=first.scenarios if least is None else None,
            least=first.least if least is None else least,
        )
        for tier in tiers
    )
    return replace(gate, campaigns=campaigns, rounds=0, engines=tiers)


MINUTE = 60.0
HOUR = 60 * MINUTE

GATES: Mapping[str, GateProfile] = {
    gate.name: gate
    for gate in (
        GateProfile(
            name="pr",
            meant_for="each change: about five minutes, the same scenarios every time",
            campaigns=(GateCampaign(tier="rules", profile="smoke", scenarios=300, budget=15 * MINUTE),),
            fault_scenarios=500,
            fault_budget=20 * MINUTE,
            core_only=True,
            daily=False,
            rounds=0,
        ),
        GateProfile(
            name="nightly",
            meant_for="each night: four hours, new scenarios every day",
            campaigns=(
                GateCampaign(tier="rules", profile="nightly", budget=HOUR, least=1000),
                GateCampaign(tier="rules", profile="production", budget=10 * MINUTE, least=50),
                GateCampaign(tier="spark", profile="smoke", budget=25 * MINUTE, least=100),
                GateCampaign(tier="spark-stock", profile="quick", budget=10 * MINUTE, least=20),
                GateCampaign(tier="delta", profile="quick", budget=45 * MINUTE, least=50),
                GateCampaign(tier="delta", profile="documents", budget=15 * MINUTE, least=20),
            ),
            # A seed of the day meets a rare fault later than the fixed seed of a pull request.
            fault_scenarios=2000,
            fault_budget=HOUR,
            core_only=False,
            daily=True,
            rounds=1,
        ),
        GateProfile(
            name="release",
            meant_for="before a release: eleven hours, new scenarios every day",
            campaigns=(
                GateCampaign(tier="rules", profile="smoke", budget=HOUR, least=3000),
                GateCampaign(tier="rules", profile="nightly", budget=3 * HOUR, least=3000),
                GateCampaign(tier="rules", profile="production", budget=30 * MINUTE, least=150),
                GateCampaign(tier="spark", profile="smoke", budget=HOUR, least=250),
                GateCampaign(tier="spark-stock", profile="smoke", budget=30 * MINUTE, least=50),
                GateCampaign(tier="delta", profile="quick", budget=2 * HOUR, least=150),
                GateCampaign(tier="delta", profile="documents", budget=30 * MINUTE, least=30),
            ),
            fault_scenarios=2000,
            fault_budget=2 * HOUR,
            core_only=False,
            daily=True,
            rounds=4,
        ),
    )
}
"""The profiles by their names on the command line."""
