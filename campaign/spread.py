"""A campaign over several tiers: who gets how much of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from campaign.errors import CampaignError
from campaign.lanes import TIERS
from campaign.runner import Plan

ALL = "all"
"""In place of a tier: those that the profile names."""


def parts(plan: Plan) -> Sequence[tuple[str, Plan]]:
    """Each tier of the profile with its share of the scenarios or of the budget, in the profile's order.

    Every tier gets at least one scenario. Raises CampaignError for a profile that names no tier or an
    unknown one.
    """
    shares = {tier: share for tier, share in plan.profile.tiers.items() if share}
    unknown = ", ".join(tier for tier in shares if tier not in TIERS)
    if unknown or not shares:
        found = f"names {unknown}" if unknown else "gives no tier a share"
        raise CampaignError(f"profile {plan.profile.name}: tiers {found}; there are: {', '.join(TIERS)}")
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
