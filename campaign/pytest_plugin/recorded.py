"""`recorded`: `dvs record` in a test of pytest, with the counterexample in the message of the failure."""

from __future__ import annotations

from campaign.errors import CampaignError
from campaign.protocols.kept import recording_of
from dvs_model.checking.check import Checked
from dvs_model.judging.options import CheckOptions
from dvs_model.judging.recorded import assert_isolation
from protocols.recording.clients import Load
from protocols.recording.database import Promise, RecordingError
from protocols.recording.workloads import WORKLOADS, decided

PROMISES = {"PL-3": Promise.SERIALIZABLE, "PL-SI": Promise.SNAPSHOT, "PL-2": Promise.COMMITTED}
"""The levels that clients cannot tell in every workload, and the promise that is asserted in their place."""


def recorded(
    engine: str,
    workload: str = "append",
    *,
    level: str | None = None,
    isolation: str | None = None,
    clients: int = 4,
    transactions: int = 500,
    seconds: float = 20.0,
    keys: int = 8,
    seed: int = 1,
) -> Checked:
    """Runs clients on a live database and asserts that what they saw keeps a level; returns the verdicts.

    `engine`: an address as `dvs record` takes it. `level`: "PL-3", "PL-SI" and "PL-2" stand for what clients
    can tell of them; other names as in `assert_isolation`; by default what the database promises at its level
    `isolation`. Raises AssertionError with the transactions that show the violation, also where too little
    was recorded to say; CampaignError: the database cannot be used.
    """
    __tracebackhide__ = True
    if workload not in WORKLOADS:
        raise CampaignError(f"there is no workload {workload}; take one of {', '.join(WORKLOADS)}")
    run = Load(
        workload=WORKLOADS[workload],
        clients=clients,
        seconds=seconds,
        keys=keys,
        seed=seed,
        transactions=transactions,
    )
    try:
        item, name, promise = recording_of(engine, isolation, run)
    except RecordingError as error:
        raise CampaignError(str(error)) from error
    if item is None:
        raise AssertionError(f"{name}: unknown, because no transaction was recorded")
    asked = PROMISES.get(level or "", promise) if level in (None, *PROMISES) else None
    levels = (str(level),) if asked is None else decided(run.workload, asked)
    return assert_isolation(item, *levels, options=CheckOptions(complete=True))
