"""Greedy search for the smallest scenario that still fails."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shrink.admit import admissible, tidied
from shrink.loop import exhaust
from shrink.reduction import Reduction
from shrink.registry import REDUCTIONS
from shrink.weight import weight
from workload.scenario import Scenario

Fails = Callable[[Scenario], bool]
"""The test whether a candidate still fails, with the same class of failure."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The result of a search: the smallest scenario that still fails.

    `steps`: the names of the reductions that led to it, in order. `complete`: no reduction has another
    candidate; False when the attempts ran out before. `tried`: keys of the candidates that were run (see
    `key_of`), so that a later search need not run them again.
    """

    scenario: Scenario
    attempts: int
    steps: tuple[str, ...]
    complete: bool
    tried: frozenset[bytes] = frozenset()


@dataclass(slots=True)
class Search:
    """The smallest failing scenario so far, and the candidates that were run; none of them is run twice."""

    current: Scenario
    fails: Fails
    budget: int
    attempts: int = 0
    steps: list[str] = field(default_factory=list)
    tried: set[bytes] = field(default_factory=set)

    def exhaust(self, reduction: Reduction) -> bool:
        """Applies a reduction until none of its candidates is accepted; returns whether any was."""
        accepted = exhaust(
            lambda: reduction.candidates(self.current), self.accept, lambda: self.budget - self.attempts
        )
        self.steps += [reduction.name] * accepted
        return accepted > 0

    def accept(self, candidate: Scenario) -> bool:
        """Makes a candidate the current scenario if it is smaller, admissible, not tried yet, and fails."""
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
    """Returns a short key that identifies a candidate: a hash of its text."""
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
    """Returns the smallest scenario that still fails, reached from a failing one by reductions.

    Tries all reductions in rounds until a whole round changes nothing, or `attempts` calls of `fails` are
    spent. A complete result is minimal with respect to every single reduction. After a costly reduction that
    changed something, the cheap ones are tried again first. Deterministic if `fails` is. `fails` is not
    called for the given scenario, which must fail, nor for the candidates in `tried`, which an earlier search
    has run.
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
    # A round that the budget cut short has not tried every candidate.
    complete = not progress and search.attempts < attempts
    return Shrunk(search.current, search.attempts, tuple(search.steps), complete, frozenset(search.tried))
