"""A consistent cut through the base tables: each transaction is in it as a whole, or not at all.

Delta commits one table at a time, so a transaction over several tables is several commits, each stamped with
its part number and the number of parts. A data timestamp must not see a part of one. A cut is one version of
each table: the newest ones, moved back until no transaction is torn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from itertools import takewhile

from dynamic_tables.store.log.log import LoggedCommit, TableLog
from dynamic_tables.store.ticks.base_log import Stamp, stamp_of
from dynamic_tables.store.ticks.ledger import TableVersion

Start = Mapping[str, TableVersion]
"""The version of each base table in an earlier cut; a table that is new since then has none."""


def finished(logs: Mapping[str, TableLog], start: Start) -> Set[str]:
    """Returns the transactions whose last part was committed after the versions `start`."""
    return {
        stamp.transaction
        for name, log in logs.items()
        for _, stamp in stamped_after(log, start.get(name))
        if stamp is not None and stamp.part == stamp.parts
    }


def cut(
    logs: Mapping[str, TableLog], start: Start, complete: Set[str], unreadable: Collection[str] = ()
) -> Mapping[str, TableVersion]:
    """Returns for each table its version in the newest cut in which no transaction is torn.

    `start`: an earlier cut, which this one includes. `complete`: the transactions that are finished. The logs
    must have been read again after these were found: a log that was read before a transaction finished may
    end before its part of it. A commit of another writer is a transaction of its own. `unreadable`: tables
    that are there but have no log that can be read; no transaction with a part in one of them is in the cut.

    Example: table a has the commits T1, T2 and table b has T2, T3. If T3 is unfinished, b ends before T3. If
    T2 is unfinished, a ends after T1, and b before T2, so T3 is out as well, and with it its commits
    elsewhere.
    """
    ends = {name: log.newest.version for name, log in logs.items()}
    after = {name: list(stamped_after(log, start.get(name))) for name, log in logs.items()}
    torn: set[str] = set()
    # A fixpoint: an end that moves back leaves transactions out, and their commits move back other ends.
    # Ends only move back, so the loop stops.
    while True:
        before = dict(ends)
        for name, commits in after.items():
            for commit, stamp in commits:
                if commit.version > ends[name]:
                    break
                if stamp is not None and (
                    stamp.transaction in torn or not _done(stamp, complete, logs, unreadable)
                ):
                    ends[name] = commit.version - 1
                    break
        torn |= {
            stamp.transaction
            for name, commits in after.items()
            for commit, stamp in commits
            if stamp is not None and commit.version > ends[name]
        }
        if ends == before:
            break
    return {
        name: TableVersion(end, identity)
        for name, end in ends.items()
        if (identity := _identity_at(logs[name], end, start.get(name))) is not None
    }


def unfinished(logs: Mapping[str, TableLog], start: Start) -> tuple[Stamp, ...]:
    """Returns the newest stamp of each unfinished transaction.

    Some part of it was committed after `start`, but not its last part.
    """
    newest: dict[str, Stamp] = {}
    for name, log in logs.items():
        for _, stamp in stamped_after(log, start.get(name)):
            # A table that was dropped later takes its part of a transaction with it.
            if stamp is not None and stamp.before.keys() <= logs.keys():
                newest[stamp.transaction] = stamp
    complete = finished(logs, start)
    return tuple(stamp for transaction, stamp in newest.items() if transaction not in complete)


def stamped_after(log: TableLog, start: TableVersion | None) -> Iterator[tuple[LoggedCommit, Stamp | None]]:
    """Yields the commits after a version, oldest first, each with its stamp if it has one."""
    last = -1
    if start is not None:
        at_start = log.commit(start.version)
        # A table that was dropped and created again under its name begins anew.
        if (at_start.table.id if at_start else log.commits[0].table.id) == start.identity:
            last = start.version
    newer = list(takewhile(lambda commit: commit.version > last, reversed(log.commits)))
    for commit in reversed(newer):
        yield commit, stamp_of(log, commit)


def _done(
    stamp: Stamp, complete: Set[str], logs: Mapping[str, TableLog], unreadable: Collection[str]
) -> bool:
    """Tells whether the transaction of a stamp may enter a cut; see `cut` for the arguments."""
    if stamp.parts > 1 and not stamp.before.keys().isdisjoint(unreadable):
        # The part in that table cannot enter this cut, so the other parts must not either.
        return False
    # A table that was dropped takes its part along; the parts in other tables stay.
    dropped = not stamp.before.keys() <= logs.keys()
    return stamp.parts == 1 or dropped or stamp.transaction in complete


def _identity_at(log: TableLog, version: int, start: TableVersion | None) -> str | None:
    """Returns Delta's id of the table at a version; None if the table has no version in the cut yet."""
    commit = log.commit(version)
    if commit is not None:
        return commit.table.id
    return None if start is None or version < start.version else start.identity
