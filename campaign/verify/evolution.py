"""`dvs verify evolution`: many stories of changes on Delta (`story`), and which kinds of changes were met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.verify.story import EVENTS, Misread, Story
from workload.outcomes.decision import Decision

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = 14
"""The number of steps of one story: changes, each with a refresh of all dynamic tables."""

FLOOR = 150
"""The number of steps of all stories together from which each kind of change must have been met."""


@dataclass(frozen=True, slots=True)
class Evolved:
    """The result of some stories. `met`: how often each kind of change, or "refused", and action was met."""

    stories: int
    met: Mapping[str, int]
    wrong: Sequence[Misread]

    @property
    def unmet(self) -> Sequence[str]:
        """The kinds of changes that were not met; none where there were too few steps to say so."""
        return [name for name in NAMES if not self.met.get(name)] if self.steps >= FLOOR else []

    @property
    def steps(self) -> int:
        """The number of changes of all stories together, refused ones included."""
        return sum(self.met.get(name, 0) for name in (*NAMES, "refused"))

    @property
    def decision(self) -> Decision:
        """Whether nothing was wrong; undecided where nothing changed, or a kind of change was not met."""
        if self.wrong:
            return Decision.FAILED
        return Decision.UNDECIDED if self.unmet or not self.steps else Decision.PASSED


NAMES = tuple(sorted({event.__name__ for event in EVENTS}))


def evolve(
    spark: SparkSession,
    folder: Path,
    *,
    seeds: Sequence[int],
    steps: int = STEPS,
    progress: Callable[[int], None] = lambda _: None,
) -> Evolved:
    """Runs one story for each seed, in a folder that is there and empty; ends at the first that is wrong."""
    met: Counter[str] = Counter()
    for number, seed in enumerate(seeds, 1):
        story = Story(folder / f"story {seed}", spark, seed)
        try:
            for _ in range(steps):
                story.clock.set(story.clock.time + 10)
                story.happens()
                story.check()
                if story.wrong:
                    break
        finally:
            story.close()
        met.update(story.met)
        if story.wrong:
            return Evolved(number, met, story.wrong)
        progress(number)
    return Evolved(len(seeds), met, [])
