"""What a hunt for one planted fault has shown."""

from __future__ import annotations

from enum import Enum

from workload.outcomes.decision import Decision

MOST = 500
"""Scenarios (histories) in which a planted fault must be found; one that lives longer has survived."""


MOST_HISTORIES = 20_000
"""The same for faults in the analysis of histories; a history is much smaller than a scenario."""


class HuntVerdict(Enum):
    """The result of a hunt. UNDECIDED: the time was over before the fault was found or had survived."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNDECIDED = "undecided"

    @property
    def decision(self) -> Decision:
        """A fault that survived fails the harness; one that was hunted too little decides nothing."""
        match self:
            case HuntVerdict.KILLED:
                return Decision.PASSED
            case HuntVerdict.SURVIVED:
                return Decision.FAILED
            case HuntVerdict.UNDECIDED:
                return Decision.UNDECIDED


def hunt_verdict(killed: bool, done: int, most: int) -> HuntVerdict:
    """The verdict on a fault that was hunted in `done` cases, at most `most`.

    The time that a hunt had is no verdict: a slow machine hunts in few cases, and finds fewer faults.
    """
    if killed:
        return HuntVerdict.KILLED
    return HuntVerdict.SURVIVED if done >= most else HuntVerdict.UNDECIDED


SINGULAR = {"scenarios": "scenario", "histories": "history"}


def hunt_text(verdict: HuntVerdict, done: int, most: int, unit: str = "scenarios") -> str:
    """A verdict as a text: `hunted in 12 scenarios of 500, time over`. `unit`: what it was hunted in."""
    number = f"{done} {SINGULAR[unit] if done == 1 else unit}"
    match verdict:
        case HuntVerdict.KILLED:
            return f"found within {number}"
        case HuntVerdict.SURVIVED:
            return f"not found in {number}"
        case HuntVerdict.UNDECIDED:
            return f"hunted in {number} of {most}, time over"
