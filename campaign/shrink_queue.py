"""The order in which the failures of a run are shrunk, when there are more than the budget allows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from campaign.fingerprint import fingerprint
from campaign.grouping import Cause, Likeness
from campaign.triage import SHRINKABLE, Reduced

KEPT_OF_A_CLASS = 5
"""Scenarios kept of each class of outcome that shrinking says nothing about."""


@dataclass(slots=True)
class Queue:
    """Which failure to shrink next: first those that no cause found so far explains.

    A second cause shows up late if all that is shrunk is what resembles the first. After that the failures
    that start out unlike those shrunk already, small scenarios first.
    """

    likenesses: Mapping[int, Likeness]
    causes: list[Cause] = field(default_factory=list)
    begun: Counter[str] = field(default_factory=Counter)

    def learn(self, index: int, result: Reduced) -> None:
        """Notes what a failure shrank to."""
        if result.minimal and result.outcome.outcome in SHRINKABLE:
            cause = Cause.of(fingerprint(result.scenario, result.outcome))
            if cause not in self.causes:
                self.causes.append(cause)

    def picked(self, indices: Sequence[int], most: int, deadline: float) -> Iterator[int]:
        """Some of the failures, each chosen by what is known when it is asked for."""
        left = list(indices)
        while left and len(indices) - len(left) < most and time.time() < deadline:
            index = min(left, key=self._rank)
            left.remove(index)
            self.begun[self.likenesses[index].alike] += 1
            yield index

    def _rank(self, index: int) -> tuple[bool, int, int, int]:
        own = self.likenesses[index]
        explained = own.explained_by(self.causes) is not None
        return (explained, self.begun[own.alike], own.weight, index)

    def unexplained(self, indices: Sequence[int]) -> list[int]:
        """Of the failures not shrunk those that must be kept all the same, so that no group is lost.

        One of each likeness that no known cause explains, some of each class that cannot be shrunk.
        """
        kept: list[int] = []
        causes = list(self.causes)
        others: Counter[Cause] = Counter()
        for index in indices:
            own = self.likenesses[index]
            explained = own.explained_by(causes)
            if explained is None or (own.shrinkable is False and others[explained] < KEPT_OF_A_CLASS):
                kept.append(index)
                causes.extend(own.causes)
                others.update(own.causes)
        return kept
