"""The loop of delta debugging: candidates, and the question whether one of them still fails.

Scenarios, accounts, histories and sets of intents are all made smaller by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

Candidates = Callable[[T], Iterable[T]]
"""Smaller things that one thing can become, those that cut most first."""


def exhaust(
    candidates: Callable[[], Iterable[T]], accept: Callable[[T], bool], left: Callable[[], int]
) -> int:
    """Accepts candidates until none from the last accepted position on is accepted; returns how many were.

    `candidates`: those of the current thing. `accept`: makes a candidate the current thing if it still fails.
    `left`: how many attempts remain. Candidates before the last accepted position have just been refused; the
    next call of `exhaust` tries them again.
    """
    accepted = position = 0
    while left():
        for number, candidate in enumerate(candidates()):
            if not left():
                break
            if number >= position and accept(candidate):
                accepted, position = accepted + 1, number
                break
        else:
            break
    return accepted


@dataclass(frozen=True, slots=True)
class Smallest(Generic[T]):
    """The smallest thing found. `complete`: all its candidates were tried, and none of them fails."""

    found: T
    attempts: int
    complete: bool


def smallest(
    thing: T, reductions: Sequence[Candidates[T]], failing: Callable[[T], T | None], attempts: int
) -> Smallest[T]:
    """Returns the smallest thing found that still fails, by rounds of all reductions in at most `attempts`.

    `failing(candidate)`: the candidate if it still fails, or the part of it that was enough; else None. It is
    not called for the thing itself.

    >>> def one_letter_less(text):
    ...     return (text[:at] + text[at + 1 :] for at in range(len(text)))
    >>> smallest("abcde", [one_letter_less], lambda text: text if {*"bd"} <= {*text} else None, 50).found
    'bd'
    """
    current, used = thing, 0

    def accept(candidate: T) -> bool:
        nonlocal current, used
        used += 1
        found = failing(candidate)
        current = current if found is None else found
        return found is not None

    def of_current(reduction: Candidates[T]) -> Callable[[], Iterable[T]]:
        return lambda: reduction(current)

    progress = True
    while progress and used < attempts:
        # Every reduction in each round, also after one that made the thing smaller.
        accepted = [exhaust(of_current(each), accept, lambda: attempts - used) for each in reductions]
        progress = any(accepted)
    # Where the attempts ended in the middle of the last round, the rest of its candidates was not tried.
    return Smallest(current, used, not progress and used < attempts)
