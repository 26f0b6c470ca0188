"""What `dvs fuzz` was asked for, as one value; and what a run that goes on had been asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from campaign.errors import CampaignError
from campaign.journal import JOURNAL_FILE, read_head
from campaign.lanes import TIERS, LaneSpec, Lifting, within_limits
from campaign.mutation import known_faults
from campaign.runner import Plan
from campaign.spread import ALL, parts
from generators.profiles import PROFILES, load_profile

ON_CLUSTER = 16
"""Chunks that are under way on a cluster at once, unless `--workers` says otherwise."""

EXTENT = ("scenarios", "budget")
"""One excludes the other, also where one is given and the other was."""

DEFAULT_SCENARIOS = 200
"""How many run where neither a number nor a time is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of `dvs fuzz` but for `--out`, `--resume` and `--json`, by their names there."""

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
    shrink: int
    shrink_budget: float
    ignore: str | None

    @property
    def words(self) -> Mapping[str, Any]:
        """The request as JSON holds it; files by paths that hold in any folder."""
        return {
            **asdict(self),
            "profile": self.profile if self.profile in PROFILES else str(Path(self.profile).resolve()),
            "ignore": None if self.ignore is None else str(Path(self.ignore).resolve()),
        }

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

    Raises CampaignError: there is no run, or not one that `dvs fuzz` began.
    """
    head = read_head(begun_in(out))
    try:
        found = Request(**{**head["asked"], "fault": tuple(head["asked"]["fault"])})
    except (KeyError, TypeError) as error:
        raise CampaignError(
            f"{out} holds a run that `dvs fuzz` did not begin; go on with what did"
        ) from error
    anew = {field.name: getattr(request, field.name) for field in fields(Request) if given(field.name)}
    if anew.keys() & EXTENT:
        anew |= {name: getattr(request, name) for name in EXTENT}
    return replace(found, **anew)


def begun_in(out: Path) -> Path:
    """Where the journal is: in the folder; of a run over several tiers, in that of the first tier."""
    if (out / JOURNAL_FILE).exists():
        return out
    tiers = [out / tier for tier in TIERS if (out / tier / JOURNAL_FILE).exists()]
    return tiers[0] if tiers else out
