"""The plan of a campaign, by which its scenarios are chosen, and the result of one scenario."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

from campaign.errors import CampaignError
from generators.profiles import Profile
from workload.outcomes.results import Outcome
from workload.scenario import Scenario

LASTING_SECONDS = 300.0
"""Seconds from which a campaign is a long one, for which a slower start of a faster JVM pays off."""

LASTING_SCENARIOS = 300
"""Scenarios that Spark judges in LASTING_SECONDS, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPlan:
    """Everything that decides which scenarios run; a time budget decides only how many of them.

    `scenarios`: how many; None where only `budget` (seconds) ends the run. With both, `budget` is an upper
    bound: a run that it ends early is undecided. `least`: a run that `budget` alone ends is undecided with
    fewer scenarios; time decides how many run, but never whether they were enough. `first`: the index of the
    first scenario. `done`: indices of scenarios that are judged already. `master`: the Spark cluster
    `spark://host:port` that judges the scenarios; empty for this machine.
    """

    seed: int
    profile: Profile
    scenarios: int | None = None
    budget: float | None = None
    least: int = 0
    workers: int = 2
    first: int = 0
    done: frozenset[int] = frozenset()
    master: str = ""

    @property
    def wanted(self) -> int:
        """The scenarios that must be judged for a verdict."""
        return self.least if self.scenarios is None else self.scenarios

    @property
    def lasting(self) -> bool:
        """Whether the campaign takes many minutes, so that a slower start for a faster JVM pays off."""
        if self.scenarios is not None:
            return self.scenarios - len(self.done) >= LASTING_SCENARIOS
        return self.budget is not None and self.budget >= LASTING_SECONDS

    def chunks(self, size: int) -> Iterator[Sequence[int]]:
        """Yields the indices not judged yet in chunks of `size`; endless where a time budget ends the run."""
        indices = (
            count(self.first) if self.scenarios is None else range(self.first, self.first + self.scenarios)
        )
        remaining = (index for index in indices if index not in self.done)
        while chunk := tuple(islice(remaining, size)):
            yield chunk


@dataclass(frozen=True, slots=True)
class JudgedScenario:
    """The result of one scenario. `coverage`: counts of what the scenario contains, by `kind: name`.

    `index`: the number of the scenario in its campaign; seed, profile and index decide the scenario.
    `drawn`: the scenario, where it did not pass and drawing it again would ask the engine again which queries
    it takes, each by a database of its own. The journal does not hold it, because of its size.
    """

    index: int
    outcome: Outcome
    coverage: Mapping[str, int]
    drawn: Scenario | None = None


def scenario_count(scenarios: int | None, budget: float | None, default: int) -> int | None:
    """Returns the number of scenarios to run; None where a time budget alone ends the run."""
    return default if scenarios is None and budget is None else scenarios


UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float:
    """Returns the seconds of a duration such as 90, 90s, 10m or 2h. Raises CampaignError for other texts."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise CampaignError(f"{text!r} is no duration; write 90s, 10m or 2h")
    return float(match[1]) * UNITS[match[2]]
