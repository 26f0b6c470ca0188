"""The options of `dvs fuzz` as one value, and the options that a resumed run had before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from campaign.cli.options import scenario_count
from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec, within_limits
from campaign.mutants.hunt import known_faults
from campaign.runs.journal import JOURNAL_FILE, read_head
from campaign.runs.plan import CampaignPlan
from campaign.runs.spread import ALL, parts
from engines.registry import TIERS
from generators.profiles import PROFILES, load_profile
from workload.lift.kind import Lifting

CHUNKS_ON_CLUSTER = 16
"""Chunks of scenarios under way at once on a cluster, unless --workers gives another number."""

DEFAULT_SCENARIOS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of `dvs fuzz` by their names, but for `--out`, `--resume` and `--json`."""

    tier: str
    lift: str | None
    worlds: int
    seed: int
    scenarios: int | None
    budget: float | None
    least: int | None
    workers: int | None
    profile: str
    first: int
    master: str
    faults: tuple[str, ...]
    validations: bool
    shrink: int
    shrink_budget: float
    ignore: str | None

    def as_json(self) -> Mapping[str, Any]:
        """The options as JSON data; paths are absolute, so that they hold in any working folder."""
        return {
            **asdict(self),
            "profile": self.profile if self.profile in PROFILES else str(Path(self.profile).resolve()),
            "ignore": None if self.ignore is None else str(Path(self.ignore).resolve()),
        }

    def campaigns(self) -> Sequence[tuple[CampaignPlan, LaneSpec]]:
        """The campaigns: one, or one for each tier of the profile. Raises CampaignError."""
        plan = CampaignPlan(
            seed=self.seed,
            profile=within_limits(load_profile(self.profile), self.tier),
            scenarios=scenario_count(self.scenarios, self.budget, DEFAULT_SCENARIOS),
            budget=self.budget,
            first=self.first,
            master=self.master,
        )
        shares = parts(plan) if self.tier == ALL else [(self.tier, plan)]
        return [self._campaign(tier, part) for tier, part in shares]

    def _campaign(self, tier: str, plan: CampaignPlan) -> tuple[CampaignPlan, LaneSpec]:
        lifting = None if self.lift is None else Lifting(self.lift)
        spec = LaneSpec(
            tier=tier,
            lifting=lifting,
            worlds=self.worlds if lifting is Lifting.DATABASES else 1,
            faults=known_faults(self.faults),
            validations=self.validations,
            fresh_percent=plan.profile.fresh_percent,
        )
        default = CHUNKS_ON_CLUSTER if self.master else spec.engine_tier.workers
        least = spec.engine_tier.least if self.least is None else self.least
        return replace(plan, workers=self.workers or default, least=least), spec


def resumed(request: Request, out: Path, given: Callable[[str], bool]) -> Request:
    """The request of the run in a folder, changed by the options that are `given` now.

    Raises CampaignError: the folder holds no run, or none that `dvs fuzz` began.
    """
    options = read_head(journal_folder(out))["options"]
    try:
        before = Request(**{"least": None, **options, "faults": tuple(options["faults"])})
    except (KeyError, TypeError) as error:
        raise CampaignError(
            f"{out} holds a run that `dvs fuzz` did not begin; resume it with the command that began it"
        ) from error
    changes = {field.name: getattr(request, field.name) for field in fields(Request) if given(field.name)}
    if changes.keys() & {"scenarios", "budget"}:
        # Together they say how far the run goes, so what is given now replaces both.
        changes |= {"scenarios": request.scenarios, "budget": request.budget}
    return replace(before, **changes)


def journal_folder(out: Path) -> Path:
    """The folder with the journal of a run: `out`, or the folder of its first tier for `--tier all`."""
    folders = (
        folder for folder in (out, *(out / tier for tier in TIERS)) if (folder / JOURNAL_FILE).exists()
    )
    return next(folders, out)
