"""Mutation testing of the analysis of histories: plant a fault, see it contradict the definitions, shrink."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from campaign.errors import CampaignError
from campaign.faults.histories import HISTORY_FAULTS
from dvs_model.check import Checked, check
from dvs_model.history import History
from dvs_model.minimise import reductions
from dvs_model.names import Phenomenon
from dvs_model.notation import render
from dvs_model.verdict import Absent, Finding, Present, Unknown
from generators.histories import SMALL, HistoryShape, history_at
from reference.histories import Reference

Checker = Callable[[History], Checked]

SHAPES = (SMALL, HistoryShape(again_percent=35, operations=(2, 5), base=(1, 2)))
"""Histories in turn: mixed ones, and ones that write the same objects again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryKill:
    """The first history on which a fault disagreed with the definitions, shrunk, in the text notation."""

    killer: Phenomenon
    index: int
    reproduction: str
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryVerdict:
    """What became of one planted fault. `kill` None: it survived."""

    fault: str
    histories: int
    seconds: float
    kill: HistoryKill | None = None


def hunt_histories(
    names: Sequence[str],
    *,
    seed: int,
    budget: float,
    attempts: int,
    progress: Callable[[HistoryVerdict], None] = lambda verdict: None,
    checker: Checker = check,
) -> list[HistoryVerdict]:
    """Judges random histories with every fault planted until all are killed or the budget (seconds) is spent.

    The definitions are asked once a history, for all faults. `attempts`: smaller histories tried for each
    kill. Raises CampaignError where the right `checker` disagrees with the definitions itself: then a kill
    would mean nothing.
    """
    start = time.monotonic()
    killed: dict[str, HistoryVerdict] = {}
    index = 0
    while len(killed) < len(names) and time.monotonic() - start < budget:
        history = history_at(seed, SHAPES[index % len(SHAPES)], index)
        expected = Reference(history).verdicts()
        if (wrong := first_difference(history, checker, expected)) is not None:
            raise CampaignError(
                f"the checker without a fault disagrees with the definitions on {wrong.value}: "
                f"history {index} of seed {seed}; mend it before its faults are hunted: {render(history)}"
            )
        for name in names:
            fault = HISTORY_FAULTS[name]
            if name in killed or first_difference(history, fault.check, expected) is None:
                continue
            kill = shrunk(history, index, fault.check, checker, attempts)
            found = HistoryVerdict(
                fault=name, histories=index + 1, seconds=time.monotonic() - start, kill=kill
            )
            killed[name] = found
            progress(found)
        index += 1
    survivor = HistoryVerdict(fault="", histories=index, seconds=time.monotonic() - start)
    verdicts = [killed.get(name, replace(survivor, fault=name)) for name in names]
    for verdict in verdicts:
        if verdict.kill is None:
            progress(verdict)
    return verdicts


def first_difference(
    history: History, checker: Checker, expected: dict[str, bool | None]
) -> Phenomenon | None:
    """The first phenomenon on which a checker and the definitions disagree."""
    findings = checker(history).phenomena
    return next((ph for ph, finding in findings.items() if said(finding) != expected[ph.value]), None)


def said(finding: Finding) -> bool | None:
    """A finding as the definitions put it: there, not there, undecided."""
    match finding:
        case Present():
            return True
        case Absent():
            return False
        case Unknown():
            return None


def shrunk(history: History, index: int, faulty: Checker, right: Checker, attempts: int) -> HistoryKill:
    """The smallest history found on which the fault contradicts the definitions and the right one agrees."""

    def killer(candidate: History) -> Phenomenon | None:
        expected = Reference(candidate).verdicts()
        if first_difference(candidate, right, expected) is not None:
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
    found = killer(history)
    assert found is not None
    return HistoryKill(
        killer=found, index=index, reproduction=render(history), events=len(history.shown_events())
    )


def known_history_faults(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given, all faults where none is. Raises CampaignError: one is no planted fault."""
    for name in names:
        if name not in HISTORY_FAULTS:
            raise CampaignError(
                f"no fault of the analysis named {name!r}; `dvs mutants --tier model --list` shows them"
            )
    return tuple(names) or tuple(HISTORY_FAULTS)
