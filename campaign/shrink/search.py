"""Greedy search for the smallest scenario that still fails."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from campaign.shrink.admit import admissible, tidied
from campaign.shrink.reduction import Reduction
from campaign.shrink.registry import REDUCTIONS
from campaign.shrink.weight import weight
from workload.scenario import Scenario

Fails = Callable[[Scenario], bool]
"""Whether a candidate still fails, with the same class of failure."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest scenario found, after how many attempts, by which reductions in order.

    `complete`: no reduction has anything left to offer; False when the attempts ran out before. `tried`:
    keys of the candidates asked about, so that a later search need not ask again.
    """

    scenario: Scenario
    attempts: int
    steps: tuple[str, ...]
    complete: bool
    tried: frozenset[bytes] = frozenset()


@dataclass(slots=True)
class Search:
    """The current scenario and what has been tried. No candidate is tried twice."""

    current: Scenario
    fails: Fails
    budget: int
    attempts: int = 0
    steps: list[str] = field(default_factory=list)
    tried: set[bytes] = field(default_factory=set)

    def exhaust(self, reduction: Reduction) -> bool:
        """Takes a reduction as far as it goes; True if it changed anything.

        After a success it goes on where it was: what comes before has just been refused, and comes again
        in the next round.
        """
        before = len(self.steps)
        position = 0
        while self.attempts < self.budget:
            for number, candidate in enumerate(reduction.candidates(self.current)):
                if self.attempts >= self.budget:
                    break
                if number >= position and self.accept(candidate):
                    self.steps.append(reduction.name)
                    position = number
                    break
            else:
                break
        return len(self.steps) > before

    def accept(self, candidate: Scenario) -> bool:
        """Goes on with a candidate if it is smaller, makes sense, was not tried yet, and still fails."""
        candidate = tidied(candidate)
        if not admissible(candidate) or weight(candidate) >= weight(self.current):
            return False
        key = key_of(candidate)
        if key in self.tried:
            return False
        self.tried.add(key)
        self.attempts += 1
        if not self.fails(candidate):
            return False
        self.current = candidate
        return True


def key_of(candidate: Scenario) -> bytes:
    """What a candidate is remembered by."""
    # By text, not by value: to Python 1 == 1.0 == True and 0.0 == -0.0, to SQL they are not the same.
    return hashlib.sha256(repr(candidate).encode()).digest()[:16]


def shrink(
    scenario: Scenario,
    fails: Fails,
    *,
    attempts: int,
    reductions: Sequence[Reduction] = REDUCTIONS,
    tried: frozenset[bytes] = frozenset(),
) -> Shrunk:
    """The smallest scenario that `fails` and that reductions lead to from a failing one.

    Rounds over the registry until a whole round changes nothing (or `attempts` calls of `fails` are spent):
    the result is then minimal with respect to every single reduction. After a costly reduction that did
    change something, the cheap ones get another try first. Deterministic if `fails` is. The given scenario
    is not asked about: that it fails is what the caller knows; nor are those `tried`, which did not.
    """
    search = Search(scenario, fails, attempts, tried=set(tried))
    cheap = [reduction for reduction in reductions if reduction.cheap]
    progress = True
    while progress and search.attempts < attempts:
        progress = False
        for reduction in reductions:
            if search.exhaust(reduction):
                progress = True
                if not reduction.cheap:
                    for other in cheap:
                        search.exhaust(other)
    # A round that the budget cut short has not asked everything.
    complete = not progress and search.attempts < attempts
    return Shrunk(search.current, search.attempts, tuple(search.steps), complete, frozenset(search.tried))
