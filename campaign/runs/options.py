"""The options of a campaign as one value, and the options that a resumed run had before."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from campaign.errors import CampaignError
from campaign.failures.ignore import IgnoreRules, known_failures
from campaign.failures.report import ShrinkBudget
from campaign.faults import known_faults
from campaign.lanes.spec import LaneSpec, within_limits
from campaign.runs.definitions import ValuesFrom, over_definitions, over_random_documents, values_from
from campaign.runs.journal import JOURNAL_FILE, read_head
from campaign.runs.plan import CampaignPlan, scenario_count
from campaign.runs.spread import ALL, ENGINES, of_engines, parts
from engines.registry import ADAPTERS, TIERS
from generators.profiles import GOAL_FLOOR, PROFILES, load_profile
from workload.lift.kind import Lifting

CHUNKS_ON_CLUSTER = 16
"""Chunks of scenarios under way at once on a cluster, unless --workers gives another number."""

DEFAULT_SCENARIOS = 200

MOST_WORLDS = 5000
"""The most databases that are lifted into one: with more, one refresh takes minutes."""

LEAST = {
    "scenarios": 1,
    "budget": 0,
    "least": 1,
    "workers": 1,
    "first": 0,
    "shrink": 0,
    "shrink_budget": 0,
    "worlds": 2,
    "floor": 0,
    "seed": -math.inf,
}
"""The least value of each number; seconds must be more than 0."""

OPTIONAL = ("scenarios", "budget", "least", "workers")
"""The numbers that may be None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """What a campaign does, as the options of `dvs fuzz` say it; the defaults are those of the command.

    `tier`: the engine that runs the scenarios, or "all" for each tier of the profile in turn. `profile`: the
    kind of scenarios, by name or as a TOML file. `scenarios`: how many; `budget`: for how many seconds at
    most; with neither, 200 scenarios. `least`: with `budget` alone, fewer scenarios leave the run undecided.
    `definitions`: a SQL script, or a folder of them, whose dynamic tables take the place of random ones;
    each must have `floor` percent of its text covered. `values`: "random", or "sample" for values as often
    as the tables of an account hold theirs, which scenarios show only with `show_values`. `first`: the index
    of the first scenario. `lift`: "none", "intervals" or "databases", of which `worlds` are judged in one
    run. `faults`: planted faults by name. `shrink`: how many failures are shrunk, in `shrink_budget`
    seconds. `ignore`: a TOML file with rules for known failures. `master`: a Spark cluster. None stands for
    the default of the tier.
    """

    tier: str = "rules"
    lift: str | None = None
    worlds: int = 200
    seed: int = 1
    scenarios: int | None = None
    budget: float | None = None
    least: int | None = None
    workers: int | None = None
    profile: str = "smoke"
    definitions: str | None = None
    floor: int = GOAL_FLOOR
    values: str = ValuesFrom.RANDOM.value
    show_values: bool = False
    first: int = 0
    master: str = ""
    faults: tuple[str, ...] = ()
    validations: bool = True
    shrink: int = 24
    shrink_budget: float = 120.0
    ignore: str | None = None

    @property
    def shrinking(self) -> ShrinkBudget:
        """How much work is done on failures."""
        return ShrinkBudget(failures=self.shrink, seconds=self.shrink_budget)

    def known_failures(self) -> IgnoreRules:
        """Returns the rules of the file `ignore` as they apply today. Raises CampaignError."""
        return known_failures(self.ignore)

    def as_json(self) -> Mapping[str, Any]:
        """Returns the options as JSON data; paths are absolute, so that they hold in any working folder."""
        return {
            **asdict(self),
            "profile": self.profile if self.profile in PROFILES else str(Path(self.profile).resolve()),
            "definitions": None if self.definitions is None else str(Path(self.definitions).resolve()),
            "ignore": None if self.ignore is None else str(Path(self.ignore).resolve()),
        }

    def campaigns(self) -> Sequence[tuple[CampaignPlan, LaneSpec]]:
        """Returns a plan and a lane for each campaign: one, or one for each tier. Raises CampaignError."""
        self._ensure_possible_values()
        plan = CampaignPlan(
            seed=self.seed,
            profile=within_limits(load_profile(self.profile), self.tier),
            scenarios=scenario_count(self.scenarios, self.budget, DEFAULT_SCENARIOS),
            budget=self.budget,
            first=self.first,
            master=self.master,
        )
        split = {ALL: parts, ENGINES: of_engines}.get(self.tier)
        shares = [(self.tier, plan)] if split is None else split(plan)
        return [self._campaign(tier, part) for tier, part in shares]

    def _ensure_possible_values(self) -> None:
        """Raises CampaignError where a value is impossible, as the command line does too."""
        for name, least in LEAST.items():
            value = getattr(self, name)
            whole = name not in ("budget", "shrink_budget")
            possible = isinstance(value, int) or (not whole and isinstance(value, float))
            if value is None and name in OPTIONAL:
                continue
            if not possible or not least <= value < math.inf or (value == 0 and not whole):
                kind = "a whole number" if whole else "seconds"
                raise CampaignError(f"{name} is {value!r}; give {kind} of {least} or more")
        if self.worlds > MOST_WORLDS:
            raise CampaignError(f"worlds is {self.worlds}; give at most {MOST_WORLDS}")
        self._values_from()
        given: object = self.faults
        if isinstance(given, str):
            raise CampaignError(f"faults is the text {given!r}; give a tuple of names")
        if self.lift not in (None, *(lifting.value for lifting in Lifting)):
            known = ", ".join(lifting.value for lifting in Lifting)
            raise CampaignError(f"lift is {self.lift!r}; choose one of {known}, or None for the tier's own")

    def _values_from(self) -> ValuesFrom:
        return values_from(self.values, self.definitions, shown=self.show_values)

    def _campaign(self, tier: str, plan: CampaignPlan) -> tuple[CampaignPlan, LaneSpec]:
        """Returns the plan with what depends on the tier, and the lane on it. Raises CampaignError."""
        lifting = None if self.lift is None else Lifting(self.lift)
        if self.definitions is not None or plan.profile.documents:
            if lifting not in (None, Lifting.NONE):
                raise CampaignError(f"lift is {self.lift!r}; definitions given as text run one by one")
            lifting = Lifting.NONE
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
        if self.definitions is not None:
            profile = over_definitions(plan.profile, self.definitions, self.floor, spec, self._values_from())
        else:
            profile = over_random_documents(plan.profile, plan.seed, spec)
        plan = replace(plan, profile=profile)
        return replace(plan, workers=self.workers or default, least=least), spec


def resumed(options: CampaignOptions, out: Path, given: Callable[[str], bool]) -> CampaignOptions:
    """Returns the options of the run in a folder, changed by those that the user gives now.

    `given`: tells whether the user gave an option. Raises CampaignError: the folder holds no run, or none
    that `dvs fuzz` began.
    """
    begun = read_head(journal_folder(out))["options"]
    try:
        before = CampaignOptions(**{**begun, "faults": tuple(begun["faults"])})
    except (KeyError, TypeError) as error:
        raise CampaignError(
            f"{out} holds a run that `dvs fuzz` did not begin; resume it with the command that began it"
        ) from error
    changes = {
        field.name: getattr(options, field.name) for field in fields(CampaignOptions) if given(field.name)
    }
    if changes.keys() & {"scenarios", "budget"}:
        # Together they say how far the run goes, so what is given now replaces both.
        changes |= {"scenarios": options.scenarios, "budget": options.budget}
    return replace(before, **changes)


def journal_folder(out: Path) -> Path:
    """Returns the folder with the journal of a run: `out`, or that of its first tier where it had several."""
    tiers = (*TIERS, *ADAPTERS)
    folders = (
        folder for folder in (out, *(out / tier for tier in tiers)) if (folder / JOURNAL_FILE).exists()
    )
    return next(folders, out)
