"""A configuration as a user writes it: a tier, and how it differs from the usual."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.errors import CampaignError
from campaign.lanes import ADAPTER, TIERS, Lane, LaneSpec
from campaign.versions.process import other_version
from workload.scenario import Scenario
from workload.trace import Trace

VALIDATIONS_OFF = "no-validations"
STOCK = "stock"
FAULT = "fault="
ELSEWHERE = "in="

HELP = f"TIER[+{VALIDATIONS_OFF}][+{STOCK}][+{FAULT}NAME][+{ELSEWHERE}FOLDER]"

Run = Callable[[Scenario], Trace]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A lane by its text; `folder`: where the version of this program is that runs it, None for this one."""

    text: str
    spec: LaneSpec
    folder: Path | None = None

    @contextmanager
    def running(self) -> Iterator[Run]:
        """What runs scenarios on it.

        Raises CampaignError for an unknown fault or a version that does not start, SessionError where Spark
        does not.
        """
        if self.folder is None:
            yield runs_of(self.spec.build())
            return
        here = "+".join(part for part in self.text.split("+") if not part.startswith(ELSEWHERE))
        with other_version(self.folder, here) as other:
            yield other.run


def runs_of(lane: Lane) -> Run:
    """A lane as what runs scenarios: nothing is judged, so no fresh initialization is wanted."""
    return lambda scenario: lane.tier.run(scenario, lane.engine, lambda step, table: False)


def configuration(text: str) -> Configuration:
    """The configuration of a text such as `delta+stock`. Raises CampaignError naming what is unknown."""
    tier, *changes = text.split("+")
    if tier not in TIERS and not tier.startswith(ADAPTER):
        raise CampaignError(f"{text!r}: no tier {tier!r}; there are: {', '.join(TIERS)}, {ADAPTER}NAME")
    spec, folder = LaneSpec(tier=tier, fresh_percent=0), None
    for change in changes:
        if change == VALIDATIONS_OFF:
            spec = replace(spec, validations=False)
        elif change == STOCK and f"{tier}-{STOCK}" in TIERS:
            spec = replace(spec, tier=f"{tier}-{STOCK}")
        elif change.startswith(FAULT):
            spec = replace(spec, faults=(*spec.faults, change.removeprefix(FAULT)))
        elif change.startswith(ELSEWHERE):
            folder = Path(change.removeprefix(ELSEWHERE))
        else:
            raise CampaignError(
                f"{text!r}: {change!r} is no configuration of tier {tier}; a configuration is {HELP}, "
                f"{STOCK} on Spark and Delta only"
            )
    return Configuration(text, spec, folder)
