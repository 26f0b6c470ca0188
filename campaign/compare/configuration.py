"""The configurations of `dvs compare`: a tier with changes, such as `delta+stock`, read from their text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.compare.other_version import other_version
from campaign.errors import CampaignError
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from engines.registry import ADAPTER, TIERS
from workload.outcomes.trace import Trace
from workload.scenario import Scenario

VALIDATIONS_OFF = "no-validations"
STOCK = "stock"
FAULT = "fault="
OTHER_VERSION = "in="

HELP = f"TIER[+{VALIDATIONS_OFF}][+{STOCK}][+{FAULT}NAME][+{OTHER_VERSION}FOLDER]"

Run = Callable[[Scenario], Trace]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration and its text. `folder`: the version of this program that runs it; None for this one."""

    text: str
    spec: LaneSpec
    folder: Path | None = None

    @contextmanager
    def running(self) -> Iterator[Run]:
        """Yields the function that runs scenarios on the configuration, until the end of the block.

        Raises CampaignError for an unknown fault or a version that does not start, SessionError where Spark
        does not start.
        """
        if self.folder is None:
            yield runs_of(self.spec.build())
            return
        text = "+".join(part for part in self.text.split("+") if not part.startswith(OTHER_VERSION))
        with other_version(self.folder, text) as other:
            yield other.run


def runs_of(lane: Lane) -> Run:
    """Returns the function that runs scenarios on a lane's engine, without judging or initializing afresh."""
    return lane.engine.run


def configuration(text: str) -> Configuration:
    """Returns the configuration of a text such as `delta+stock`. Raises CampaignError: a part is unknown."""
    tier, *changes = text.split("+")
    if tier not in TIERS and not tier.startswith(ADAPTER):
        raise CampaignError(f"{text!r}: no tier {tier!r}; choose {', '.join(TIERS)} or {ADAPTER}NAME")
    spec, folder = LaneSpec(tier=tier, fresh_percent=0), None
    for change in changes:
        if change == VALIDATIONS_OFF:
            spec = replace(spec, validations=False)
        elif change == STOCK and f"{tier}-{STOCK}" in TIERS:
            spec = replace(spec, tier=f"{tier}-{STOCK}")
        elif change.startswith(FAULT):
            spec = replace(spec, faults=(*spec.faults, change.removeprefix(FAULT)))
        elif change.startswith(OTHER_VERSION):
            folder = Path(change.removeprefix(OTHER_VERSION))
        else:
            raise CampaignError(
                f"{text!r}: {change!r} is no configuration of tier {tier}; write {HELP}, "
                f"{STOCK} on Spark and Delta only"
            )
    return Configuration(text, spec, folder)
