"""`dvs fuzz --tier all` and `--tier engines`: splits a campaign over tiers, or over engines of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaign.errors import CampaignError
from campaign.lanes.spec import within_limits
from campaign.runs.plan import CampaignPlan
from engines.errors import EngineError
from engines.registry import ADAPTER, ADAPTERS, TIERS, find_adapter

ALL = "all"
"""The value of --tier that stands for all tiers of the profile."""

ENGINES = "engines"
"""The value of --tier that stands for each engine of others that is installed."""

OWN = "built-in"
"""The adapter of the built-in engine, which is no engine of others."""

SEVERAL = (ALL, ENGINES)
"""The values of --tier that stand for more than one tier."""


def parts(plan: CampaignPlan) -> Sequence[tuple[str, CampaignPlan]]:
    """Returns the tiers of the profile, each with its share of the scenarios or of the budget, in order.

    Every tier gets at least one scenario. Raises CampaignError for a profile that names no tier or an
    unknown one.
    """
    shares = {tier: share for tier, share in plan.profile.tiers.items() if share}
    unknown = ", ".join(tier for tier in shares if tier not in TIERS)
    if unknown or not shares:
        problem = f"there is no tier {unknown}" if unknown else "no tier has a share"
        raise CampaignError(
            f"profile {plan.profile.name}, [tiers]: {problem}; give shares to some of {', '.join(TIERS)}"
        )
    return _shared(plan, shares)


def of_engines(plan: CampaignPlan) -> Sequence[tuple[str, CampaignPlan]]:
    """Returns the engines of others that are installed, each with an equal share of the plan.

    Each share has the profile cut to the limits of its engine. Raises CampaignError: none is installed.
    """
    installed = {}
    for name in ADAPTERS:
        try:
            find_adapter(name).ready()
        except EngineError:
            continue
        if name != OWN:
            installed[f"{ADAPTER}{name}"] = 1
    if not installed:
        raise CampaignError("no engine of others is installed; docs/engines.md says how to install each")
    return [
        (tier, replace(part, profile=within_limits(part.profile, tier)))
        for tier, part in _shared(plan, installed)
    ]


def _shared(plan: CampaignPlan, shares: Mapping[str, int]) -> Sequence[tuple[str, CampaignPlan]]:
    """Returns the part of a plan for each tier. `shares`: by tier, relative to their sum."""
    whole = sum(shares.values())
    return [
        (
            tier,
            replace(
                plan,
                scenarios=None if plan.scenarios is None else max(1, plan.scenarios * share // whole),
                budget=None if plan.budget is None else plan.budget * share / whole,
            ),
        )
        for tier, share in shares.items()
    ]
