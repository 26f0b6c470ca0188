"""Undoes unfinished transactions: those of processes that have ended, and those that failed.

An undo is one more commit on each table of the transaction, which brings the changed data files back. It has
the `txn` (transaction, number of parts), so Delta skips every later write of that transaction: a process that
was only slow, and not dead, cannot go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from dynamic_tables.errors import StoreError
from dynamic_tables.moment import moment
from dynamic_tables.store.log.active_files import ActiveFiles
from dynamic_tables.store.log.log import TableLog
from dynamic_tables.store.log.undo import commit_text
from dynamic_tables.store.ticks.base_log import Stamp, stamp_of
from dynamic_tables.store.ticks.cut import Start, unfinished
from dynamic_tables.store.ticks.version_rules import VERSION_RULES, VersionRules
from dynamic_tables.store.transactions.owner import is_gone, this_process

ATTEMPTS = 12
"""How often an undo is tried again after another writer was faster."""


class LogFolder(Protocol):
    """What an undo needs of `store.tables.folder.Folder`: logs that can be read and written."""

    def polled(self, name: str) -> TableLog:
        """Returns the log of a table, read up to its end."""

    def active(self, name: str) -> ActiveFiles | None:
        """Returns the data files of a table, up to date; None if the log no longer holds all its commits."""

    def write_commit(self, name: str, version: int, text: str) -> bool:
        """Writes a commit of a table's log; False if the version exists already. Raises StoreError."""


@dataclass(slots=True, kw_only=True)
class Undoing:
    """Takes back what unfinished transactions committed to base tables.

    `logs`: returns the logs of all base tables by name. `ticked`: returns their versions at the newest tick.
    `owner`: the name of this process; see `owner.this_process`. `account`: returns the id of the account.
    """

    folder: LogFolder
    logs: Callable[[], Mapping[str, TableLog]]
    ticked: Callable[[], Start]
    rules: VersionRules = VERSION_RULES
    owner: str = field(default_factory=this_process)
    account: Callable[[], str] = str

    def unfinished(self) -> tuple[Stamp, ...]:
        """Returns the newest stamp of each transaction that is not finished."""
        return unfinished(self.polled(), self.ticked())

    def undo_abandoned(self) -> None:
        """Undoes the transactions whose process has ended. Raises StoreError: if one cannot be undone."""
        for stamp in self.unfinished():
            if stamp.owner != self.owner and is_gone(stamp.owner, self._last_commit_ms(stamp)):
                self.undo(stamp)

    def ensure_possible(self, names: Iterable[str]) -> None:
        """Raises StoreError for a table on which a part of a transaction could not be taken back."""
        for name in names:
            table = self.folder.polled(name).newest.table
            if table.properties.get("delta.appendOnly", "").lower() == "true":
                reason = "it is append-only"
            elif self.folder.active(name) is None:
                reason = "its log no longer holds all its commits"
            else:
                continue
            raise StoreError(
                f"{name} cannot take part in a transaction of several statements, which might have to be "
                f"undone: {reason}; run the statements one by one"
            )

    def undo(self, stamp: Stamp) -> None:
        """Takes all commits of a transaction back. Raises StoreError: another writer built on one of them."""
        last = list(stamp.before)[-1]
        for name in stamp.before:
            # The commit on the last table has the number of the last part: only then does the transaction
            # count as finished. If the undo is cut off before that, the next process undoes the rest.
            part = stamp.parts if name == last else 0
            self._undo_on(name, replace(stamp, part=part, closing=False, undone=True))

    def _undo_on(self, name: str, stamp: Stamp) -> None:
        """Commits the undo of a transaction on one table. Raises StoreError."""
        metadata, fence = json.dumps(stamp.to_metadata()), (stamp.transaction, stamp.parts)
        # Each attempt computes the undo again, because another writer may have changed the same files.
        for _ in range(ATTEMPTS):
            log = self.folder.polled(name)
            after = [c.version for c in log.commits if c.version > stamp.before[name]]
            own = [version for version in after if self.is_of(log, version, stamp)]
            active = self.folder.active(name)
            if active is None:
                raise StoreError(f"{name}: its log was cleaned up; the transaction cannot be undone")
            try:
                actions = self.rules.inverse(log, own, active)
            except StoreError as error:
                raise StoreError(
                    f"the transaction at {moment(stamp.timestamp)} over {', '.join(stamp.before)} is "
                    f"unfinished and cannot be undone: {error}; `account.end_unfinished(keep=True)` keeps "
                    "what it committed"
                ) from error
            text = commit_text(log, metadata, fence, actions)
            if self.folder.write_commit(name, log.newest.version + 1, text):
                log.poll()
                return
        raise StoreError(f"{name}: other writers committed {ATTEMPTS} times during an undo; try again later")

    def is_of(self, log: TableLog, version: int, stamp: Stamp) -> bool:
        """Tells whether a version of a table is of the transaction of a stamp."""
        commit = log.commit(version)
        assert commit is not None
        own = stamp_of(log, commit)
        return own is not None and own.transaction == stamp.transaction

    def _last_commit_ms(self, stamp: Stamp) -> int:
        """Returns when a transaction committed its last part, in milliseconds; 0 if it committed none."""
        logs = self.polled()
        own = (
            commit.in_commit_ms
            for name in stamp.before
            for commit in logs[name].commits
            if self.is_of(logs[name], commit.version, stamp)
        )
        return max(own, default=0)

    def polled(self) -> Mapping[str, TableLog]:
        """Returns the logs of all base tables, read up to their ends."""
        logs = self.logs()
        for log in logs.values():
            log.poll()
        return logs
