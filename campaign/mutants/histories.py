"""Mutation testing of the analysis of histories (`dvs mutants --tier model`).

Each planted fault must contradict the literal definitions (reference.histories) on some random history.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from campaign.errors import CampaignError
from campaign.faults.histories import HISTORY_FAULTS
from campaign.mutants.verdict import MOST_HISTORIES, HuntVerdict, hunt_verdict
from dvs_model.analysis.verdict import Absent, PhenomenonVerdict, Present, Unknown
from dvs_model.checking.check import Checked, check
from dvs_model.checking.minimise import reductions
from dvs_model.histories.history import History
from dvs_model.notation import render
from dvs_model.theory.names import Phenomenon
from generators.histories import SMALL, STORIES, HistoryShape, history_at
from reference.histories import Reference

Checker = Callable[[History], Checked]

SHAPES = (SMALL, HistoryShape(again_percent=35, operations=(2, 5), base=(1, 2)), STORIES)
"""Shapes of the random histories, used in turn: mixed ones, ones that often write the same objects, and ones
with what the others hardly ever have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryKill:
    """The first history on which a fault contradicts the definitions.

    `killer`: the phenomenon on which they differ. `reproduction`: the history shrunk, in text notation.
    """

    killer: Phenomenon
    index: int
    reproduction: str
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHuntResult:
    """The result for one planted fault. `kill`: None where it was not found.

    `most`: the histories after which it counts as survived.
    """

    fault: str
    histories: int
    seconds: float
    kill: HistoryKill | None = None
    most: int = MOST_HISTORIES

    @property
    def verdict(self) -> HuntVerdict:
        """Whether the fault was found, survived, or was hunted too little to say."""
        return hunt_verdict(self.kill is not None, self.histories, self.most)


def hunt_histories(
    names: Sequence[str],
    *,
    seed: int,
    budget: float,
    attempts: int,
    most: int = MOST_HISTORIES,
    progress: Callable[[HistoryHuntResult], None] = lambda result: None,
    checker: Checker = check,
) -> list[HistoryHuntResult]:
    """Checks at most `most` random histories with each fault planted, until all are killed.

    `budget`: an upper bound in seconds; what it ends early is undecided. `attempts`: smaller histories tried
    for each kill. Raises CampaignError where the correct `checker`
    contradicts the definitions itself: a kill would prove nothing.
    """
    start = time.monotonic()
    killed: dict[str, HistoryHuntResult] = {}
    index = 0
    while len(killed) < len(names) and index != most and time.monotonic() - start < budget:
        history = history_at(seed, SHAPES[index % len(SHAPES)], index)
        expected = Reference(history).verdicts()
        if (wrong := first_difference(history, checker, expected)) is not None:
            raise CampaignError(
                f"the checker without a fault disagrees with the definitions on {wrong.value}: "
                f"history {index} of seed {seed}; repair the checker first: {render(history)}"
            )
        for name in names:
            fault = HISTORY_FAULTS[name]
            if name in killed or first_difference(history, fault.check, expected) is None:
                continue
            kill = shrunk_kill(history, index, fault.check, checker, attempts)
            seconds = time.monotonic() - start
            killed[name] = HistoryHuntResult(
                fault=name, histories=index + 1, seconds=seconds, kill=kill, most=most
            )
            progress(killed[name])
        index += 1
    survivor = HistoryHuntResult(fault="", histories=index, seconds=time.monotonic() - start, most=most)
    results = [killed.get(name, replace(survivor, fault=name)) for name in names]
    for result in results:
        if result.kill is None:
            progress(result)
    return results


def disagreement(seed: int, count: int, checker: Checker = check) -> str:
    """The first of some random histories that a checker judges otherwise than the definitions; or empty."""
    for index in range(count):
        history = history_at(seed, SHAPES[index % len(SHAPES)], index)
        wrong = first_difference(history, checker, Reference(history).verdicts())
        if wrong is not None:
            return f"history {index} of seed {seed} on {wrong.value}: {render(history)}"
    return ""


def first_difference(
    history: History, checker: Checker, expected: dict[str, bool | None]
) -> Phenomenon | None:
    """The first phenomenon on which a checker differs from the definitions, if there is one."""
    verdicts = checker(history).phenomena
    return next((ph for ph, verdict in verdicts.items() if is_present(verdict) != expected[ph.value]), None)


def is_present(verdict: PhenomenonVerdict) -> bool | None:
    """Whether the phenomenon is present, None where that is unknown, as the definitions report it."""
    match verdict:
        case Present():
            return True
        case Absent():
            return False
        case Unknown():
            return None


def shrunk_kill(
    history: History, index: int, faulty: Checker, correct: Checker, attempts: int
) -> HistoryKill:
    """The kill with the smallest history found on which only the faulty checker is wrong."""

    def killer(candidate: History) -> Phenomenon | None:
        expected = Reference(candidate).verdicts()
        if first_difference(candidate, correct, expected) is not None:
            return None
        return first_difference(candidate, faulty, expected)

    smaller: History | None = history
    while smaller is not None:
        history, smaller = smaller, None
        for candidate in reductions(history):
            if attempts <= 0:
                break
            attempts -= 1
            if killer(candidate) is not None:
                smaller = candidate
                break
    phenomenon = killer(history)
    assert phenomenon is not None
    events = len(history.shown_events())
    return HistoryKill(killer=phenomenon, index=index, reproduction=render(history), events=events)


def known_history_faults(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given; all faults where no name is. Raises CampaignError: a name is no planted fault."""
    for name in names:
        if name not in HISTORY_FAULTS:
            raise CampaignError(
                f"no fault of the analysis named {name!r}; `dvs mutants --tier model --list` lists them"
            )
    return tuple(names) or tuple(HISTORY_FAULTS)
