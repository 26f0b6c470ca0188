"""What a long enough run of simulated accounts must have met; a run that has not is no pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from campaign.soak.plan import SECOND, TICK, Happening
from campaign.soak.result import Soaked, State
from dynamic_tables.store.port import Action
from workload.outcomes.decision import Decision

TABLE_HOURS = 96
"""Simulated hours, of all tables together, from which the floors apply: those of 12 tables for 8 hours."""

ACTIONS = (Action.INCREMENTAL, Action.NO_DATA, Action.REINITIALIZE)
"""The refresh actions that the schedule of an account takes: commands initialize, and no query is FULL."""


def applies(done: Sequence[Soaked]) -> bool:
    """Tells whether the runs are long enough for the floors."""
    hours = sum(len(each.plan.ticks) * len(each.plan.tables) * TICK / SECOND / 3600 for each in done)
    return hours >= TABLE_HOURS


def unmet(done: Sequence[Soaked]) -> list[str]:
    """Returns what no run has met: kinds of events, refresh actions, failed refreshes, rare states."""
    met: Counter[str] = Counter()
    for each in done:
        met.update({**each.events, "failed refresh": each.failures})
        met.update({**each.actions, **each.states})
    events = [event.__name__ for event in get_args(Happening)]
    required = [*events, *(action.value for action in ACTIONS), "failed refresh", *(s.value for s in State)]
    return [name for name in required if not met[name]]


def not_shown(done: Sequence[Soaked], *, floors: bool) -> list[str]:
    """Returns what the runs have not met and must have: anything at all, and the floors of long runs."""
    if not any(each.refreshes for each in done):
        return ["refresh"]
    return unmet(done) if floors and applies(done) and not any(each.wrong for each in done) else []


def decision_of(done: Sequence[Soaked], lacking: Sequence[str]) -> Decision:
    """Returns whether the runs are a pass; undecided where they have not met what they must (`lacking`)."""
    if any(each.wrong for each in done):
        return Decision.FAILED
    return Decision.UNDECIDED if lacking or not done else Decision.PASSED
