"""The verdict on one planted fault after its hunt: killed, survived, idle or undecided."""

from __future__ import annotations

from enum import Enum

from reports.figures import plural
from workload.outcomes.decision import Decision

MOST_SCENARIOS = 500
"""Scenarios in which a planted fault of the engine must be found; one that lives longer has survived."""


class HuntVerdict(Enum):
    """The result of a hunt. UNDECIDED: the time was over before the fault was found or had survived.

    IDLE: over given definitions the tables hold the same with the fault as without it, in every scenario.
    """

    KILLED = "killed"
    SURVIVED = "survived"
    IDLE = "idle"
    UNDECIDED = "undecided"

    @property
    def decision(self) -> Decision:
        """The decision about the harness: a survivor fails it, a fault hunted too little decides nothing."""
        match self:
            case HuntVerdict.KILLED | HuntVerdict.IDLE:
                return Decision.PASSED
            case HuntVerdict.SURVIVED:
                return Decision.FAILED
            case HuntVerdict.UNDECIDED:
                return Decision.UNDECIDED


def hunt_verdict(killed: bool, done: int, most: int, *, idle: bool = False) -> HuntVerdict:
    """Returns the verdict on a fault hunted in `done` of at most `most` cases. `idle`: it changed nothing.

    The time that a hunt had is no verdict: a slow machine hunts in few cases, and finds fewer faults.
    """
    if killed:
        return HuntVerdict.KILLED
    if idle:
        return HuntVerdict.IDLE
    return HuntVerdict.SURVIVED if done >= most else HuntVerdict.UNDECIDED


def hunt_text(verdict: HuntVerdict, done: int, most: int, unit: str = "scenario") -> str:
    """Returns a verdict as text: `hunted in 12 scenarios of 500, time over`. `unit`: the name of a case."""
    match verdict:
        case HuntVerdict.KILLED:
            return f"found within {plural(done, unit)}"
        case HuntVerdict.SURVIVED:
            return f"not found in {plural(done, unit)}"
        case HuntVerdict.IDLE:
            return f"changes no row in {plural(done, unit)}"
        case HuntVerdict.UNDECIDED:
            return f"hunted in {plural(done, unit)} of {most}, time over"
