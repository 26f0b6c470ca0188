"""Compares the analysis of random histories with the literal definitions of `reference.histories`.

The analysis must agree with them on each history; one with a planted fault must contradict them on some.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from campaign.faults.histories import Checker
from dvs_model.analysis.verdict import Absent, PhenomenonVerdict, Present, Unknown
from dvs_model.checking.check import check
from dvs_model.checking.minimise import reductions
from dvs_model.histories.history import History
from dvs_model.notation import render
from dvs_model.theory.names import Phenomenon
from generators.histories import SMALL, STORIES, HistoryShape, history_at
from reference.histories import Reference
from shrink import loop

SHAPES = (SMALL, HistoryShape(again_percent=35, operations=(2, 5), base=(1, 2)), STORIES)
"""Shapes of the random histories, used in turn: mixed ones, ones that often write the same objects, and ones
with what the others hardly ever have."""


def history_of(seed: int, number: int) -> History:
    """Returns the random history of a number; the shapes take turns."""
    return history_at(seed, SHAPES[number % len(SHAPES)], number)


@lru_cache(maxsize=20_000)
def _verdicts_of(seed: int, number: int) -> Mapping[str, bool | None]:
    """Returns what the definitions say of a history; cached, as every fault is hunted in the same ones."""
    return Reference(history_of(seed, number)).verdicts()


def wrong_in_case(checker: Checker, seed: int, number: int) -> str:
    """Returns the phenomenon on which a checker contradicts the definitions; empty where it agrees."""
    wrong = first_difference(history_of(seed, number), checker, _verdicts_of(seed, number))
    return "" if wrong is None else wrong.value


def disagreement(seed: int, count: int) -> str:
    """Returns the first random history that our analysis judges unlike the definitions, as text; or empty."""
    for number in range(count):
        wrong = wrong_in_case(check, seed, number)
        if wrong:
            return f"history {number} of seed {seed} on {wrong}: {render(history_of(seed, number))}"
    return ""


def first_difference(
    history: History, checker: Checker, expected: Mapping[str, bool | None]
) -> Phenomenon | None:
    """Returns the first phenomenon on which a checker differs from the definitions; None where it agrees."""
    verdicts = checker(history).phenomena
    return next((ph for ph, verdict in verdicts.items() if is_present(verdict) != expected[ph.value]), None)


def is_present(verdict: PhenomenonVerdict) -> bool | None:
    """Returns a verdict as the definitions report it: True where present, None where unknown."""
    match verdict:
        case Present():
            return True
        case Absent():
            return False
        case Unknown():
            return None


def smallest(history: History, faulty: Checker, attempts: int) -> History:
    """Returns the smallest history found on which the faulty checker is wrong, and the sound one is not."""

    def failing(candidate: History) -> History | None:
        expected = Reference(candidate).verdicts()
        if first_difference(candidate, check, expected) is not None:
            return None
        return None if first_difference(candidate, faulty, expected) is None else candidate

    return loop.smallest(history, [reductions], failing, attempts).found
