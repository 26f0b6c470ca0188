"""What `dvs fuzz` was asked for, as one value; and what a run that goes on had been asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from campaign.errors import CampaignError
from campaign.journal import read_head
from campaign.lanes import LaneSpec, Lifting, within_limits
from campaign.mutation import known_faults
from campaign.runner import Plan
from campaign.spread import ALL, parts
from generators.profiles import PROFILES, load_profile

ON_CLUSTER = 16
"""Chunks that are under way on a cluster at once, unless `--workers` says otherwise."""

DEFAULT_SCENARIOS = 200
"""How many run where neither a number nor a time is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options that say which scenarios there are and how they are judged; names of the command line."""

    tier: str
    lift: str | None
    worlds: int
    seed: int
    scenarios: int | None
    budget: float | None
    workers: int | None
    profile: str
    first: int
    master: str
    fault: tuple[str, ...]
    validations: bool

    def campaigns(self) -> Sequence[tuple[Plan, LaneSpec]]:
        """The campaigns: one, or one for each tier of the profile. Raises CampaignError."""
        plan = self._plan()
        shares = parts(plan) if self.tier == ALL else [(self.tier, plan)]
        return [self._campaign(tier, part) for tier, part in shares]

    def _plan(self) -> Plan:
        if self.scenarios is not None and self.budget is not None:
            raise CampaignError(
                "--scenarios and --budget exclude each other: one says how many, the other how long"
            )
        unbounded = self.scenarios is None and self.budget is None
        return Plan(
            seed=self.seed,
            profile=within_limits(load_profile(self.profile), self.tier),
            scenarios=DEFAULT_SCENARIOS if unbounded else self.scenarios,
            budget=self.budget,
            first=self.first,
            master=self.master,
        )

    def _campaign(self, tier: str, plan: Plan) -> tuple[Plan, LaneSpec]:
        lifting = None if self.lift is None else Lifting(self.lift)
        spec = LaneSpec(
            tier=tier,
            lifting=lifting,
            worlds=self.worlds if lifting is Lifting.DATABASES else 1,
            faults=known_faults(self.fault),
            validations=self.validations,
            fresh_percent=plan.profile.fresh_percent,
        )
        usual = ON_CLUSTER if self.master else spec.kind.workers
        return replace(plan, workers=self.workers or usual), spec


def resumed(request: Request, out: Path, given: Callable[[str], bool]) -> Request:
    """The request of the run in a folder; what is `given` anew, by the option's name, is as it is now.

    Raises CampaignError: there is no run, or it cannot be asked for like that again.
    """
    head = read_head(out)
    asked = replace(
        request, **{name: value for name, value in _asked(head, request).items() if not given(name)}
    )
    if asked.profile not in PROFILES and not given("profile"):
        raise CampaignError(
            f"{out} holds a run of profile {asked.profile}, which was a file: "
            "give it again with --profile FILE"
        )
    return asked


def _asked(head: Mapping[str, Any], request: Request) -> Mapping[str, Any]:
    lane = head["lane"]
    asked = {
        **{name: head[name] for name in ("seed", "first", "profile")},
        "tier": lane["tier"],
        "lift": lane["lifting"],
        "fault": tuple(lane["faults"]),
        "validations": lane["validations"],
    }
    if lane["lifting"] == Lifting.DATABASES:
        asked["worlds"] = lane["worlds"]
    if request.scenarios is None and request.budget is None:
        asked |= {"scenarios": head["scenarios"], "budget": head["budget"]}
    return asked
