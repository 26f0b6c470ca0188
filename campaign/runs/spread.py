"""`dvs fuzz --tier all`: splits a campaign over the tiers that its profile names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from campaign.errors import CampaignError
from campaign.runs.plan import CampaignPlan
from engines.registry import TIERS

ALL = "all"
"""The value of --tier that stands for all tiers of the profile."""


def parts(plan: CampaignPlan) -> Sequence[tuple[str, CampaignPlan]]:
    """Each tier of the profile with its share of the scenarios or of the budget, in the profile's order.

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
