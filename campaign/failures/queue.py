"""The order in which the failures of a run are shrunk, when there are more than the budget allows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from campaign.failures.fingerprint import fingerprint
from campaign.failures.grouping import Cause, Signature
from campaign.failures.triage import SHRINKABLE, Reduced

LISTED_OF_A_CLASS = 5
"""How many failures of each class that cannot be shrunk are listed one by one."""


@dataclass(slots=True)
class Queue:
    """Chooses the failure to shrink next: first those that no known cause explains.

    Otherwise a second cause would show up late, after much that resembles the first. After these come the
    kinds of failures of which fewest were started, small scenarios first. `started`: how many of each kind.
    """

    signatures: Mapping[int, Signature]
    causes: list[Cause] = field(default_factory=list)
    started: Counter[str] = field(default_factory=Counter)

    def learn(self, index: int, result: Reduced) -> None:
        """Adds the cause of a failure that was shrunk to the end."""
        if result.minimal and result.outcome.outcome in SHRINKABLE:
            cause = Cause.of(fingerprint(result.scenario, result.outcome))
            if cause not in self.causes:
                self.causes.append(cause)

    def picked(self, indices: Sequence[int], most: int, deadline: float) -> Iterator[int]:
        """At most `most` of the failures, each chosen by the causes known when the caller wants the next one.

        `deadline`: seconds since the epoch, after which there is no next one.
        """
        remaining = list(indices)
        while remaining and len(indices) - len(remaining) < most and time.time() < deadline:
            index = min(remaining, key=self._rank)
            remaining.remove(index)
            self.started[self.signatures[index].kind] += 1
            yield index

    def _rank(self, index: int) -> tuple[bool, int, int, int]:
        signature = self.signatures[index]
        explained = signature.explained_by(self.causes) is not None
        return (explained, self.started[signature.kind], signature.weight, index)

    def unexplained(self, indices: Sequence[int]) -> list[int]:
        """Returns those of the failures not shrunk that must be listed one by one, so that no group is lost.

        One for each signature that no known cause explains, and some of each class that cannot be shrunk.
        """
        listed: list[int] = []
        causes = list(self.causes)
        others: Counter[Cause] = Counter()
        for index in indices:
            signature = self.signatures[index]
            explained = signature.explained_by(causes)
            if explained is None or (not signature.shrinkable and others[explained] < LISTED_OF_A_CLASS):
                listed.append(index)
                causes.extend(signature.causes)
                others.update(signature.causes)
        return listed
