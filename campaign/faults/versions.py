"""Faults in how versions of base tables become data timestamps, with several writers and wrong clocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import pairwise

from campaign.faults.fault import in_versions, part_fault
from dynamic_tables.errors import StoreError
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.own_commit import Actions
from dynamic_tables.store.log.touched import FileStates, follow, removed
from dynamic_tables.store.ticks.base_log import at_ticks, stamp_of, versions
from dynamic_tables.store.ticks.cut import Start
from dynamic_tables.store.ticks.ledger import TableVersion, Tick
from dynamic_tables.versions import SourceVersion
from workload.outcomes.results import Check


def by_slow_clock(log: TableLog, ticks: Sequence[Tick]) -> tuple[SourceVersion, ...]:
    """A commit whose writer's clock is behind enters data timestamps that refreshes have read already."""
    return _by_clock(log, ticks, min)


def by_fast_clock(log: TableLog, ticks: Sequence[Tick]) -> tuple[SourceVersion, ...]:
    """A commit whose writer's clock is ahead is missing from data timestamps that cover it."""
    return _by_clock(log, ticks, max)


def _by_clock(
    log: TableLog, ticks: Sequence[Tick], choose: Callable[[int, int], int]
) -> tuple[SourceVersion, ...]:
    # In memory the milliseconds of a log stand for logical microseconds.
    clocks = {version.version: version.timestamp // 1000 for version in versions(log)}
    moved = [
        replace(version, timestamp=choose(version.timestamp, clocks[version.version]))
        for version in at_ticks(log, ticks)
    ]
    return tuple(sorted(moved, key=lambda version: (version.timestamp, version.version)))


def refused_by_clock(log: TableLog, ticks: Sequence[Tick]) -> tuple[SourceVersion, ...]:
    """A table with a commit whose writer's clock was behind the one before cannot be read any more."""
    undone = {c.version for c in log.commits if (stamp := stamp_of(log, c)) is not None and stamp.undone}
    known = [version for version in versions(log) if version.version > 0 and version.version not in undone]
    for before, after in pairwise(known):
        if after.timestamp < before.timestamp:
            raise StoreError(
                f"version {after.version} of {log.name} is of {after.timestamp}, before version "
                f"{before.version} of {before.timestamp}"
            )
    return at_ticks(log, ticks)


def newest_of_each(
    logs: Mapping[str, TableLog], start: Start, complete: Set[str], unreadable: Collection[str] = ()
) -> Mapping[str, TableVersion]:
    """A data timestamp holds the newest version of each table, so it may hold a part of a transaction."""
    return {name: TableVersion(log.newest.version, log.newest.table.id) for name, log in logs.items()}


def by_restore(log: TableLog, own: Sequence[int], active: ActiveFiles) -> Actions:
    """An undo restores the version before the transaction, and erases what others have committed since."""
    files: FileStates = {}
    for version in range(own[0], log.newest.version + 1) if own else ():
        follow(files, log.actions(version))
    return [{"remove": removed(after)} for _, after in files.values() if after is not None]


_fault = partial(part_fault, area="versions", replacing=in_versions)

FAULTS = (
    _fault("slow-clock-enters-the-past", "at_ticks", by_slow_clock, Check.FRONTIER, Check.EQUALITY),
    _fault("fast-clock-hides-commit", "at_ticks", by_fast_clock, Check.FRONTIER, Check.EQUALITY),
    _fault("clock-back-unreadable", "at_ticks", refused_by_clock, Check.REFRESH_ERROR),
    _fault("torn-transaction", "cut", newest_of_each, Check.FRONTIER, Check.EQUALITY),
    _fault("undo-by-restore", "inverse", by_restore, Check.SOURCES),
)
