"""Faults in the fence of refreshes that the engine commits itself; they show on Delta alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from campaign.faults.fault import in_store, part_fault
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.own_commit import Actions, OwnCommit, own_commit
from workload.outcomes.results import Check


def unchecked(
    log: TableLog,
    own: OwnCommit,
    *,
    actions: Callable[[], Actions],
    check: Callable[[], None],
    write: Callable[[int, str], bool],
) -> int:
    """A commit that meets another one takes the next version, whatever the other one has changed."""
    return own_commit(log, own, actions=actions, check=lambda: None, write=write)


def over_the_other(
    log: TableLog,
    own: OwnCommit,
    *,
    actions: Callable[[], Actions],
    check: Callable[[], None],
    write: Callable[[int, str], bool],
) -> int:
    """A commit that meets another one of its version replaces that one's file."""

    def replacing(version: int, text: str) -> bool:
        if not write(version, text):
            Path(f"{log.log_folder}/{version:020d}.json").write_text(text, encoding="utf-8")
        return True

    return own_commit(log, own, actions=actions, check=check, write=replacing)


_fault = partial(part_fault, area="fence", replacing=in_store, core=False, only_on="delta")

FAULTS = (
    _fault("commit-unchecked", "own_commit", unchecked, Check.REFRESH_ERROR),
    _fault("commit-over-another", "own_commit", over_the_other, Check.REFRESH_ERROR),
)
